"""All figures of a study."""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from asmpg.study._results import Results
from asmpg.study._summary import SHARES, Summary
from asmpg.study._words import percent
from asmpg.study.figures._best_checkpoints import best_checkpoints
from asmpg.study.figures._improvement import improvement
from asmpg.study.figures._interquartile_means import interquartile_means
from asmpg.study.figures._learning_curves import learning_curves
from asmpg.study.figures._save import save
from asmpg.study.figures._steps_to import steps_to_share

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Picture(NamedTuple):
    """A figure on disk and what it shows."""

    name: str
    title: str
    caption: str
    paths: tuple[Path, ...]


def draw_figures(results: Results, summary: Summary, folder: Path) -> list[Picture]:
    """Draw every figure that the results allow into `folder`, as PNG and SVG."""
    if importlib.util.find_spec("matplotlib") is None:
        raise ImportError("figures need matplotlib: pip install matplotlib")
    pictures = []
    for name, title, caption, draw in _figures(results, summary):
        paths = tuple(save(draw(), folder, name))
        pictures.append(Picture(name, title, caption, paths))
    return pictures


def _figures(
    results: Results, summary: Summary
) -> list[tuple[str, str, str, Callable[[], "Figure"]]]:
    share = SHARES[-1]
    first = results.study.entries[0]
    figures: list[tuple[str, str, str, Callable[[], Figure]]] = [
        (
            "learning_curves",
            "Learning curves",
            "The score at each evaluation, mean over seeds; the band is one standard error. "
            "Black lines are the values of policies of three kinds.",
            lambda: learning_curves(results),
        ),
        (
            "best_checkpoints",
            "Best checkpoint of each seed",
            "The best evaluation of each seed: box from quartile to quartile, thick line at the "
            "median, a dot for each seed. Picking the best of many noisy evaluations flatters "
            "all methods alike.",
            lambda: best_checkpoints(results),
        ),
        (
            "interquartile_means",
            "Interquartile means",
            "The mean of the middle half of the seeds, with 95 % bootstrap intervals, stratified "
            "by environment in the panel for all.",
            lambda: interquartile_means(results, summary),
        ),
    ]
    compared = any(first.name in (pair.ours, pair.theirs) for pair in summary.comparisons.values())
    if compared:
        figures.append(
            (
                "probability_of_improvement",
                f"{first.label} against each other method",
                f"The probability that a seed of {first.label} ends higher than a seed of the "
                "other method, ties counted half, with 95 % bootstrap intervals.",
                lambda: improvement(results, summary),
            )
        )
    if any(cell.steps_to[share] is not None for cell in summary.cells.values()):
        figures.append(
            (
                f"steps_to_{100 * share:.0f}",
                f"Steps to {percent(share)}",
                f"Environment steps until a seed reaches {percent(share)} of the way from random "
                "to the history optimum, and never falls below it again.",
                lambda: steps_to_share(results, summary, share),
            )
        )
    return figures
