"""The best checkpoint of each seed on fresh episodes, as box plots."""

import math
from typing import TYPE_CHECKING

from asmpg.analysis._results import Results
from asmpg.analysis.figures._panels import YARDSTICK_STYLES, make_room, method_rows, panels, styles

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
