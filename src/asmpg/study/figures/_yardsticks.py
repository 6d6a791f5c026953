"""Yardsticks as horizontal lines."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from asmpg.study._yardstick_lines import Line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Their names and line styles: they differ without colour.
YARDSTICK_STYLES: dict[str, tuple[str, Any]] = {
    "random": ("uniformly random", (0, (1, 2))),
    "memoryless": ("best memoryless", (0, (6, 2, 1, 2))),
    "history_optimal": ("history optimum", (0, (8, 3))),
}


def draw_yardsticks(axes: "Axes", lines: Mapping[str, Line], *, labels: bool = True) -> None:
    """Draw the lines, with their names and values on the right if asked for `labels`."""
    drawn = {name: lines[name] for name in YARDSTICK_STYLES if name in lines}
    for name, line in drawn.items():
        style = YARDSTICK_STYLES[name][1]
        axes.axhline(line.value, color="black", linewidth=1, linestyle=style, zorder=1)
    if not labels:
        return
    low, high = axes.get_ylim()
    room = 0.09 * (high - low)
    place = -np.inf
    for name, line in sorted(drawn.items(), key=lambda item: item[1].value):
        # A label that would touch the one below moves up.
        place = max(line.value, place + room)
        axes.annotate(
            f"{YARDSTICK_STYLES[name][0]}\n{line.text}",
            xy=(1, place),
            xycoords=("axes fraction", "data"),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
            annotation_clip=False,
        )
