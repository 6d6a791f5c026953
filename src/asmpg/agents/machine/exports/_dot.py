"""Graphviz's language."""

from pathlib import Path
from typing import TYPE_CHECKING

from asmpg.agents.machine._colours import action_colour
from asmpg.agents.machine._graph import Graph, graph_of

if TYPE_CHECKING:
    from asmpg.agents.machine._machine import Machine


def dot_text(machine: "Machine", path: Path) -> str:
    """States coloured by what they play, edges as wide as they are frequent."""
    del path
    return dot_of(graph_of(machine), machine.name)


def dot_of(graph: Graph, name: str) -> str:
    """The same for a graph that is at hand."""
    lines = [
        f"digraph {_quoted(name)} {{",
        '  node [shape=box, style="rounded,filled", fontname="Helvetica", penwidth=0];',
        '  edge [fontname="Helvetica", fontsize=11, color="#6b7280"];',
        "  start [shape=point, width=0.12];",
    ]
    for node in graph.nodes:
        fill, ink = action_colour(node.action)
        label = _quoted("\n".join(node.label))
        lines.append(f'  s{node.state} [label={label}, fillcolor="{fill}", fontcolor="{ink}"];')
    for edge in graph.edges:
        source = "start" if edge.source is None else f"s{edge.source}"
        width = f"{1 + 6 * edge.share**0.5:.2f}"
        lines.append(
            f"  {source} -> s{edge.target} [label={_quoted(edge.label)}, penwidth={width}];"
        )
    return "\n".join([*lines, "}", ""])


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
