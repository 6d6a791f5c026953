"""What the figures share: styles, panels, yardstick lines, files."""

import math
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from asmpg.analysis._results import Results
from asmpg.analysis._yardstick_lines import Line
from asmpg.exact import YARDSTICK_LABELS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Style(NamedTuple):
    """A colour, and what distinguishes methods without it."""

    colour: str
    line: Any
    marker: str
    hatch: str


_SOLID, _DASHED, _DOTTED, _MIXED = "-", (0, (5, 2)), (0, (1, 1.2)), (0, (6, 1.5, 1, 1.5))
#: The methods that come with the package, dark to light within a family.
_KNOWN = {
    "asmpg": Style("#0072B2", _SOLID, "o", ""),
    "asmpg-marginal": Style("#111111", _SOLID, "D", ".."),
    "asm-ppo": Style("#009E73", _MIXED, "v", "xx"),
    "gru-ppo": Style("#CC79A7", _DASHED, "P", "++"),
    "mingru-ppo": Style("#8C4A73", _MIXED, "d", "+"),
    "memoryless-ppo": Style("#888888", _DOTTED, "X", "--"),
    "ais-kl": Style("#D55E00", _DASHED, "s", "//"),
    "ais-mmd": Style("#E69F00", _MIXED, "^", "\\\\"),
    "ais-kl-fixed": Style("#7A2E00", _DOTTED, "<", "||"),
    "ais-mmd-fixed": Style("#9A8500", _DASHED, ">", "oo"),
}
#: For the user's own entries, in the order of the study.
_FURTHER = (
    Style("#56B4E9", _DASHED, "h", "/"),
    Style("#5D3A9B", _MIXED, "p", "\\"),
    Style("#4B0092", _DOTTED, "*", "x"),
    Style("#40B0A6", _SOLID, "d", "."),
    Style("#994F00", _MIXED, "H", "+"),
    Style("#606060", _DASHED, "8", "|"),
)


def styles(names: Sequence[str]) -> dict[str, Style]:
    """A style for each entry, by its name; those of the user's entries repeat after six."""
    unknown = [name for name in names if name not in _KNOWN]
    return {
        name: _KNOWN.get(name) or _FURTHER[unknown.index(name) % len(_FURTHER)] for name in names
    }


def save(figure: "Figure", folder: Path, name: str) -> list[Path]:
    """Write `name.png` and `name.svg`; the same figure gives the same SVG."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.png"
    figure.savefig(path, dpi=150)
    return [path, save_svg(figure, folder / f"{name}.svg")]


def save_svg(figure: "Figure", path: Path) -> Path:
    """Write the SVG alone."""
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": "asmpg"}):
        figure.savefig(path, metadata={"Date": None})
    return path


#: Letters of a label per inch.
_CHARACTERS = 11
#: Letters of a title; if one is longer, all are written smaller.
_TITLE = 28
#: The height of a line, in inches.
_LINE = 0.2


def panels(
    titles: Sequence[str],
    *,
    columns: int,
    height: float,
    spare: bool = False,
    sharey: bool = False,
) -> tuple["Figure", "list[Axes]"]:
    """A figure with a panel for each of `titles`, `height` inches each, and one `spare` if asked.

    There are `columns` columns at most; the rest of the last row is blank.
    """
    from matplotlib.figure import Figure

    number = len(titles) + spare
    columns = min(columns, number)
    rows = math.ceil(number / columns)
    width = 4.2 * columns + (1.2 if sharey else 0.0)
    figure = Figure(figsize=(width, height * rows))
    figure.set_layout_engine("constrained", w_pad=0.08, h_pad=0.08)
    grid = list(figure.subplots(rows, columns, squeeze=False, sharey=sharey).flat)
    size = min(11.0, 11.0 * _TITLE / max(map(len, titles), default=1))
    for axes, title in zip(grid, titles, strict=False):
        axes.set_title(title, loc="left", fontsize=size, fontweight="bold")
        axes.spines[["top", "right"]].set_visible(False)
        axes.locator_params(axis="x", nbins=5)
    for axes in grid[len(titles) :]:
        axes.set_axis_off()
    return figure, grid[:number]


def label_below(figure: "Figure", text: str) -> None:
    """Write `text` below all panels, in as many lines as the width of the figure asks for."""
    lines = textwrap.wrap(text, int(_CHARACTERS * figure.get_figwidth()))
    make_room(figure, len(lines))
    figure.supxlabel("\n".join(lines), fontsize=10)


def make_room(figure: "Figure", lines: int) -> None:
    """Make the figure taller by this many lines of text."""
    figure.set_figheight(figure.get_figheight() + _LINE * lines)


def method_rows(results: Results, axes: "Axes", names: Sequence[str]) -> dict[str, int]:
    """Put the labels of the entries `names` on the vertical axis, the first on top."""
    rows = {name: len(names) - 1 - index for index, name in enumerate(names)}
    axes.set_yticks(list(rows.values()), [results.study.entry(name).label for name in rows])
    axes.set_ylim(-0.6, len(names) - 0.4)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color="0.9", linewidth=0.8)
    axes.set_axisbelow(True)
    return rows


def interval_row(axes: "Axes", row: float, interval: Any, style: Any, **marker: Any) -> None:
    """A point with its interval, in the colour and with the marker of its method."""
    axes.plot([interval.low, interval.high], [row, row], color=style.colour, linewidth=2.2)
    axes.plot(
        interval.value,
        row,
        **{"marker": style.marker, "markersize": 7, "color": style.colour, **marker},
    )


#: The axis labels for the use of agent states.
MEMORY_LABELS = {"memory_entropy": "entropy of nu, nats", "states_in_use": "agent states in use"}
#: Labels and line styles, which differ without colour.
YARDSTICK_STYLES: dict[str, tuple[str, Any]] = {
    "random": (YARDSTICK_LABELS["random"], (0, (1, 2))),
    "memoryless": (YARDSTICK_LABELS["memoryless"], (0, (6, 2, 1, 2))),
    "history_optimal": (YARDSTICK_LABELS["history_optimal"], (0, (8, 3))),
    "history_bound": (YARDSTICK_LABELS["history_bound"], (0, (3, 3))),
}


def draw_yardsticks(axes: "Axes", lines: Mapping[str, Line], *, labels: bool = True) -> None:
    """Draw the lines, with their names and values on the right if asked for `labels`."""
    drawn = {name: lines[name] for name in YARDSTICK_STYLES if name in lines}
    for name, line in drawn.items():
        style = YARDSTICK_STYLES[name][1]
        axes.axhline(line.value, color="black", linewidth=1, linestyle=style, zorder=1)
    if not labels:
        return
    low, high = axes.get_ylim()
    room = 0.09 * (high - low)
    height = -np.inf
    for name, line in sorted(drawn.items(), key=lambda item: item[1].value):
        # A label that would touch the one below moves up.
        height = max(line.value, height + room)
        axes.annotate(
            f"{YARDSTICK_STYLES[name][0]}\n{line.text}",
            xy=(1, height),
            xycoords=("axes fraction", "data"),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
            annotation_clip=False,
        )


#: A colour and a marker for each published result, in the order of the study.
PUBLISHED_STYLES = (
    ("#A05A00", "<"),
    ("#4A3B8F", "D"),
    ("#1B7A5A", "s"),
    ("#8A1538", "^"),
    ("#555555", "v"),
)


def published_styles(results: Results) -> dict[str, tuple[str, str]]:
    """A colour and a marker for each published result; they repeat after five."""
    names = [each.name for each in results.study.published]
    return {
        name: PUBLISHED_STYLES[place % len(PUBLISHED_STYLES)] for place, name in enumerate(names)
    }


def draw_published(axes: "Axes", results: Results, environment: str) -> None:
    """A thin line at each published value, with a marker at its right end."""
    looks = published_styles(results)
    for each in results.study.published:
        if environment in each.values:
            colour, marker = looks[each.name]
            value = each.values[environment]
            axes.axhline(value, color=colour, linewidth=0.9, linestyle=(0, (2, 1.5)), zorder=1)
            axes.plot(
                1.0,
                value,
                transform=axes.get_yaxis_transform(),
                color=colour,
                marker=marker,
                markersize=6,
                clip_on=False,
                zorder=4,
            )
