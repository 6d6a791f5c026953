"""Playing on the host for the returns alone."""

import math

import numpy as np
from jaxtyping import Float, Int

from asmpg.rollouts._host import HostStage


def host_returns(
    stage: HostStage, *, num_episodes: int, discount: float
) -> tuple[Float[np.ndarray, " N"], Float[np.ndarray, " N"], Int[np.ndarray, " N"]]:
    """Discounted and undiscounted returns, and lengths, of `num_episodes` episodes.

    Every environment plays its share, fixed beforehand: were the first ones to end taken, short
    episodes would be too many among them.
    """
    copies = stage.driver.copies
    share = np.full(copies, num_episodes // copies)
    share[: num_episodes % copies] += 1
    stage.begin(seeded=True)
    discounted, undiscounted, lengths = np.zeros(copies), np.zeros(copies), np.zeros(copies, int)
    done: list[tuple[float, float, int]] = []
    for row, _ in stage.play():
        counted = row["valid"] & (share > 0)
        reward = np.where(counted, row["rewards"].astype(float), 0.0)
        discounted += discount**lengths * reward
        undiscounted += reward
        lengths += counted
        for i in np.flatnonzero(counted & row["ended"]):
            done.append((discounted[i], undiscounted[i], lengths[i]))
            discounted[i] = undiscounted[i] = lengths[i] = 0
            share[i] -= 1
        if not share.any():
            break
    first, second, third = zip(*done, strict=True)
    return np.asarray(first), np.asarray(second), np.asarray(third)


def standard_error(values: Float[np.ndarray, " N"] | Int[np.ndarray, " N"]) -> float:
    """Of the mean of `values`; NaN for a single one."""
    return float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan
