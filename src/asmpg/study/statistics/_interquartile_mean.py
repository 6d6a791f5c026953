"""The mean of the middle half: steadier than the mean, more telling than the median."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from asmpg.study.statistics._bootstrap import Interval, Stratum, stratified_bootstrap


def interquartile_mean(values: Float[np.ndarray, "*rows number"]) -> Float[np.ndarray, "*rows"]:
    """The mean of what is left when `number // 4` values are dropped at either end."""
    cut = values.shape[-1] // 4
    ordered = np.sort(values, axis=-1)
    return np.asarray(ordered[..., cut : values.shape[-1] - cut].mean(axis=-1))


def interquartile_mean_interval(
    strata: Sequence[Stratum], *, level: float = 0.95, resamples: int = 2000, seed: int = 0
) -> Interval:
    """The interquartile mean of all values of all strata, resampled stratum by stratum."""
    return stratified_bootstrap(
        strata,
        lambda drawn: interquartile_mean(np.concatenate(drawn, axis=-1)),
        level=level,
        resamples=resamples,
        seed=seed,
    )


def difference_interval(
    ours: Stratum, theirs: Stratum, *, level: float = 0.95, resamples: int = 2000, seed: int = 0
) -> Interval:
    """How much higher the interquartile mean of `ours` is than that of `theirs`."""
    return stratified_bootstrap(
        [ours, theirs],
        lambda drawn: interquartile_mean(drawn[0]) - interquartile_mean(drawn[1]),
        level=level,
        resamples=resamples,
        seed=seed,
    )
