"""The figure of docs/popgym.md: POPGym's Easy tasks, ASM-PPO, the GRU and what is published.

    python benchmarks/popgym_figure.py

Medians of the seeds in results/popgym/runs.csv, and bands from the worst seed to the best.
"""

import shutil
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.lines import Line2D

import tables
from asmpg.analysis.figures import panels, save, styles
from asmpg.studies import Published, load_study
from popgym_tables import DEFAULT, END, OPTIONS, Evaluations, easy_tasks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PICTURE = tables.ROOT / "docs" / "images" / "popgym.png"
#: The methods drawn in every panel; our entry depends on the task.
OURS, GRU, NONE = "asm-ppo", "gru-ppo", "memoryless-ppo"
LABELS = {OURS: "ASM-PPO", GRU: "GRU-PPO", NONE: "Memoryless PPO"}
#: The colour and the line of what is published, by its name in the study.
PUBLISHED = {"gru": ("#8C4A73", (0, (2, 1.5))), "best": ("black", (0, (1, 1.2)))}


def main() -> None:
    figure = draw(tables.ROOT / "results")
    with tempfile.TemporaryDirectory() as folder:
        png, _ = save(figure, Path(folder), "popgym")
        shutil.copy(png, PICTURE)


def draw(results: Path) -> "Figure":
    runs = easy_tasks(results)
    entries = {task: OPTIONS.get(task, (DEFAULT, "")) for task in runs}
    titles = [
        " ".join([task.removesuffix("Easy"), options]).strip()
        for task, (_, options) in entries.items()
    ]
    figure, grid = panels(titles, columns=4, height=2.8, spare=True)
    published = load_study("popgym").published
    drawn = set()
    for axes, (task, (entry, _)) in zip(grid, entries.items(), strict=False):
        for each in published:
            value = each.values.get(f"popgym-{task}")
            if value is not None:
                colour, line = PUBLISHED[each.name]
                axes.axhline(value, color=colour, linestyle=line, linewidth=1.2, zorder=1)
        for method, own in ((NONE, NONE), (GRU, GRU), (OURS, entry)):
            if own in runs[task]:
                _curve(axes, method, runs[task][own])
                drawn.add(method)
        axes.set_xlim(0, END)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value / 1000:.0f}k")
        axes.set_xlabel("environment steps")
        axes.set_ylabel("return")
    _legend(grid[-1], drawn, published)
    return figure


def _curve(axes: "Axes", method: str, found: Evaluations) -> None:
    dues = sorted(due for due in found if due <= END)
    style = styles([OURS, GRU, NONE])[method]
    medians = [statistics.median(found[due]) for due in dues]
    axes.plot(dues, medians, color=style.colour, linestyle=style.line, linewidth=1.8, zorder=3)
    low, high = ([bound(found[due]) for due in dues] for bound in (min, max))
    axes.fill_between(dues, low, high, color=style.colour, alpha=0.15, linewidth=0, zorder=2)


def _legend(axes: "Axes", drawn: set[str], published: Sequence[Published]) -> None:
    looks = styles([OURS, GRU, NONE])
    handles = [
        Line2D([], [], color=looks[name].colour, linestyle=looks[name].line, label=label)
        for name, label in LABELS.items()
        if name in drawn
    ]
    for each in published:
        colour, line = PUBLISHED[each.name]
        handles.append(Line2D([], [], color=colour, linestyle=line, label=each.label))
    title = "median, and from the worst to the best seed"
    axes.legend(handles=handles, loc="center left", frameon=False, title=title, alignment="left")


if __name__ == "__main__":
    main()
