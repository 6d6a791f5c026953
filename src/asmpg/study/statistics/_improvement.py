"""How likely a seed of one method does better than a seed of another."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from asmpg.study.statistics._bootstrap import Interval, Stratum, stratified_bootstrap


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
