"""Where the claims of a study hold, at a glance."""

from typing import TYPE_CHECKING

from asmpg.analysis._claims import environments_where, judge
from asmpg.analysis._results import Results
from asmpg.analysis._summary import MEASURE_LABELS, MEASURES
from asmpg.analysis.figures._panels import label_below, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: The colour of a cell, its sign and the sign's colour; the sign alone is enough.
_LOOKS = {
    "holds": ("#0072B2", "+", "white"),
    "fails": ("#F3C9A5", "\N{MINUS SIGN}", "black"),
    "open": ("#EFEFEF", "·", "black"),
}


def draw_claims(results: Results, columns: int) -> "Figure":
    """A panel for each measure, a row for each claim, a column for each environment.

    A last column counts the environments where a claim holds.
    """
    verdicts = [each for each in judge(results) if each.seeds == "all"]
    shown = [claim for claim in results.study.claims if claim in {v.claim for v in verdicts}]
    several = len(results.environments) > 1
    titles = [MEASURE_LABELS[measure] for measure in MEASURES]
    height = 2.0 + 0.24 * len(shown)
    figure, grid = panels(titles, columns=columns, height=height, sharey=True)
    headings = [*results.environments, *(["in total"] if several else [])]
    for axes, measure in zip(grid, MEASURES, strict=True):
        for each in verdicts:
            if each.measure == measure:
                row, column = shown.index(each.claim), headings.index(each.environment)
                _cell(axes, row, column, _LOOKS[each.verdict])
        for row, claim in enumerate(shown if several else ()):
            number = len(environments_where(verdicts, claim, measure))
            _cell(axes, row, len(headings) - 1, ("white", str(number), "black"))
        axes.set_xlim(-0.5, len(headings) - 0.5)
        axes.set_ylim(len(shown) - 0.5, -0.5)
        axes.xaxis.tick_top()
        axes.set_xticks(
            range(len(headings)), headings, rotation=40, ha="left", rotation_mode="anchor"
        )
        axes.set_yticks(range(len(shown)), [claim.label for claim in shown])
        axes.tick_params(length=0, labelsize=9)
        axes.spines[:].set_visible(False)
    label_below(
        figure,
        "+: ours is higher than each of theirs; \N{MINUS SIGN}: lower than one of them; ·: open, "
        "by 95 % bootstrap intervals of the difference of interquartile means",
    )
    return figure


def _cell(axes: "Axes", row: int, column: int, look: tuple[str, str, str]) -> None:
    from matplotlib.patches import Rectangle

    colour, sign, ink = look
    axes.add_patch(Rectangle((column - 0.47, row - 0.44), 0.94, 0.88, color=colour, linewidth=0))
    axes.text(column, row, sign, ha="center", va="center", color=ink, fontsize=10)
