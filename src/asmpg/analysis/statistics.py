"""Statistics of few runs: interquartile means, bootstrap intervals, probability of improvement."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Shaped

from asmpg._support.checks import check_integer, check_number
from asmpg._support.words import rounded

#: The scores of the seeds of one environment.
Stratum = Float[np.ndarray, " _"]
#: A statistic of resampled strata, one row a resample; gives one value a row.
Statistic = Callable[[Sequence[Float[np.ndarray, "rows _"]]], Float[np.ndarray, " rows"]]


class Interval(NamedTuple):
    """A value and its interval."""

    value: float
    low: float
    high: float

    def excludes(self, value: float) -> bool:
        """Whether `value` is outside the interval."""
        return value < self.low or value > self.high

    @property
    def text(self) -> str:
        """`0.21 [0.2, 0.22]`."""
        return f"{rounded(self.value)} [{rounded(self.low)}, {rounded(self.high)}]"


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


def probability_of_improvement(
    ours: Float[np.ndarray, "*rows m"], theirs: Float[np.ndarray, "*rows n"]
) -> Float[np.ndarray, "*rows"]:
    """`P(X > Y) + P(X = Y) / 2`, `X` drawn from `ours` and `Y` from `theirs`."""
    difference = ours[..., :, None] - theirs[..., None, :]
    return np.asarray(((np.sign(difference) + 1) / 2).mean(axis=(-2, -1)))


def improvement_interval(
    ours: Sequence[Stratum],
    theirs: Sequence[Stratum],
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Interval:
    """The probability of improvement, averaged over environments, with its bootstrap interval.

    `ours` and `theirs` have the scores of each environment in the same order.
    """
    if len(ours) != len(theirs):
        raise ValueError(
            f"theirs must have as many environments as ours, {len(ours)}, got {len(theirs)}"
        )
    number = len(ours)
    return stratified_bootstrap(
        [*ours, *theirs],
        lambda drawn: np.mean(
            [
                probability_of_improvement(mine, other)
                for mine, other in zip(drawn[:number], drawn[number:], strict=True)
            ],
            axis=0,
        ),
        level=level,
        resamples=resamples,
        seed=seed,
    )


def mean_over_steps(
    steps: Shaped[np.ndarray, " evaluations"], scores: Float[np.ndarray, " evaluations"]
) -> float:
    """The area under the curve, straight between evaluations, divided by the steps it spans."""
    if len(scores) == 1:
        return float(scores[0])
    return float(np.trapezoid(scores, steps) / (steps[-1] - steps[0]))


def steps_to(
    steps: Shaped[np.ndarray, " evaluations"],
    scores: Float[np.ndarray, " evaluations"],
    threshold: float,
    *,
    keep: bool = True,
) -> float:
    """The steps at the first evaluation with a score of at least `threshold`; infinite if none.

    With `keep`, all later evaluations must reach it as well.
    """
    reached: Any = scores >= threshold
    if keep:
        reached = np.logical_and.accumulate(reached[::-1])[::-1]
    return float(steps[np.argmax(reached)]) if reached.any() else math.inf
