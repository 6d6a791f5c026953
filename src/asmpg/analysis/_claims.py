"""Whether the claims of a study hold: in which environment, by which measure, on which seeds."""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float

from asmpg.analysis._results import Curves, Results
from asmpg.analysis._summary import MEASURES
from asmpg.analysis.statistics import (
    Interval,
    difference_interval,
    interquartile_mean,
    interquartile_mean_interval,
)
from asmpg.studies import Claim

#: All seeds, those by which one may choose, and those that confirm the choice.
SeedGroup = Literal["all", "selection", "confirmation"]
SEED_GROUPS: tuple[SeedGroup, ...] = ("all", "selection", "confirmation")
Word = Literal["holds", "fails", "open"]


@dataclasses.dataclass(frozen=True)
class Verdict:
    """Whether a claim holds in an environment, by one measure for all of its entries.

    It `"holds"` if the interval of the difference of interquartile means to each of theirs is above
    zero, `"fails"` if that to any of them is below, and is `"open"` otherwise, or if there is but a
    single seed, of which no interval tells anything. `closest` is the one
    of theirs that is highest, `difference` that to it. Without any interval, `highest_mean` and
    `highest_median` say whether ours has the highest one.
    """

    claim: Claim
    environment: str
    measure: str
    seeds: SeedGroup
    number: int
    verdict: Word
    ours: Interval
    closest: str
    difference: Interval
    highest_mean: bool
    highest_median: bool


def judge(results: Results) -> list[Verdict]:
    """A verdict on every claim, wherever there are results of all its entries."""
    return [
        _verdict(claim, environment, measure, group, curves)
        for claim in results.study.claims
        for environment in results.environments
        if {*claim.entries} <= {*results.entries(environment)}
        for group, curves in _groups(results, environment, claim.entries)
        for measure in MEASURES
    ]


def environments_where(
    verdicts: Iterable[Verdict], claim: Claim, measure: str, seeds: SeedGroup = "all"
) -> list[str]:
    """Where the claim holds."""
    return [
        each.environment
        for each in verdicts
        if (each.claim, each.measure, each.seeds, each.verdict) == (claim, measure, seeds, "holds")
    ]


def _groups(
    results: Results, environment: str, entries: Sequence[str]
) -> Iterator[tuple[SeedGroup, dict[str, Curves]]]:
    """The curves of the entries by group of seeds, those that all of them have.

    Groups without such seeds are left out.
    """
    chosen = {*results.study.selection_seeds}
    shared = set.intersection(*({*results.curves[environment, entry].seeds} for entry in entries))
    for group in SEED_GROUPS if chosen else SEED_GROUPS[:1]:
        found = {}
        for entry in entries:
            curves = results.curves[environment, entry]
            among = np.asarray([seed in chosen for seed in curves.seeds])
            own = np.asarray([seed in shared for seed in curves.seeds])
            kept = own & {"all": own, "selection": among, "confirmation": ~among}[group]
            if kept.any():
                found[entry] = _only(curves, kept)
        if len(found) == len(entries):
            yield group, found


def _only(curves: Curves, kept: Bool[np.ndarray, " seeds"]) -> Curves:
    places = np.flatnonzero(kept)
    return dataclasses.replace(
        curves,
        seeds=tuple(curves.seeds[place] for place in places),
        own=tuple(curves.own[place] for place in places),
        best=curves.best[places],
        best_steps=curves.best_steps[places],
        memory={},
    )


def _verdict(
    claim: Claim, environment: str, measure: str, group: SeedGroup, curves: dict[str, Curves]
) -> Verdict:
    take = MEASURES[measure]
    scores: dict[str, Float[np.ndarray, " seeds"]] = {
        entry: take(own) for entry, own in curves.items()
    }
    ours = scores[claim.ours]
    differences = {entry: difference_interval(ours, scores[entry]) for entry in claim.theirs}
    number = min(map(len, scores.values()))
    verdict: Word = "open"
    if number > 1 and any(each.high < 0 for each in differences.values()):
        verdict = "fails"
    elif number > 1 and all(each.low > 0 for each in differences.values()):
        verdict = "holds"
    closest = max(claim.theirs, key=lambda entry: float(interquartile_mean(scores[entry])))
    return Verdict(
        claim,
        environment,
        measure,
        group,
        number,
        verdict,
        interquartile_mean_interval([ours]),
        closest,
        differences[closest],
        highest_mean=all(ours.mean() > scores[entry].mean() for entry in claim.theirs),
        highest_median=all(np.median(ours) > np.median(scores[entry]) for entry in claim.theirs),
    )
