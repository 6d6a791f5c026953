"""What is learned in POMDP files beside what their models give, by the number of agent states.

    python benchmarks/cassandra_figure.py [--out docs/images/classics.png]

From `results/cassandra`: a panel for each file, first those that come with the package.
"""

import argparse
import json
import statistics
from pathlib import Path

from asmpg.analysis.figures import label_below, panels
from cassandra import SIZES, controller_values, learned_values

ROOT = Path(__file__).parents[1]
_MODEL, _LEARNED = "black", "#009E73"


def main() -> None:
    parser = argparse.ArgumentParser(description="Draw what is learned, and what models give.")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images" / "classics.png")
    draw(ROOT / "results" / "cassandra", parser.parse_args().out)


def draw(folder: Path, path: Path) -> int:
    """A panel for each file that something was learned in; returns how many."""
    files = [
        (f"{name}{note}", own, json.loads((place / f"{name}.json").read_text()))
        for place, note in ((folder / "shipped", ""), (folder, " (PAYNT's)"))
        for name, own in learned_values(place).items()
    ]
    figure, grid = panels([title for title, _, _ in files], columns=5, height=2.6)
    figure.set_figwidth(16)
    for axes, (_, own, report) in zip(grid, files, strict=True):
        bounds = report["bounds"]
        axes.axhspan(bounds["lower"], bounds["upper"], color="0.88", linewidth=0)
        axes.axhline(bounds["upper"], color="0.4", linewidth=1, label="upper bound")
        axes.axhline(bounds["lower"], color="0.4", linewidth=1, linestyle="--", label="lower bound")
        known = controller_values(report)
        axes.plot(list(known), list(known.values()), "o-", color=_MODEL, label="from the model")
        sizes = [size for size in SIZES if size in own]
        middle = [statistics.median(own[size]) for size in sizes]
        axes.plot(sizes, middle, "v-.", color=_LEARNED, label="learned, median of the seeds")
        points = [(size, value) for size in sizes for value in own[size]]
        axes.plot(*zip(*points, strict=True), ".", color=_LEARNED, alpha=0.5)
        axes.set_xscale("log", base=2)
        axes.set_xticks(SIZES, [str(size) for size in SIZES])
        axes.minorticks_off()
    label_below(figure, "agent states; values with the discount of the file, points are seeds")
    figure.legend(*grid[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)
    return len(files)


if __name__ == "__main__":
    main()
