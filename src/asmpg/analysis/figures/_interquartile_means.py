"""Interquartile means with their intervals."""

from typing import TYPE_CHECKING

from asmpg.analysis._results import Results
from asmpg.analysis._summary import Summary
from asmpg.analysis.figures._panels import interval_row, label_below, method_rows, panels, styles

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
