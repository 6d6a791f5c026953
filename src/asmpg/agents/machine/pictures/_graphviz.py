"""The layout of Graphviz, where its `dot` is installed."""

import shlex
import shutil
import subprocess

from asmpg.agents.machine._graph import Graph
from asmpg.agents.machine.exports import dot_of
from asmpg.agents.machine.pictures._geometry import Placed, PlacedEdge, PlacedNode, Point

_DOTS_PER_INCH = 72.0
_MARGIN = 10.0
_SECONDS = 20


def graphviz(graph: Graph) -> Placed | None:
    """What `dot` makes of `graph`; `None` where it is not in the path, or fails."""
    dot = shutil.which("dot")
    if dot is None:
        return None
    try:
        done = subprocess.run(
            [dot, "-Tplain"],
            input=dot_of(graph, "machine"),
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=True,
        )
        return read_plain(done.stdout, graph)
    except (OSError, subprocess.SubprocessError, ValueError, LookupError):
        return None


def read_plain(text: str, graph: Graph) -> Placed:
    """Graphviz's plain format: inches, from the lower left corner."""
    # A backslash at the end of a line continues it.
    lines = [shlex.split(line) for line in text.replace("\\\n", "").splitlines()]
    height = next(float(words[3]) for words in lines if words[0] == "graph")
    width = next(float(words[2]) for words in lines if words[0] == "graph")

    def place(x: str, y: str) -> Point:
        return (
            float(x) * _DOTS_PER_INCH + _MARGIN,
            (height - float(y)) * _DOTS_PER_INCH + _MARGIN,
        )

    known_nodes = {node.state: node for node in graph.nodes}
    nodes = {}
    for words in lines:
        if words[0] == "node" and words[1] != "start":
            state = int(words[1].removeprefix("s"))
            sizes = [float(size) * _DOTS_PER_INCH for size in words[4:6]]
            nodes[state] = PlacedNode(known_nodes[state], *place(*words[2:4]), *sizes)
    known = {(edge.source, edge.target): edge for edge in graph.edges}
    edges = []
    for words in lines:
        if words[0] == "edge":
            count = int(words[3])
            numbers = words[4 : 4 + 2 * count]
            points = tuple(map(place, numbers[::2], numbers[1::2]))
            source = None if words[1] == "start" else int(words[1].removeprefix("s"))
            edge = known[source, int(words[2].removeprefix("s"))]
            label = place(*words[5 + 2 * count : 7 + 2 * count])
            edges.append(PlacedEdge(edge, points, label))
    return Placed(
        width * _DOTS_PER_INCH + 2 * _MARGIN,
        height * _DOTS_PER_INCH + 2 * _MARGIN,
        tuple(nodes[state] for state in sorted(nodes)),
        tuple(edges),
    )
