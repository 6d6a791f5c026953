"""Intervals by resampling the seeds of each environment on their own."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from asmpg._check import check_integer, check_number

#: The scores of the seeds of one environment.
Stratum = Float[np.ndarray, " _"]
#: A statistic of resampled strata, one row a resample; gives one value a row.
Statistic = Callable[[Sequence[Float[np.ndarray, "rows _"]]], Float[np.ndarray, " rows"]]


class Interval(NamedTuple):
    """A value and the interval it may lie in."""

    value: float
    low: float
    high: float

    def excludes(self, value: float) -> bool:
        """Whether `value` lies outside."""
        return value < self.low or value > self.high


def stratified_bootstrap(
    strata: Sequence[Stratum],
    statistic: Statistic,
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Interval:
    """The statistic of `strata`, and its percentile bootstrap interval.

    Each resample draws from every stratum as many values as it has, with replacement, and the
    interval holds the share `level` of the resampled statistics (Agarwal et al., 2021).
    """
    check_number("level", level, low=0, high=1)
    check_integer("resamples", resamples, low=1)
    if not strata or not all(map(len, strata)):
        raise ValueError(f"strata must have at least one value each, got {strata}")
    generator = np.random.default_rng(seed)
    drawn = [
        values[generator.integers(len(values), size=(resamples, len(values)))] for values in strata
    ]
    value = float(statistic([values[None] for values in strata])[0])
    low, high = np.quantile(statistic(drawn), [(1 - level) / 2, (1 + level) / 2])
    return Interval(value, float(low), float(high))
