"""Methods compared: interquartile means, best checkpoints, probabilities of improvement."""

import math
from typing import TYPE_CHECKING

from asmpg.analysis._results import Results
from asmpg.analysis._summary import Summary, everywhere
from asmpg.analysis.figures._panels import (
    YARDSTICK_STYLES,
    interval_row,
    label_below,
    make_room,
    method_rows,
    panels,
    styles,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def interquartile_means(results: Results, summary: Summary, columns: int) -> "Figure":
    """A panel for each environment, and one for all, normalised: last evaluation and best.

    Filled markers are the last evaluations, white ones the best checkpoints.
    """
    names = [entry.name for entry in results.study.entries]
    looks = styles(names)
    everything = ["all, normalised"] if summary.overall and len(results.environments) > 1 else []
    titles = [*results.environments, *everything]
    height = 0.9 + 0.4 * len(names)
    figure, grid = panels(titles, columns=columns, height=height, sharey=True)
    for axes, environment in zip(grid, results.environments, strict=False):
        rows = method_rows(results, axes, names)
        for entry in results.entries(environment):
            cell = summary.cells[environment, entry]
            interval_row(axes, rows[entry] + 0.16, cell.final, looks[entry])
            interval_row(axes, rows[entry] - 0.16, cell.best, looks[entry], **_WHITE)
        axes.set_xlabel(results.scores[environment].label)
    if everything:
        axes = grid[len(titles) - 1]
        rows = method_rows(results, axes, names)
        for (entry, measure), interval in summary.overall.items():
            if measure not in ("final", "best"):
                continue
            white = _WHITE if measure == "best" else {}
            height = rows[entry] + (0.16 if measure == "final" else -0.16)
            interval_row(axes, height, interval, looks[entry], **white)
        axes.set_xlabel("0: random, 1: history optimum")
    label_below(
        figure,
        "interquartile mean over seeds, 95 % bootstrap interval; filled: last evaluation, "
        "white: best checkpoint of each seed on fresh episodes",
    )
    return figure


_WHITE = {"markerfacecolor": "white", "markeredgewidth": 1.6}


def improvement(results: Results, summary: Summary, columns: int) -> "Figure":
    """A panel for each environment, and one for their average; right of 0.5 is in favour."""
    entries = [entry.name for entry in results.study.entries]
    first, others = entries[0], entries[1:]
    looks = styles(entries)
    titled: list[str | None] = [
        name for name in results.environments if len(results.entries(name)) > 1
    ]
    titled = [name for name in titled if name and first in results.entries(name)]
    averaged = everywhere(results)
    if len(results.environments) > 1 and first in averaged and len(averaged) > 1:
        titled.append(None)
    titles = [name or "mean of all" for name in titled]
    height = 1.0 + 0.32 * len(others)
    figure, grid = panels(titles, columns=columns, height=height, sharey=True)
    for axes, environment in zip(grid, titled, strict=False):
        rows = method_rows(results, axes, others)
        shown = averaged if environment is None else results.entries(environment)
        for entry in others:
            if entry in shown:
                found = summary.comparison(environment, first, entry)
                interval_row(axes, rows[entry], found.improvement, looks[entry])
        axes.axvline(0.5, color="black", linewidth=1)
        axes.set_xlim(-0.03, 1.03)
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "¼", "½", "¾", "1"])
    label = results.study.entry(first).label
    label_below(
        figure,
        f"probability that a seed of {label} ends higher than one of the method named on the "
        "left, 95 % bootstrap interval",
    )
    return figure


def best_checkpoints(results: Results, columns: int) -> "Figure":
    """A panel for each environment, a box for each method: quartiles, median, all seeds as dots."""
    from matplotlib.lines import Line2D

    names = [entry.name for entry in results.study.entries]
    looks = styles(names)
    height = 0.9 + 0.36 * len(names)
    figure, grid = panels(results.environments, columns=columns, height=height, sharey=True)
    drawn = set()
    for axes, environment in zip(grid, results.environments, strict=False):
        rows = method_rows(results, axes, names)
        for entry in results.entries(environment):
            style, values = looks[entry], results.curves[environment, entry].best
            axes.boxplot(
                [values],
                positions=[rows[entry]],
                orientation="horizontal",
                widths=0.62,
                manage_ticks=False,
                patch_artist=True,
                showfliers=False,
                boxprops={"facecolor": "white", "edgecolor": style.colour, "hatch": style.hatch},
                whiskerprops={"color": style.colour},
                capprops={"color": style.colour},
                medianprops={"color": "black", "linewidth": 2.2},
            )
            axes.plot(
                values, [rows[entry]] * len(values), "o", color="black", markersize=2.6, zorder=4
            )
        for name, line in results.yardsticks[environment].items():
            if name in YARDSTICK_STYLES:
                drawn.add(name)
                style = YARDSTICK_STYLES[name][1]
                axes.axvline(line.value, color="black", linewidth=1, linestyle=style, zorder=1)
        axes.set_xlabel(results.scores[environment].label)
    handles = [
        Line2D([], [], color="black", linewidth=1, linestyle=style, label=label)
        for name, (label, style) in YARDSTICK_STYLES.items()
        if name in drawn
    ]
    if handles:
        abreast = max(1, int(figure.get_figwidth() // 2.5))
        make_room(figure, math.ceil(len(handles) / abreast))
        figure.legend(handles=handles, loc="outside lower center", ncols=abreast, frameon=False)
    return figure
