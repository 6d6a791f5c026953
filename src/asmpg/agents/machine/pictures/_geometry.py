"""Where the parts of a machine are drawn, whoever placed them."""

import dataclasses

from asmpg.agents.machine._graph import Edge, Node

Point = tuple[float, float]
#: Sizes in pixels: of a state, of letters in states and on edges.
NODE_HEIGHT, LETTER, SMALL_LETTER = 44.0, 8.2, 6.4


@dataclasses.dataclass(frozen=True)
class PlacedNode:
    """A state, by its centre and size."""

    node: Node
    x: float
    y: float
    width: float
    height: float = NODE_HEIGHT


@dataclasses.dataclass(frozen=True)
class PlacedEdge:
    """A transition along a cubic Bézier spline of `3 n + 1` points, and where its label is."""

    edge: Edge
    points: tuple[Point, ...]
    label: Point


@dataclasses.dataclass(frozen=True)
class Placed:
    """A machine on a sheet of the given size; `y` grows downwards."""

    width: float
    height: float
    nodes: tuple[PlacedNode, ...]
    edges: tuple[PlacedEdge, ...]


def node_width(node: Node) -> float:
    """Wide enough for both lines."""
    return max(70.0, LETTER * max(map(len, node.label)) + 22)


def label_width(edge: Edge) -> float:
    """Wide enough for what is written on the edge."""
    return SMALL_LETTER * len(edge.label) + 10


def stroke_width(edge: Edge) -> float:
    """Wider for what happens more often."""
    return 1.0 + 6.0 * edge.share**0.5
