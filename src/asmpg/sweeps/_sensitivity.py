"""How much each option matters: its values in bins, and the share of variance they explain."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from asmpg.sweeps._dimensions import Choice, Dimension, Range
from asmpg.sweeps._results import TrialResult
from asmpg.sweeps._sweep import Sweep

#: Bins of a range, if there are that many trials for each.
_BINS, _TRIALS_A_BIN = 5, 3


@dataclasses.dataclass(frozen=True)
class Bin:
    """Trials with the same value of an option, or with values next to each other.

    `centre` is the value, or the middle one of them. `quartiles` are those of their scores, the
    median between them.
    """

    centre: Any
    quartiles: tuple[float, float, float]


@dataclasses.dataclass(frozen=True)
class Sensitivity:
    """An option: its value and the score of each trial, in bins, and its importance.

    Importance is the share of the variance of scores that the option alone explains, by the means
    of its bins, less what it would explain by chance (epsilon squared); `None` with too few trials.
    """

    name: str
    dimension: Dimension
    values: tuple[Any, ...]
    scores: Float[np.ndarray, " trials"]
    bins: tuple[Bin, ...]
    importance: float | None


def sensitivities(sweep: Sweep, results: Sequence[TrialResult]) -> list[Sensitivity]:
    """One for each option, the most important first.

    All trials are compared at the same number of steps: those of the first rung, or of a whole run.
    Trials that failed or have not come so far are left out.
    """
    end = sweep.ends[0]
    there = [each for each in results if end in each.scores]
    scores = np.asarray([each.scores[end] for each in there], float)
    found = []
    for name, dimension in sweep.dimensions.items():
        values = tuple(each.trial.options[name] for each in there)
        groups = _groups(dimension, values)
        bins = tuple(_bin(dimension, values, scores, group) for group in groups)
        share = explained(scores, groups)
        found.append(Sensitivity(name, dimension, values, scores, bins, share))
    return sorted(found, key=lambda each: each.importance or 0.0, reverse=True)


def explained(
    scores: Float[np.ndarray, " trials"], groups: Sequence[Sequence[int]]
) -> float | None:
    """The share of the variance of `scores` that is between `groups` of their places.

    `1 - (S_within / (n - k)) / (S_total / (n - 1))` for `n` scores in `k` groups, 0 at least.
    """
    number, kinds = len(scores), len(groups)
    total = float(((scores - scores.mean()) ** 2).sum()) if number else 0.0
    if kinds < 2 or number <= kinds or total == 0:
        return None
    within = sum(
        float(((scores[own] - scores[own].mean()) ** 2).sum()) for own in map(list, groups)
    )
    return max(0.0, 1 - within / (number - kinds) / (total / (number - 1)))


def _groups(dimension: Dimension, values: Sequence[Any]) -> list[list[int]]:
    """The places of the trials in each bin: those of one value, or some of neighbouring values."""
    kinds = list(dimension.values) if isinstance(dimension, Choice) else sorted(set(values))
    most = max(2, min(_BINS, len(values) // _TRIALS_A_BIN))
    if isinstance(dimension, Choice) or len(kinds) <= most:
        groups = [[place for place, own in enumerate(values) if own == kind] for kind in kinds]
        return [group for group in groups if group]
    # Parts of the distinct values, so that equal ones are never in two bins.
    parts = np.array_split(np.asarray(kinds, float), most)
    return [
        [place for place, own in enumerate(values) if part[0] <= own <= part[-1]] for part in parts
    ]


def _bin(
    dimension: Dimension,
    values: Sequence[Any],
    scores: Float[np.ndarray, " trials"],
    group: Sequence[int],
) -> Bin:
    own = [values[place] for place in group]
    centre = float(np.median(own)) if isinstance(dimension, Range) else own[0]
    low, middle, high = np.quantile(scores[list(group)], [0.25, 0.5, 0.75])
    return Bin(centre, (float(low), float(middle), float(high)))
