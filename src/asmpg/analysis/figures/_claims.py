"""Where the claims of a study hold, at one look."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from asmpg.analysis._claims import Verdict, environments_where, judge
from asmpg.analysis._results import Results
from asmpg.analysis._summary import MEASURE_LABELS, MEASURES
from asmpg.analysis.figures._panels import label_below, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: The colour of a cell, its sign and the colour of that; none needs the colour.
_LOOKS = {
    "holds": ("#0072B2", "+", "white"),
    "fails": ("#F3C9A5", "\N{MINUS SIGN}", "black"),
    "open": ("#EFEFEF", "·", "black"),
}
_SHORT = {"final": "last", "best": "best", "area": "area"}


def draw_claims(results: Results, columns: int) -> "Figure":
    """A panel for each environment, a row for each claim, a column for each measure.

    A last panel counts the environments where a claim holds.
    """
    verdicts = [each for each in judge(results) if each.seeds == "all"]
    shown = [claim for claim in results.study.claims if claim in {v.claim for v in verdicts}]
    several = len(results.environments) > 1
    titles = [*results.environments, *(["how many hold"] if several else [])]
    height = 1.2 + 0.24 * len(shown)
    figure, grid = panels(titles, columns=columns, height=height, sharey=True)
    for axes, environment in zip(grid, results.environments, strict=False):
        own = [each for each in verdicts if each.environment == environment]
        _draw(axes, [claim.name for claim in shown], own)
    if several:
        for row, claim in enumerate(shown):
            for column, measure in enumerate(MEASURES):
                number = len(environments_where(verdicts, claim, measure))
                _cell(grid[len(titles) - 1], row, column, ("white", str(number), "black"))
    for axes in grid[: len(titles)]:
        axes.set_xlim(-0.5, len(MEASURES) - 0.5)
        axes.set_ylim(len(shown) - 0.5, -0.5)
        axes.set_xticks(range(len(MEASURES)), [_SHORT[measure] for measure in MEASURES])
        axes.set_yticks(range(len(shown)), [claim.label for claim in shown])
        axes.tick_params(length=0, labelsize=9)
        axes.spines[:].set_visible(False)
    words = ", ".join(f"{_SHORT[measure]}: {MEASURE_LABELS[measure]}" for measure in MEASURES)
    label_below(
        figure,
        "+ ours is higher than each of theirs, \N{MINUS SIGN} lower than one of them, · open: by "
        f"95 % bootstrap intervals of the difference of interquartile means; {words}",
    )
    return figure


def _draw(axes: "Axes", rows: Sequence[str], verdicts: Sequence[Verdict]) -> None:
    places = list(MEASURES)
    for each in verdicts:
        row, column = rows.index(each.claim.name), places.index(each.measure)
        _cell(axes, row, column, _LOOKS[each.verdict])


def _cell(axes: "Axes", row: int, column: int, look: tuple[str, str, str]) -> None:
    from matplotlib.patches import Rectangle

    colour, sign, ink = look
    axes.add_patch(Rectangle((column - 0.47, row - 0.44), 0.94, 0.88, color=colour, linewidth=0))
    axes.text(column, row, sign, ha="center", va="center", color=ink, fontsize=10)
