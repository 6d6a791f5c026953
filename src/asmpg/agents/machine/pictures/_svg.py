"""A machine as SVG whose parts a script can find, coloured by the page around it."""

from html import escape
from typing import TYPE_CHECKING

from asmpg.agents.machine._colours import action_colour
from asmpg.agents.machine._graph import graph_of
from asmpg.agents.machine.pictures._draw import placed
from asmpg.agents.machine.pictures._geometry import Placed, PlacedEdge, PlacedNode, stroke_width

if TYPE_CHECKING:
    from asmpg.agents.machine._machine import Machine


def drawn(machine: "Machine", *, title: str, identifier: str, threshold: float = 0.002) -> str:
    """The picture of a machine."""
    return svg_text(placed(graph_of(machine, threshold)), title=title, identifier=identifier)


def svg_text(sheet: Placed, *, title: str, identifier: str) -> str:
    """States are groups with `data-state`, transitions have `data-from` and `data-to`.

    Lines and letters have the colour of the text around the picture. `identifier` keeps apart the
    arrow heads of several pictures on a page.
    """
    parts = [
        f'<svg class="machine" viewBox="0 0 {sheet.width:.0f} {sheet.height:.0f}" role="img" '
        f'aria-label="{escape(title)}" style="max-width:{1.5 * sheet.width:.0f}px">',
        f'<defs><marker id="head-{identifier}" viewBox="0 0 10 10" refX="9" refY="5" '
        'markerWidth="10" markerHeight="10" markerUnits="userSpaceOnUse" orient="auto">'
        '<path class="head" d="M0 0 10 5 0 10z"/></marker></defs>',
    ]
    parts += [_edge(edge, identifier) for edge in sheet.edges]
    parts += [_node(node) for node in sheet.nodes]
    return "".join([*parts, "</svg>"])


def _edge(placed: PlacedEdge, identifier: str) -> str:
    edge, (first, *others) = placed.edge, placed.points
    path = f"M{first[0]:.1f} {first[1]:.1f}C" + " ".join(f"{x:.1f} {y:.1f}" for x, y in others)
    source = "start" if edge.source is None else edge.source
    dot = ""
    if edge.source is None:
        dot = f'<circle cx="{first[0]:.1f}" cy="{first[1]:.1f}" r="4"/>'
    x, y = placed.label
    return (
        f'<g class="edge" data-from="{source}" data-to="{edge.target}">'
        f'<path d="{path}" stroke-width="{stroke_width(edge):.1f}" '
        f'marker-end="url(#head-{identifier})"/>{dot}'
        f'<text x="{x:.1f}" y="{y + 4:.1f}">{escape(edge.label)}</text></g>'
    )


def _node(placed: PlacedNode) -> str:
    fill, ink = action_colour(placed.node.action)
    x, y = placed.x - placed.width / 2, placed.y - placed.height / 2
    first, second = placed.node.label
    return (
        f'<g class="state" data-state="{placed.node.state}" fill="{ink}">'
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{placed.width:.1f}" height="{placed.height:.1f}" '
        f'rx="10" fill="{fill}"/>'
        f'<text x="{placed.x:.1f}" y="{placed.y - 5:.1f}">{escape(first)}</text>'
        f'<text class="plays" x="{placed.x:.1f}" y="{placed.y + 13:.1f}">{escape(second)}</text>'
        "</g>"
    )
