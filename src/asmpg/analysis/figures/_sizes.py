"""The score of a policy with memories of several sizes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from asmpg.analysis.figures._panels import panels, save

#: How students are drawn: as they were distilled, and fine-tuned.
_STYLES = {"distilled": ("#0072B2", "o", "-"), "finetuned": ("#D55E00", "s", "--")}


def draw_sizes(report: Mapping[str, Any], folder: Path) -> list[Path]:
    """The scores in a report of `asmpg.compress`, as `scores.png` and `scores.svg` in `folder`.

    A point is a student, the lines join the means; the band is twice the teacher's standard error.
    """
    figure, (axes,) = panels([report["environment"]], columns=1, height=3.4)
    figure.set_figwidth(6)
    teacher = report["teacher"]
    value, error = _score(teacher)
    own = teacher["num_states"]
    label = "teacher" if own is None else f"teacher, {own} agent states"
    axes.axhline(value, color="black", linewidth=1, linestyle=(0, (8, 3)), label=label)
    axes.axhspan(value - 2 * error, value + 2 * error, color="0.9", linewidth=0)
    sizes = sorted({entry["num_states"] for entry in report["students"]})
    for kind, (colour, marker, line) in _STYLES.items():
        points = [
            (entry["num_states"], _score(entry[kind])[0])
            for entry in report["students"]
            if kind in entry
        ]
        if not points:
            continue
        axes.plot(*zip(*points, strict=True), marker, color=colour, alpha=0.5)
        means = [np.mean([score for size, score in points if size == each]) for each in sizes]
        label = "fine-tuned" if kind == "finetuned" else kind
        axes.plot(sizes, means, line, color=colour, marker=marker, label=label)
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.minorticks_off()
    axes.set_xlabel("agent states")
    axes.set_ylabel(str(report["score"]).replace("_", " "))
    axes.legend(frameon=False)
    return save(figure, folder, "scores")


def _score(found: Mapping[str, Any]) -> tuple[float, float]:
    """The score and its standard error; exact where that is known."""
    if found["exact"] is not None:
        return found["exact"], 0.0
    return found["value"], found["standard_error"]
