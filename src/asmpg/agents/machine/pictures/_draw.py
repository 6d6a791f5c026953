"""A machine drawn with matplotlib."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from asmpg._support.checks import check_one_of
from asmpg._support.words import counted
from asmpg.agents.machine._colours import action_colour
from asmpg.agents.machine._graph import Graph, graph_of
from asmpg.agents.machine.pictures._geometry import Placed, PlacedEdge, PlacedNode, stroke_width
from asmpg.agents.machine.pictures._graphviz import graphviz
from asmpg.agents.machine.pictures._layout import layered

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from asmpg.agents.machine._machine import Machine

_INK, _GREY = "#222222", "#6b7280"
_DOTS_PER_INCH = 100
#: The title needs this much.
_NARROWEST = 320.0
#: Who places the states.
Layout = Literal["auto", "graphviz", "layered"]
LAYOUTS = ("auto", "graphviz", "layered")


def placed(graph: Graph, layout: str = "auto") -> Placed:
    """By Graphviz where it is installed, else by our own layout; or by the one that is named."""
    check_one_of("layout", layout, LAYOUTS)
    found = None if layout == "layered" else graphviz(graph)
    if found is None and layout == "graphviz":
        raise ValueError("layout must be 'layered' or 'auto' where dot is not in the path")
    return layered(graph) if found is None else found


def plot_machine(
    machine: "Machine",
    path: str | os.PathLike[str] | None,
    *,
    threshold: float = 0.002,
    layout: str = "auto",
) -> Any:
    """A figure of the machine, written to `path` if there is one."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    graph = graph_of(machine, threshold)
    sheet = placed(graph, layout)
    size = (max(sheet.width, _NARROWEST) / _DOTS_PER_INCH, (sheet.height + 50) / _DOTS_PER_INCH)
    figure = Figure(figsize=size, dpi=_DOTS_PER_INCH)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, sheet.height / (sheet.height + 50)))
    draw_sheet(axes, sheet)
    _draw_title(axes, machine, graph)
    if path is not None:
        figure.savefig(Path(path), dpi=2 * _DOTS_PER_INCH)
    return figure


def draw_sheet(axes: "Axes", sheet: Placed) -> None:
    """States coloured by action, edges as wide as they are frequent; a unit is a pixel."""
    axes.set_axis_off()
    axes.set_aspect("equal")
    extra = max(0.0, _NARROWEST - sheet.width) / 2
    axes.set_xlim(-extra, sheet.width + extra)
    axes.set_ylim(sheet.height, 0)
    for edge in sheet.edges:
        _draw_edge(axes, edge)
    for node in sheet.nodes:
        _draw_node(axes, node)


def _draw_title(axes: "Axes", machine: "Machine", graph: Graph) -> None:
    lines = [f"{machine.name}", "" if machine.value is None else str(machine.value)]
    left_out = [
        counted(number, f"rare {kind}")
        for number, kind in ((graph.hidden, "edge"), (graph.unused, "state"))
        if number
    ]
    if left_out:
        lines[1] += f"   (not shown: {', '.join(left_out)})"
    axes.set_title(lines[0], loc="left", fontsize=11, fontweight="bold", color=_INK, pad=22, x=0.02)
    axes.annotate(
        lines[1],
        (0.02, 1),
        xytext=(0, 8),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=8.5,
        color=_GREY,
    )


def _draw_node(axes: "Axes", placed: PlacedNode) -> None:
    from matplotlib.patches import FancyBboxPatch

    fill, ink = action_colour(placed.node.action)
    pad = 8.0
    corner = (placed.x - placed.width / 2 + pad, placed.y - placed.height / 2 + pad)
    size = (placed.width - 2 * pad, placed.height - 2 * pad)
    style = f"round,pad={pad}"
    axes.add_patch(FancyBboxPatch(corner, *size, boxstyle=style, facecolor=fill, lw=0, zorder=3))
    first, second = placed.node.label
    options: dict[str, Any] = {"ha": "center", "va": "center", "color": ink, "zorder": 4}
    axes.text(placed.x, placed.y - 8, first, fontsize=8, **options)
    axes.text(placed.x, placed.y + 8, second, fontsize=9.5, fontweight="bold", **options)


def _draw_edge(axes: "Axes", placed: PlacedEdge) -> None:
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path as Curve

    codes = [Curve.MOVETO, *[Curve.CURVE4] * (len(placed.points) - 1)]
    width = stroke_width(placed.edge)
    axes.add_patch(
        FancyArrowPatch(
            path=Curve(list(placed.points), codes),
            arrowstyle="-|>",
            mutation_scale=7 + 2 * width,
            lw=width * 0.72,
            color=_GREY,
            zorder=2,
        )
    )
    if placed.edge.source is None:
        axes.plot(*placed.points[0], "o", color=_INK, markersize=5, zorder=2)
    axes.text(
        *placed.label,
        placed.edge.label,
        fontsize=8.5,
        color=_INK,
        ha="center",
        va="center",
        zorder=5,
        bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "lw": 0, "alpha": 0.85},
    )
