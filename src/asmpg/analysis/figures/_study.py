"""The figures of a study: what there is, and drawing all of them."""

import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from asmpg._support.words import percent
from asmpg.analysis._claims import judge
from asmpg.analysis._results import Results
from asmpg.analysis._summary import SHARES, Summary
from asmpg.analysis.figures._claims import draw_claims
from asmpg.analysis.figures._comparisons import best_checkpoints, improvement, interquartile_means
from asmpg.analysis.figures._learning_curves import has_memory, learning_curves, memory_use
from asmpg.analysis.figures._panels import save, save_svg
from asmpg.analysis.figures._steps_to import steps_to_share
from asmpg.studies import best_episodes

if TYPE_CHECKING:
    from matplotlib.figure import Figure


#: Panels side by side: on paper and wide screens, and on narrow ones.
_WIDE, _NARROW = 3, 1


class Picture(NamedTuple):
    """A figure on disk, and what it shows; `narrow` is the SVG for narrow screens."""

    name: str
    title: str
    caption: str
    paths: tuple[Path, ...]
    narrow: Path


class StudyFigure(NamedTuple):
    """A figure of a study or a sweep; `draw` takes the number of panels side by side."""

    name: str
    title: str
    caption: str
    draw: "Callable[[int], Figure]"


def draw_figures(results: Results, summary: Summary, folder: Path) -> list[Picture]:
    """Draw every figure that the results allow into `folder`, as PNG and SVG."""
    return draw_pictures(figures(results, summary), folder)


def draw_pictures(figures: Sequence[StudyFigure], folder: Path) -> list[Picture]:
    """Draw `figures` into `folder`, as PNG and SVG, for wide and for narrow screens."""
    if importlib.util.find_spec("matplotlib") is None:
        raise ImportError("figures need matplotlib: pip install matplotlib")
    pictures = []
    for name, title, caption, draw in figures:
        paths = tuple(save(draw(_WIDE), folder, name))
        narrow = save_svg(draw(_NARROW), folder / f"{name}-narrow.svg")
        pictures.append(Picture(name, title, caption, paths, narrow))
    return pictures


def figures(results: Results, summary: Summary) -> list[StudyFigure]:
    """The figures that the results allow."""
    share = SHARES[-1]
    first = results.study.entries[0]
    drawn = [
        StudyFigure(
            "learning_curves",
            "Learning curves",
            "The score at each evaluation, mean over seeds; the band is one standard error. "
            "Black lines are the values of reference policies."
            + _claims_caption(results)
            + _published_caption(results),
            lambda columns: learning_curves(results, columns),
        ),
        StudyFigure(
            "best_checkpoints",
            "Best checkpoint of each seed",
            f"The best checkpoint of each seed, scored on {best_episodes(results.study):,} fresh "
            "episodes: the box spans the quartiles, the thick line is the median, each dot is a "
            "seed.",
            lambda columns: best_checkpoints(results, columns),
        ),
        StudyFigure(
            "interquartile_means",
            "Interquartile means",
            "The mean of the middle half of the seeds, with 95 % bootstrap intervals, stratified "
            "by environment in the panel for all of them.",
            lambda columns: interquartile_means(results, summary, columns),
        ),
    ]
    if judge(results):
        drawn.insert(
            0,
            StudyFigure(
                "claims",
                "Where the claims hold",
                "One row per claim and one panel per measure, which is the same for all methods, "
                "on all seeds. A claim holds where ours is higher than each of theirs, "
                "and fails where it is lower than one of them, by the 95 % bootstrap interval of "
                "the difference of interquartile means.",
                lambda columns: draw_claims(results, columns),
            ),
        )
    compared = any(first.name in (pair.ours, pair.theirs) for pair in summary.comparisons.values())
    if compared:
        drawn.append(
            StudyFigure(
                "probability_of_improvement",
                f"{first.label} against each of the other methods",
                f"The probability that a seed of {first.label} ends higher than a seed of the "
                "other method, ties counting half, with 95 % bootstrap intervals.",
                lambda columns: improvement(results, summary, columns),
            )
        )
    if any(cell.steps_to[share] is not None for cell in summary.cells.values()):
        drawn.append(
            StudyFigure(
                f"steps_to_{100 * share:.0f}",
                f"Steps to {percent(share)}",
                f"Environment steps until a seed reaches {percent(share)} of the way from random "
                "to the history optimum, and never falls below it again.",
                lambda columns: steps_to_share(results, summary, share, columns),
            )
        )
    if has_memory(results):
        drawn.append(
            StudyFigure(
                "memory",
                "Agent states",
                "For methods with agent states, means over seeds at each evaluation: the entropy "
                "of nu in nats, and the number of agent states that account for at least a "
                "hundredth of all steps.",
                lambda columns: memory_use(results, columns),
            )
        )
    return drawn


def _claims_caption(results: Results) -> str:
    if not results.study.claims:
        return ""
    return f" Only the methods of the first claim are drawn: {results.study.claims[0].label}."


def _published_caption(results: Results) -> str:
    if not results.study.published:
        return ""
    return " Coloured lines with a marker at the right are published values, measured by others."
