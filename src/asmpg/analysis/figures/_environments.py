"""The environments as pictures, and a chart of their yardsticks."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from asmpg.environments import Environment, random_episode
from asmpg.environments.drawing import picture
from asmpg.exact import YARDSTICK_LABELS, Yardsticks
from asmpg.training import score_of

_MARKERS = {
    "random": "o",
    "memoryless_deterministic": "v",
    "memoryless": "s",
    "history_optimal": "D",
    "full_state": "*",
}


def draw_environments(
    environments: Mapping[str, Environment[Any]], folder: Path, *, steps: int, seed: int = 0
) -> list[Path]:
    """Draw each environment after some random steps, one PNG each, and all in `gallery.png`."""
    from matplotlib.image import imsave

    folder.mkdir(parents=True, exist_ok=True)
    pictures = {
        name: picture(
            environment, random_episode(environment, seed=seed, steps=steps), size=(960, 720)
        )
        for name, environment in environments.items()
    }
    if len(pictures) > 1:
        pictures["gallery"] = _side_by_side(list(pictures.values()), columns=3)
    paths = [folder / f"{name}.png" for name in pictures]
    for path, image in zip(paths, pictures.values(), strict=True):
        imsave(path, image)
    return paths


def _side_by_side(images: list[np.ndarray], *, columns: int) -> np.ndarray:
    """Images of one size in rows, the last row filled up with white; half the resolution."""
    blank = np.full_like(images[0], 255)
    images = images + [blank] * (-len(images) % columns)
    rows = [np.concatenate(images[i : i + columns], axis=1) for i in range(0, len(images), columns)]
    return np.concatenate(rows)[::2, ::2]


def draw_yardstick_chart(
    environments: Mapping[str, Environment[Any]], measured: Mapping[str, Yardsticks], path: Path
) -> Path:
    """Draw into `path` where each policy stands between random (0) and the history optimum (1).

    Policies are compared by the score of each environment.
    """
    from matplotlib.figure import Figure

    path.parent.mkdir(parents=True, exist_ok=True)
    figure = Figure(figsize=(8, 1.2 + 0.7 * len(measured)), layout="constrained")
    axes = figure.subplots()
    rows = np.arange(len(measured))[::-1]
    labels = []
    for row, (name, values) in zip(rows, measured.items(), strict=True):
        score = score_of(environments[name])
        criterion = score.yardstick
        labels.append(f"{name}\n{score.label}")
        optimum = values.history_optimal or values.full_state
        low, high = (getattr(value, criterion) for value in (values.random, optimum))
        axes.axhline(row, color="0.85", zorder=0)
        for kind, marker in _MARKERS.items():
            value = getattr(values, kind)
            if value is not None:
                share = (getattr(value, criterion) - low) / (high - low)
                axes.scatter(
                    share,
                    row,
                    marker=marker,
                    s=90,
                    facecolor="none" if marker in "ovs" else "black",
                    edgecolor="black",
                    label=YARDSTICK_LABELS[kind] if row == rows[0] else None,
                )
    axes.set_yticks(rows, labels)
    axes.set_ylim(-0.6, len(measured) - 0.4)
    axes.set_xlabel("share of the way from random to the history optimum")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    figure.legend(loc="outside upper center", ncols=3, frameon=False, fontsize=9)
    figure.savefig(path, dpi=150)
    return path
