"""The statistics of a study."""

import dataclasses
import itertools
from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float

from asmpg.analysis._results import Curves, Results
from asmpg.analysis._yardstick_lines import goal
from asmpg.analysis.statistics import (
    Interval,
    difference_interval,
    improvement_interval,
    interquartile_mean,
    interquartile_mean_interval,
    steps_to,
)

#: Shares of the way from random to the history optimum that a seed is timed to.
SHARES = (0.9, 0.95)
#: What is compared of a seed: its last evaluation, its best checkpoint on fresh episodes, or the
#: area under its curve.
MEASURES: dict[str, Callable[[Curves], Float[np.ndarray, " seeds"]]] = {
    "final": lambda curves: curves.final,
    "best": lambda curves: curves.best,
    "area": lambda curves: curves.area,
}
#: The same in words.
MEASURE_LABELS = {
    "final": "last evaluation",
    "best": "best checkpoint",
    "area": "area under the curve",
}


@dataclasses.dataclass(frozen=True)
class Cell:
    """An entry in an environment: interquartile means, and steps to each of `SHARES` by seed.

    Steps are those that the seed took, infinite if it does not reach the share and keep it; `None`
    without yardsticks.
    """

    environment: str
    entry: str
    final: Interval
    best: Interval
    area: Interval
    normalised: Interval | None
    final_scores: Float[np.ndarray, " seeds"]
    best_scores: Float[np.ndarray, " seeds"]
    steps_to: dict[float, Float[np.ndarray, " seeds"] | None]


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Whether `ours` does better than `theirs`, in one environment or, as `None`, in all.

    `difference` is that of the interquartile means, in the environment's score.
    """

    environment: str | None
    ours: str
    theirs: str
    measure: str
    improvement: Interval
    difference: Interval | None


@dataclasses.dataclass(frozen=True)
class Summary:
    """All statistics. `overall` has normalised interquartile means over environments."""

    cells: dict[tuple[str, str], Cell]
    overall: dict[tuple[str, str], Interval]
    comparisons: dict[tuple[str | None, str, str, str], Comparison]

    def winner(self, environment: str) -> tuple[Cell, list[Cell]]:
        """The highest final interquartile mean, and those indistinguishable from it."""
        cells = [cell for cell in self.cells.values() if cell.environment == environment]
        first = max(cells, key=lambda cell: cell.final.value)
        close = []
        for cell in cells:
            if cell is not first:
                ahead = self.comparison(environment, first.entry, cell.entry).difference
                if ahead is None or not ahead.excludes(0.0):
                    close.append(cell)
        return first, close

    def comparison(
        self, environment: str | None, ours: str, theirs: str, measure: str = "final"
    ) -> Comparison:
        """`ours` against `theirs`, either way round."""
        known = self.comparisons.get((environment, ours, theirs, measure))
        return known or _turned(self.comparisons[environment, theirs, ours, measure])


def summarise(results: Results) -> Summary:
    """Compute all statistics."""
    cells = {key: _cell(results, *key) for key in results.curves}
    comparisons: dict[tuple[str | None, str, str, str], Comparison] = {}
    for measure in MEASURES:
        for found in _comparisons(results, measure):
            comparisons[found.environment, found.ours, found.theirs, measure] = found
    return Summary(cells, _overall(results), comparisons)


def everywhere(results: Results) -> list[str]:
    """The entries with results in all environments that have any: those that can be averaged."""
    names = results.environments
    return [
        entry.name
        for entry in results.study.entries
        if names and all((name, entry.name) in results.curves for name in names)
    ]


def _cell(results: Results, environment: str, entry: str) -> Cell:
    curves = results.curves[environment, entry]
    ends = goal(results.yardsticks[environment])
    normalised = results.normalised(environment, curves.final)
    return Cell(
        environment,
        entry,
        final=interquartile_mean_interval([curves.final]),
        best=interquartile_mean_interval([curves.best]),
        area=interquartile_mean_interval([curves.area]),
        normalised=None if normalised is None else interquartile_mean_interval([normalised]),
        final_scores=curves.final,
        best_scores=curves.best,
        steps_to={
            share: None if ends is None else _times(curves, ends[0] + share * (ends[1] - ends[0]))
            for share in SHARES
        },
    )


def _times(curves: Curves, threshold: float) -> Float[np.ndarray, " seeds"]:
    return np.asarray([steps_to(each.steps, each.scores, threshold) for each in curves.own])


def _overall(results: Results) -> dict[tuple[str, str], Interval]:
    overall = {}
    for entry, measure in itertools.product(everywhere(results), MEASURES):
        strata = [
            results.normalised(name, MEASURES[measure](results.curves[name, entry]))
            for name in results.environments
        ]
        known = [values for values in strata if values is not None]
        if known:
            overall[entry, measure] = interquartile_mean_interval(known)
    return overall


def _comparisons(results: Results, measure: str) -> list[Comparison]:
    found = []
    take = MEASURES[measure]
    for environment in results.environments:
        for ours, theirs in _pairs(results, results.entries(environment), environment):
            mine, other = (take(results.curves[environment, entry]) for entry in (ours, theirs))
            improvement = improvement_interval([mine], [other])
            difference = difference_interval(mine, other)
            found.append(Comparison(environment, ours, theirs, measure, improvement, difference))
    for ours, theirs in _pairs(results, everywhere(results)):
        mine, other = (_strata(results, entry, take) for entry in (ours, theirs))
        improvement = improvement_interval(mine, other)
        found.append(Comparison(None, ours, theirs, measure, improvement, None))
    return found


def _pairs(
    results: Results, entries: Sequence[str], environment: str | None = None
) -> list[tuple[str, str]]:
    """All pairs; in a study with claims those that claims name, and all of one with the others.

    That one is the first entry, and in an environment also the one that ends highest: studies with
    claims may have too many entries to compare each with each.
    """
    pairs = list(itertools.combinations(entries, 2))
    if not results.study.claims or not pairs:
        return pairs
    ones = {results.study.entries[0].name}
    if environment is not None:
        ends = {
            entry: interquartile_mean(results.curves[environment, entry].final) for entry in entries
        }
        ones.add(max(entries, key=lambda entry: float(ends[entry])))
    named = [{claim.ours, each} for claim in results.study.claims for each in claim.theirs]
    return [pair for pair in pairs if ones & {*pair} or {*pair} in named]


def _strata(
    results: Results, entry: str, take: Callable[[Curves], Float[np.ndarray, " seeds"]]
) -> Sequence[Float[np.ndarray, " _"]]:
    return [take(results.curves[name, entry]) for name in results.environments]


def _turned(known: Comparison) -> Comparison:
    value, low, high = known.improvement
    difference = known.difference
    return dataclasses.replace(
        known,
        ours=known.theirs,
        theirs=known.ours,
        improvement=Interval(1 - value, 1 - high, 1 - low),
        difference=difference and Interval(-difference.value, -difference.high, -difference.low),
    )
