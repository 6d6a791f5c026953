"""A layered layout, after Sugiyama: the flow goes down, what returns goes up beside it.

States get a rank, so that most transitions lead from one rank to a later one; transitions pass
through an invisible item in every layer between, of which one carries the label; items of a layer
are ordered so that few lines cross, and moved towards their neighbours.
"""

import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np

from asmpg.agents.machine._graph import Edge, Graph
from asmpg.agents.machine.pictures._geometry import (
    NODE_HEIGHT,
    Placed,
    PlacedEdge,
    PlacedNode,
    Point,
    label_width,
    node_width,
)

_SWEEPS, _ROUNDS = 16, 60
#: How much a start that comes late weighs against what flows backwards.
_EARLY = 0.02
_GAP, _LABEL_LAYER, _MARGIN = 16.0, 46.0, 14.0
#: How far a loop, and the arrow of the start, reach beyond a state.
_LOOP, _ENTRY = 30.0, 26.0


@dataclasses.dataclass
class _Item:
    """A state, or what a transition passes through in one layer."""

    layer: int
    left: float
    right: float
    up: list[int] = dataclasses.field(default_factory=list)
    down: list[int] = dataclasses.field(default_factory=list)
    x: float = 0.0


def layered(graph: Graph) -> Placed:
    """Place the states and transitions of `graph`."""
    # States are known by their position among those that are shown.
    position = {node.state: number for number, node in enumerate(graph.nodes)}
    originals = {}
    for edge in graph.edges:
        source = None if edge.source is None else position[edge.source]
        moved = dataclasses.replace(edge, source=source, target=position[edge.target])
        originals[moved] = edge
    sheet = _layered(dataclasses.replace(graph, edges=tuple(originals)))
    edges = tuple(dataclasses.replace(e, edge=originals[e.edge]) for e in sheet.edges)
    return dataclasses.replace(sheet, edges=edges)


def _layered(graph: Graph) -> Placed:
    order = _flow_order(graph)
    rank = _ranks(graph, order)
    loops = {edge.source: edge for edge in graph.edges if edge.source == edge.target}
    starts = {edge.target: edge for edge in graph.edges if edge.source is None}
    items = []
    for state, node in enumerate(graph.nodes):
        half = node_width(node) / 2
        left = half + (_ENTRY + label_width(starts[state]) if state in starts else 0)
        right = half + (_LOOP + label_width(loops[state]) if state in loops else 0)
        items.append(_Item(2 * rank[state], left, right))
    chains = {}
    for edge in graph.edges:
        if edge.source is not None and edge.source != edge.target:
            chains[edge] = _chain(items, edge, rank)
    layers = _ordered(items, order)
    _align(items, layers)
    shift = _MARGIN - min(item.x - item.left for item in items)
    for item in items:
        item.x += shift
    height = _y(max(item.layer for item in items)) + NODE_HEIGHT / 2 + _MARGIN
    nodes = tuple(
        PlacedNode(node, items[state].x, _y(items[state].layer), node_width(node))
        for state, node in enumerate(graph.nodes)
    )
    edges = []
    ports = _ports(items, chains, nodes)
    for edge in graph.edges:
        if edge.source is None:
            edges.append(_entry(edge, nodes[edge.target]))
        elif edge.source == edge.target:
            edges.append(_loop(edge, nodes[edge.target]))
        else:
            edges.append(_routed(edge, items, chains[edge], ports[edge]))
    width = max(item.x + item.right for item in items) + _MARGIN
    return Placed(width, height, nodes, tuple(edges))


def _y(layer: int) -> float:
    """Every other layer holds states."""
    return _MARGIN + NODE_HEIGHT / 2 + layer * (NODE_HEIGHT + _LABEL_LAYER) / 2


def _flow_order(graph: Graph) -> list[int]:
    """States such that little flows backwards: first those that more leaves than enters."""
    flow, first = np.zeros((len(graph.nodes), len(graph.nodes))), np.zeros(len(graph.nodes))
    for edge in graph.edges:
        if edge.source is None:
            first[edge.target] = edge.share
        elif edge.source != edge.target:
            flow[edge.source, edge.target] = edge.share
    left, front, back = list(range(len(flow))), [], []
    while left:
        leaving, entering = flow[left][:, left].sum(axis=1), flow[left][:, left].sum(axis=0)
        if (leaving == 0).any() and not (entering == 0).any():
            back.insert(0, left.pop(int((leaving == 0).argmax())))
        else:
            front.append(left.pop(int((leaving - entering).argmax())))
    return _improved([*front, *back], flow, first / max(first.sum(), 1e-12))


def _improved(order: list[int], flow: np.ndarray, first: np.ndarray) -> list[int]:
    """Move single states as long as less flows backwards; where episodes start comes early."""

    def backwards(order: list[int]) -> float:
        late = first[order] @ np.arange(len(order)) / len(order)
        return float(np.tril(flow[np.ix_(order, order)]).sum() + _EARLY * late)

    least, moved = backwards(order), True
    while moved:
        moved = False
        for state in list(order):
            rest = [each for each in order if each != state]
            tried = [[*rest[:at], state, *rest[at:]] for at in range(len(order))]
            costs = [backwards(each) for each in tried]
            if min(costs) < least - 1e-12:
                order, least, moved = tried[int(np.argmin(costs))], min(costs), True
    return order


def _ranks(graph: Graph, order: Sequence[int]) -> list[int]:
    place = {state: position for position, state in enumerate(order)}
    rank = [0] * len(order)
    pairs = {
        tuple(sorted((edge.source, edge.target), key=lambda state: place[state]))
        for edge in graph.edges
        if edge.source is not None and edge.source != edge.target
    }
    for state in order:
        rank[state] = max([rank[first] + 1 for first, last in pairs if last == state], default=0)
    return rank


def _chain(items: list[_Item], edge: Edge, rank: Sequence[int]) -> list[int]:
    """New items from the upper state of `edge` to the lower one, both included."""
    assert edge.source is not None
    top, bottom = sorted((edge.source, edge.target), key=lambda state: rank[state])
    first, last = 2 * rank[top], 2 * rank[bottom]
    middle = (first + last) // 2
    middle -= (middle + 1) % 2
    chain = [top]
    for layer in range(first + 1, last):
        half = label_width(edge) / 2 if layer == middle else 5.0
        items.append(_Item(layer, half, half))
        chain.append(len(items) - 1)
    chain.append(bottom)
    for upper, lower in itertools.pairwise(chain):
        items[upper].down.append(lower)
        items[lower].up.append(upper)
    return chain


def _ordered(items: list[_Item], order: Sequence[int]) -> list[list[int]]:
    """The items of each layer from left to right, with few crossings."""
    layers = [[] for _ in range(max(item.layer for item in items) + 1)]
    for index in [*order, *range(len(order), len(items))]:
        layers[items[index].layer].append(index)
    best, fewest = [list(layer) for layer in layers], _crossings(items, layers)
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        for layer in layers if down else layers[::-1]:
            place = _places(layers)
            fixed = {i: items[i].up if down else items[i].down for i in layer}
            means = {i: np.mean([place[j] for j in near]) for i, near in fixed.items() if near}
            layer.sort(key=lambda i, m=means, p=place: m.get(i, p[i]))
        crossings = _crossings(items, layers)
        if crossings < fewest:
            best, fewest = [list(layer) for layer in layers], crossings
    return best


def _places(layers: Sequence[Sequence[int]]) -> dict[int, float]:
    return {
        index: (position + 0.5) / len(layer)
        for layer in layers
        for position, index in enumerate(layer)
    }


def _crossings(items: list[_Item], layers: Sequence[Sequence[int]]) -> int:
    place, crossings = _places(layers), 0
    for layer in layers:
        lines = [(place[i], place[j]) for i in layer for j in items[i].down]
        for number, (a, b) in enumerate(lines):
            crossings += sum((a - c) * (b - d) < 0 for c, d in lines[number + 1 :])
    return crossings


def _align(items: list[_Item], layers: Sequence[Sequence[int]]) -> None:
    """Move items towards their neighbours in other layers, without overlaps."""
    for layer in layers:
        _separate(items, layer, [0.0] * len(layer))
    for round_ in range(_ROUNDS):
        for layer in layers if round_ % 2 else layers[::-1]:
            wanted = []
            for index in layer:
                near = [items[j].x for j in (*items[index].up, *items[index].down)]
                wanted.append(float(np.mean(near)) if near else items[index].x)
            _separate(items, layer, wanted)


def _separate(items: list[_Item], layer: Sequence[int], wanted: Sequence[float]) -> None:
    """As near to the wanted places as the sizes allow: the mean of pushing right and left."""
    right, left = list(wanted), list(wanted)
    for i in range(1, len(layer)):
        room = items[layer[i - 1]].right + _GAP + items[layer[i]].left
        right[i] = max(right[i], right[i - 1] + room)
    for i in range(len(layer) - 2, -1, -1):
        room = items[layer[i]].right + _GAP + items[layer[i + 1]].left
        left[i] = min(left[i], left[i + 1] - room)
    for index, one, other in zip(layer, right, left, strict=True):
        items[index].x = (one + other) / 2


def _ports(
    items: list[_Item], chains: dict[Edge, list[int]], nodes: Sequence[PlacedNode]
) -> dict[Edge, tuple[float, float]]:
    """Where each transition leaves its upper state and meets its lower one, side by side."""
    ends: dict[tuple[int, bool], list[tuple[float, Edge]]] = {}
    for edge, chain in chains.items():
        ends.setdefault((chain[0], True), []).append((items[chain[1]].x, edge))
        ends.setdefault((chain[-1], False), []).append((items[chain[-2]].x, edge))
    found: dict[Edge, dict[bool, float]] = {edge: {} for edge in chains}
    for (state, below), each in ends.items():
        node, each = nodes[state], sorted(each, key=lambda pair: pair[0])
        step = min(24.0, (node.width - 24) / max(1, len(each) - 1))
        for position, (_, edge) in enumerate(each):
            found[edge][below] = node.x + step * (position - (len(each) - 1) / 2)
    return {edge: (ends[True], ends[False]) for edge, ends in found.items()}


def _routed(
    edge: Edge, items: list[_Item], chain: Sequence[int], ports: tuple[float, float]
) -> PlacedEdge:
    places = [(items[index].x, _y(items[index].layer)) for index in chain]
    places[0] = (ports[0], places[0][1] + NODE_HEIGHT / 2)
    places[-1] = (ports[1], places[-1][1] - NODE_HEIGHT / 2)
    widths = [items[index].right for index in chain[1:-1]]
    label = places[1 + int(np.argmax(widths))]
    if edge.target == chain[0]:
        places.reverse()
    return PlacedEdge(edge, _smooth(places), label)


def _smooth(places: Sequence[Point]) -> tuple[Point, ...]:
    """A spline through all places, upright at both ends, elsewhere along its neighbours."""
    at = np.array(places)
    slopes = np.zeros_like(at)
    slopes[1:-1] = (at[2:] - at[:-2]) / 2
    slopes[0, 1], slopes[-1, 1] = at[1, 1] - at[0, 1], at[-1, 1] - at[-2, 1]
    points = [at[0]]
    for i in range(len(at) - 1):
        points += [at[i] + slopes[i] / 3, at[i + 1] - slopes[i + 1] / 3, at[i + 1]]
    return tuple((float(x), float(y)) for x, y in points)


def _loop(edge: Edge, node: PlacedNode) -> PlacedEdge:
    x, y, out = node.x + node.width / 2, node.y, _LOOP
    points = ((x, y - 10), (x + out, y - 22), (x + out, y + 22), (x, y + 10))
    return PlacedEdge(edge, points, (x + out + label_width(edge) / 2 - 6, y))


def _entry(edge: Edge, node: PlacedNode) -> PlacedEdge:
    x, y = node.x - node.width / 2, node.y
    points = ((x - _ENTRY, y), (x - _ENTRY / 2, y), (x - _ENTRY / 2, y), (x, y))
    return PlacedEdge(edge, points, (x - _ENTRY - label_width(edge) / 2 - 3, y))
