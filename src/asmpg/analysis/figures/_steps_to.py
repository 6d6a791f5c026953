"""The steps until each seed is nearly optimal, and stays so."""

from typing import TYPE_CHECKING

import numpy as np

from asmpg._support.words import percent, short_number
from asmpg.analysis._results import Results
from asmpg.analysis._summary import Summary
from asmpg.analysis.figures._panels import label_below, method_rows, panels, styles

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def steps_to_share(results: Results, summary: Summary, share: float, columns: int) -> "Figure":
    """A panel for each environment; a marker for each seed, a bar for the median.

    A column on the right says how many seeds reach the share.
    """
    names = [entry.name for entry in results.study.entries]
    shown = [
        environment
        for environment in results.environments
        if any(
            summary.cells[environment, entry].steps_to[share] is not None
            for entry in results.entries(environment)
        )
    ]
    height = 1.0 + 0.36 * len(names)
    figure, grid = panels(shown, columns=columns, height=height, sharey=True)
    for axes, environment in zip(grid, shown, strict=False):
        _draw(axes, results, summary, environment, share)
    label_below(
        figure,
        f"environment steps until {percent(share)} of the way from random to the history optimum "
        "is reached and kept: a marker for each seed, a bar at the median",
    )
    return figure


def _draw(axes: "Axes", results: Results, summary: Summary, environment: str, share: float) -> None:
    names = [entry.name for entry in results.study.entries]
    looks, rows = styles(names), method_rows(results, axes, names)
    entries = results.entries(environment)
    budget = max(results.curves[environment, entry].targets[-1] for entry in entries)
    last = max(results.curves[environment, entry].steps[-1] for entry in entries)
    begin, end = 1.06 * last, 1.42 * last
    column = (begin + end) / 2
    for entry in entries:
        steps = summary.cells[environment, entry].steps_to[share]
        if steps is None:
            continue
        style, row = looks[entry], rows[entry]
        reached = steps[np.isfinite(steps)]
        axes.plot(
            reached,
            row + np.linspace(-0.2, 0.2, len(reached)),
            marker=style.marker,
            linestyle="none",
            markersize=4,
            color=style.colour,
            alpha=0.75,
        )
        median = float(np.median(steps))
        if np.isfinite(median):
            axes.plot([median, median], [row - 0.34, row + 0.34], color="black", linewidth=2)
        text = f"{len(reached)} of {len(steps)}"
        axes.text(column, row, text, ha="center", va="center", fontsize=9)
    axes.axvspan(begin, end, color="0.93", zorder=0)
    axes.set_xlim(0, end)
    ticks = [0, budget / 2, budget]
    axes.set_xticks([*ticks, column], [*map(short_number, ticks), "seeds that\nreach it"])
