"""Typical cases: real observations, told apart by the nearest of a few."""

import dataclasses
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

_ROUNDS = 50


@dataclasses.dataclass(frozen=True, eq=False)
class Cases:
    """An observation is case `argmin_i |(o - centres[i]) / scale|`."""

    centres: Float[np.ndarray, "O d"]
    scale: Float[np.ndarray, " d"]

    def number(self, observations: Float[np.ndarray, "*batch d"]) -> Int[np.ndarray, "*batch"]:
        """The number of the case of each observation."""
        flat = observations.reshape(-1, len(self.scale)) / self.scale
        centres = self.centres / self.scale
        distance = (centres**2).sum(axis=-1) - 2 * flat @ centres.T
        return distance.argmin(axis=-1).reshape(observations.shape[:-1])

    def names(self, parts: Sequence[str] = ()) -> tuple[str, ...]:
        """The centres, with as many digits as tell them apart, and a word for each of the parts."""
        names: tuple[str, ...] = ()
        heads = [f"{part} " for part in parts] or [""] * len(self.scale)
        for digits in range(2, 18):
            names = tuple(
                ", ".join(
                    f"{head}{part:.{digits}g}" for head, part in zip(heads, centre, strict=True)
                )
                for centre in self.centres
            )
            if len(set(names)) == len(names):
                break
        return names


def typical_cases(observations: Float[np.ndarray, "n d"], count: int, *, seed: int = 0) -> Cases:
    """At most `count` centres by k-means on standardised observations, begun by k-means++."""
    scale = observations.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0).astype(float)
    points = np.unique(observations.astype(float) / scale, axis=0)
    if len(points) > count:
        points = observations.astype(float) / scale
    generator = np.random.default_rng(seed)
    centres = points if len(points) <= count else _k_means(points, count, generator)
    order = np.lexsort(centres.T[::-1])
    return Cases(centres[order] * scale, scale)


def _k_means(
    points: Float[np.ndarray, "n d"], count: int, generator: np.random.Generator
) -> Float[np.ndarray, "k d"]:
    centres = points[[generator.integers(len(points))]]
    nearest = ((points - centres[0]) ** 2).sum(axis=-1)
    for _ in range(count - 1):
        if not nearest.any():
            break
        chosen = points[generator.choice(len(points), p=nearest / nearest.sum())]
        centres = np.vstack([centres, chosen])
        nearest = np.minimum(nearest, ((points - chosen) ** 2).sum(axis=-1))
    for _ in range(_ROUNDS):
        labels = Cases(centres, np.ones(points.shape[1])).number(points)
        counts = np.bincount(labels, minlength=len(centres))
        sums = np.stack([np.bincount(labels, column, len(centres)) for column in points.T], -1)
        moved = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centres)
        if np.allclose(moved, centres):
            break
        centres = moved
    return centres
