"""The figure of a sweep: the score against each option."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asmpg._support.words import counted, percent
from asmpg.analysis.figures import Picture, StudyFigure, draw_pictures, label_below, panels
from asmpg.sweeps._dimensions import Range
from asmpg.sweeps._results import TrialResult
from asmpg.sweeps._sensitivity import Sensitivity
from asmpg.sweeps._sweep import Sweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOUR, _FAILED = "#0072B2", "#D55E00"


def draw_sensitivity(
    sweep: Sweep,
    found: Sequence[Sensitivity],
    results: Sequence[TrialResult],
    best: TrialResult | None,
    folder: Path,
) -> Picture:
    """Draw the figure into `folder`, as PNG and SVG."""
    caption = (
        f"A panel for each option, the most important first: the score of each trial after "
        f"{counted(sweep.ends[0], 'step')} against its value, with the median of neighbouring "
        "values as a line and their quartiles as a band. The star is the best trial, crosses at "
        "the bottom are trials that failed. In brackets: the share of the variance of scores that "
        "the option alone explains, less what it would by chance."
    )
    figure = StudyFigure(
        "sensitivity",
        "Sensitivity of each option",
        caption,
        lambda columns: _figure(sweep, found, results, best, columns),
    )
    return draw_pictures([figure], folder)[0]


def _figure(
    sweep: Sweep,
    found: Sequence[Sensitivity],
    results: Sequence[TrialResult],
    best: TrialResult | None,
    columns: int,
) -> "Figure":
    titles = [
        each.name + ("" if each.importance is None else f" ({percent(each.importance)})")
        for each in found
    ]
    figure, grid = panels(titles, columns=columns, height=2.8, sharey=True)
    failed = [each for each in results if each.failure is not None]
    for axes, each in zip(grid, found, strict=True):
        _draw(axes, each)
        if best is not None and sweep.ends[0] in best.scores:
            place = _place(each, best.trial.options[each.name])
            axes.plot(place, best.scores[sweep.ends[0]], "*", color="black", markersize=12)
        for trial in failed:
            place = _place(each, trial.trial.options[each.name])
            axes.plot(
                *(place, 0.02),
                transform=axes.get_xaxis_transform(),
                marker="x",
                color=_FAILED,
                linestyle="",
            )
    label_below(figure, f"score after {counted(sweep.ends[0], 'step')}, against each option")
    return figure


def _draw(axes: "Axes", each: Sensitivity) -> None:
    places = [_place(each, value) for value in each.values]
    axes.plot(places, each.scores, "o", color=_COLOUR, alpha=0.45, markersize=4.5)
    centres = [_place(each, own.centre) for own in each.bins]
    low, middle, high = zip(*(own.quartiles for own in each.bins), strict=True)
    if isinstance(each.dimension, Range):
        axes.fill_between(centres, low, high, color=_COLOUR, alpha=0.18, linewidth=0)
        axes.plot(centres, middle, "-", color=_COLOUR)
        _scale(axes, each.dimension)
        return
    axes.bar(
        centres,
        [top - bottom for bottom, top in zip(low, high, strict=True)],
        bottom=low,
        width=0.5,
        color=_COLOUR,
        alpha=0.18,
    )
    axes.plot(centres, middle, "_", color=_COLOUR, markersize=24)
    values = each.dimension.examples
    axes.set_xticks(range(len(values)), [str(value) for value in values])
    axes.set_xlim(-0.6, len(values) - 0.4)


def _scale(axes: "Axes", dimension: Range) -> None:
    """The whole range, whatever of it was tried; powers of ten only, where there are some."""
    from matplotlib.ticker import NullFormatter

    low, high = dimension.low, dimension.high
    if not dimension.log:
        margin = 0.04 * (high - low)
        axes.set_xlim(low - margin, high + margin)
        return
    axes.set_xscale("log")
    margin = (high / low) ** 0.04
    axes.set_xlim(low / margin, high * margin)
    if high >= 10 * low:
        axes.xaxis.set_minor_formatter(NullFormatter())


def _place(each: Sensitivity, value: Any) -> float:
    """Where a value is on the axis: numbers of a range at their own place."""
    if isinstance(each.dimension, Range):
        return float(value)
    return float(each.dimension.examples.index(value))
