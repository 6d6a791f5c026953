"""The score over the steps, and the use of agent states; means over seeds."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from asmpg._support.words import counted, short_number
from asmpg.analysis._results import Results
from asmpg.analysis.figures._panels import (
    MEMORY_LABELS,
    YARDSTICK_STYLES,
    draw_published,
    draw_yardsticks,
    panels,
    published_styles,
    styles,
)
from asmpg.runs import MEMORY_MEASURES

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


def _drawn(results: Results, environment: str) -> list[str]:
    """The entries with a curve: all, or those of the first claim, if there are claims."""
    entries = results.entries(environment)
    if not results.study.claims:
        return entries
    return [entry for entry in entries if entry in results.study.claims[0].entries] or entries


def has_memory(results: Results) -> bool:
    """Whether the use of agent states was measured for any curve that is drawn."""
    return any(
        results.curves[name, entry].memory
        for name in results.environments
        for entry in _drawn(results, name)
    )


def memory_use(results: Results, columns: int) -> "Figure":
    """Two panels for each environment: the entropy of `nu`, and how many agent states are used."""
    shown = [
        (environment, measure)
        for environment in results.environments
        for measure in MEMORY_MEASURES
        if any(results.curves[environment, e].memory for e in _drawn(results, environment))
    ]
    names = [environment for environment, _ in shown]
    figure, grid = panels(names, columns=min(columns, 2), height=2.6)
    for axes, (environment, measure) in zip(grid, shown, strict=False):
        curves = {
            entry: results.curves[environment, entry].memory_grid(measure)
            for entry in _drawn(results, environment)
            if results.curves[environment, entry].memory
        }
        _draw_means(axes, results, curves)
        _label_axes(axes, MEMORY_LABELS[measure], max(steps[-1] for steps, _ in curves.values()))
        axes.set_ylim(bottom=0)
        if len(curves) > 1:
            axes.legend(frameon=False, fontsize=9)
        else:
            axes.set_title(results.study.entry(next(iter(curves))).label, loc="right", fontsize=9)
    return figure


def _draw(axes: "Axes", results: Results, environment: str) -> None:
    entries = _drawn(results, environment)
    curves = {entry: results.curves[environment, entry] for entry in entries}
    _draw_means(axes, results, {entry: (own.steps, own.scores) for entry, own in curves.items()})
    draw_yardsticks(axes, results.yardsticks[environment], labels=False)
    draw_published(axes, results, environment)
    label = results.scores[environment].label
    _label_axes(axes, label, max(own.steps[-1] for own in curves.values()))


def _label_axes(axes: "Axes", label: str, last: float) -> None:
    axes.set_xlim(0, 1.01 * last)
    axes.set_xlabel("environment steps")
    axes.set_ylabel(label)
    axes.xaxis.set_major_formatter(lambda value, _: short_number(value))


def _draw_means(
    axes: "Axes", results: Results, curves: Mapping[str, tuple[np.ndarray, np.ndarray]]
) -> None:
    """The mean of each entry, from its steps and the values of its seeds, and its error."""
    looks = styles([entry.name for entry in results.study.entries])
    for index, (entry, (steps, values)) in enumerate(curves.items()):
        style, mean, count = looks[entry], values.mean(axis=0), len(values)
        every = max(1, len(mean) // _MARKERS)
        axes.plot(
            steps,
            mean,
            color=style.colour,
            linestyle=style.line,
            linewidth=1.6,
            marker=style.marker,
            markersize=4.5,
            markevery=(index * every // len(curves), every),
            zorder=3,
            label=results.study.entry(entry).label,
        )
        if count > 1:
            error = values.std(axis=0, ddof=1) / math.sqrt(count)
            axes.fill_between(
                steps,
                mean - error,
                mean + error,
                color=style.colour,
                alpha=0.15,
                linewidth=0,
                zorder=2,
            )


def _legend(axes: "Axes", results: Results) -> None:
    from matplotlib.lines import Line2D

    shown = {entry for name in results.environments for entry in _drawn(results, name)}
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
