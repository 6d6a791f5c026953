"""The probability that a seed of the study's first entry beats one of another."""

from typing import TYPE_CHECKING

from asmpg.analysis._results import Results
from asmpg.analysis._summary import Summary, everywhere
from asmpg.analysis.figures._panels import interval_row, label_below, method_rows, panels, styles

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
