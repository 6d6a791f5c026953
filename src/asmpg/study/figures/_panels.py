"""Panels in a grid, one for each environment, and rows in them, one for each method."""

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from asmpg.study._results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: As many letters of the size of labels fit into an inch.
_CHARACTERS = 11
#: The height of a line, in inches.
_LINE = 0.2


def panels(
    titles: Sequence[str],
    *,
    columns: int,
    height: float,
    spare: bool = False,
    sharey: bool = False,
) -> tuple["Figure", "list[Axes]"]:
    """A figure with a panel for each of `titles`, `height` inches each, and one `spare` if asked.

    They stand in `columns` columns at most. Panels that nobody asked for are blank.
    """
    from matplotlib.figure import Figure

    number = len(titles) + spare
    columns = min(columns, number)
    rows = math.ceil(number / columns)
    width = 4.2 * columns + (1.2 if sharey else 0.0)
    figure = Figure(figsize=(width, height * rows))
    figure.set_layout_engine("constrained", w_pad=0.08, h_pad=0.08)
    grid = list(figure.subplots(rows, columns, squeeze=False, sharey=sharey).flat)
    for axes, title in zip(grid, titles, strict=False):
        axes.set_title(title, loc="left", fontsize=11, fontweight="bold")
        axes.spines[["top", "right"]].set_visible(False)
        axes.locator_params(axis="x", nbins=5)
    for axes in grid[len(titles) :]:
        axes.set_axis_off()
    return figure, grid[:number]


def label_below(figure: "Figure", text: str) -> None:
    """Write `text` below all panels, in as many lines as the width of the figure asks for."""
    lines = textwrap.wrap(text, int(_CHARACTERS * figure.get_figwidth()))
    make_room(figure, len(lines))
    figure.supxlabel("\n".join(lines), fontsize=10)


def make_room(figure: "Figure", lines: int) -> None:
    """Make the figure taller by so many lines of text."""
    figure.set_figheight(figure.get_figheight() + _LINE * lines)


def method_rows(results: Results, axes: "Axes", names: Sequence[str]) -> dict[str, int]:
    """Put the labels of the entries `names` on the vertical axis, the first on top."""
    rows = {name: len(names) - 1 - place for place, name in enumerate(names)}
    axes.set_yticks(list(rows.values()), [results.study.entry(name).label for name in rows])
    axes.set_ylim(-0.6, len(names) - 0.4)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color="0.9", linewidth=0.8)
    axes.set_axisbelow(True)
    return rows


def interval_row(axes: "Axes", row: float, interval: Any, style: Any, **marker: Any) -> None:
    """A point with its interval, in the colour and with the marker of its method."""
    axes.plot([interval.low, interval.high], [row, row], color=style.colour, linewidth=2.2)
    axes.plot(
        interval.value,
        row,
        **{"marker": style.marker, "markersize": 7, "color": style.colour, **marker},
    )
