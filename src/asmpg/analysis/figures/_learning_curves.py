"""The score over the steps, mean over seeds."""

import math
from typing import TYPE_CHECKING

from asmpg._support.words import counted, short_number
from asmpg.analysis._results import Results
from asmpg.analysis.figures._panels import (
    YARDSTICK_STYLES,
    draw_published,
    draw_yardsticks,
    panels,
    published_styles,
    styles,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Markers on each curve, offset from those of the others.
_MARKERS = 8


def learning_curves(results: Results, columns: int) -> "Figure":
    """A panel for each environment: means with bands of one standard error, and yardsticks.

    Published values, if the study has any, are lines with a marker at the right.
    """
    names = results.environments
    figure, grid = panels(names, columns=columns, height=3.4, spare=True)
    for axes, environment in zip(grid, names, strict=False):
        _draw(axes, results, environment)
    _legend(grid[-1], results)
    return figure


def _draw(axes: "Axes", results: Results, environment: str) -> None:
    looks = styles([entry.name for entry in results.study.entries])
    entries = results.entries(environment)
    for index, entry in enumerate(entries):
        curves, style = results.curves[environment, entry], looks[entry]
        mean, count = curves.scores.mean(axis=0), len(curves.seeds)
        every = max(1, len(mean) // _MARKERS)
        axes.plot(
            curves.steps,
            mean,
            color=style.colour,
            linestyle=style.line,
            linewidth=1.6,
            marker=style.marker,
            markersize=4.5,
            markevery=(index * every // len(entries), every),
            zorder=3,
        )
        if count > 1:
            error = curves.scores.std(axis=0, ddof=1) / math.sqrt(count)
            axes.fill_between(
                curves.steps,
                mean - error,
                mean + error,
                color=style.colour,
                alpha=0.15,
                linewidth=0,
                zorder=2,
            )
    draw_yardsticks(axes, results.yardsticks[environment], labels=False)
    draw_published(axes, results, environment)
    axes.set_xlim(0, 1.01 * max(results.curves[environment, entry].steps[-1] for entry in entries))
    axes.set_xlabel("environment steps")
    axes.set_ylabel(results.scores[environment].label)
    axes.xaxis.set_major_formatter(lambda value, _: short_number(value))


def _legend(axes: "Axes", results: Results) -> None:
    from matplotlib.lines import Line2D

    shown = {entry for _, entry in results.curves}
    several = any(len(curves.seeds) > 1 for curves in results.curves.values())
    looks = styles([entry.name for entry in results.study.entries])
    handles = [
        Line2D(
            [],
            [],
            color=looks[entry.name].colour,
            linestyle=looks[entry.name].line,
            marker=looks[entry.name].marker,
            markersize=5,
            label=_label(results, entry.name),
        )
        for entry in results.study.entries
        if entry.name in shown
    ]
    drawn = {name for lines in results.yardsticks.values() for name in lines}
    handles += [
        Line2D([], [], color="black", linewidth=1, linestyle=style, label=label)
        for name, (label, style) in YARDSTICK_STYLES.items()
        if name in drawn
    ]
    marks = published_styles(results)
    handles += [
        Line2D(
            [],
            [],
            color=marks[each.name][0],
            linewidth=0.9,
            linestyle=(0, (2, 1.5)),
            marker=marks[each.name][1],
            markersize=6,
            label=each.label,
        )
        for each in results.study.published
        if any(environment in each.values for environment in results.environments)
    ]
    axes.legend(
        handles=handles,
        loc="center left",
        frameon=False,
        handlelength=3.5,
        title="mean ± standard error" if several else None,
        alignment="left",
    )


def _label(results: Results, name: str) -> str:
    """The label, with the number of seeds."""
    counts = {len(curves.seeds) for (_, entry), curves in results.curves.items() if entry == name}
    most = counted(max(counts), "seed")
    seeds = f"{min(counts)} to {most}" if len(counts) > 1 else most
    return f"{results.study.entry(name).label} ({seeds})"
