"""The scores of seeds along their way, each at the steps it really took."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from asmpg.training import Row


class SeedCurve(NamedTuple):
    """The evaluations of one seed: the environment steps it had taken, and its scores."""

    steps: Int[np.ndarray, " evaluations"]
    scores: Float[np.ndarray, " evaluations"]


def seed_curves(rows: Iterable[Row], name: str) -> dict[int, SeedCurve]:
    """The column `name` of the rows of `metrics.csv`, by seed."""
    by_seed: dict[int, list[Row]] = {}
    for row in rows:
        by_seed.setdefault(int(row["seed"]), []).append(row)
    return {
        seed: SeedCurve(
            np.asarray([int(row["steps"]) for row in own]),
            np.asarray([float(row[name]) for row in own]),
        )
        for seed, own in by_seed.items()
    }


def common_grid(
    targets: Sequence[int], curves: Sequence[SeedCurve]
) -> tuple[Float[np.ndarray, " evaluations"], Float[np.ndarray, "seeds evaluations"]]:
    """The scores of all seeds at common places, for means over seeds, and the mean steps there.

    Updates are whole, so a seed overshoots the steps it is due at, and two of `targets` within one
    update have one evaluation. At each target a seed has the score of its first evaluation from
    there on, or its last; targets at which no seed has a new one are left out.
    """
    places = np.stack(
        [np.minimum(np.searchsorted(each.steps, targets), len(each.steps) - 1) for each in curves]
    )
    new = (np.diff(places, axis=1, prepend=-1) > 0).any(axis=0)
    pairs = [(each, own[new]) for each, own in zip(curves, places, strict=True)]
    steps = np.stack([each.steps[own] for each, own in pairs])
    return steps.mean(axis=0), np.stack([each.scores[own] for each, own in pairs])
