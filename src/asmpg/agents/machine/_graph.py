"""A machine as a graph: what is drawn, exported as DOT and shown on the page."""

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from asmpg._support.words import percent
from asmpg.agents.machine import _text
from asmpg.agents.machine._regions import region

if TYPE_CHECKING:
    from asmpg.agents.machine._machine import Machine

#: So many observations are written on an edge.
_MOST_LABELS = 4
_LONGEST = 26
#: And so many parts of real observations.
_MOST_PARTS = 2
#: Beyond this probability an action is said to be played always.
_SURE = 0.95


@dataclasses.dataclass(frozen=True)
class Node:
    """An agent state: its share of all steps if that is known, and the action it plays most."""

    state: int
    share: float | None
    action: int
    plays: str

    @property
    def label(self) -> tuple[str, str]:
        """Two lines."""
        share = "" if self.share is None else f" · {percent(self.share)}"
        return f"s{self.state}{share}", self.plays


@dataclasses.dataclass(frozen=True)
class Edge:
    """From one state to another, on some observations; `source` is `None` at the start."""

    source: int | None
    target: int
    share: float
    observations: tuple[str, ...]

    @property
    def label(self) -> str:
        """The observations, most frequent first, as far as there is room."""
        names = _without_repetition(self.observations)
        text, shown = _shortened(names[0]), 1
        for name in names[1:_MOST_LABELS]:
            if len(text) + len(name) + 2 > _LONGEST:
                break
            text, shown = f"{text}, {name}", shown + 1
        return text + (f" +{len(names) - shown}" if shown < len(names) else "")


@dataclasses.dataclass(frozen=True)
class Graph:
    """States and transitions; shares are of all steps of an episode.

    A state that is not used is not among the nodes.
    """

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    #: How many edges, and states, were too rare to be shown.
    hidden: int
    unused: int = 0


def graph_of(machine: "Machine", threshold: float = 0.002) -> Graph:
    """The graph, without edges that take up less than the share `threshold` of all steps."""
    entered = _text.arrivals(machine)
    total = entered.sum()
    states, actions = machine.num_states, machine.num_actions
    chosen, shares = _text.action_shares(machine), machine.shares
    known = machine.visits is not None
    nodes = tuple(
        Node(
            state,
            float(shares[state]) if known else None,
            int(row.argmax()),
            _plays(row, machine.action_names),
        )
        for state, row in enumerate(chosen)
        if shares[state] >= threshold
    )
    shown = {node.state for node in nodes}
    flows = entered[1:].reshape(states, actions, -1, states).sum(axis=1)
    sources = [(None, entered[0]), *enumerate(flows)]
    edges, hidden = [], 0
    for source, flow in sources:
        for target in range(states):
            share = float(flow[:, target].sum() / total)
            ends = {state for state in (source, target) if state is not None}
            if share > 0 and (share < threshold or not ends <= shown):
                hidden += 1
            elif share > 0:
                edges.append(Edge(source, target, share, _names(machine, flow[:, target])))
    return Graph(nodes, tuple(edges), hidden, states - len(nodes))


def _plays(probabilities: np.ndarray, names: tuple[str, ...]) -> str:
    """The most probable action; with its probability, where others are played as well."""
    most = int(probabilities.argmax())
    if probabilities[most] > _SURE:
        return _shortened(names[most])
    return f"{_shortened(names[most])} {percent(float(probabilities[most]))}"


def _names(machine: "Machine", flow: np.ndarray) -> tuple[str, ...]:
    """The observations, most frequent first; of real ones, where they lie on average."""
    if machine.cases is not None:
        return (region(machine, flow, most=_MOST_PARTS),)
    order = np.argsort(-flow, kind="stable")
    least = min(0.02 * flow.sum(), flow.max())
    often = [symbol for symbol in order if flow[symbol] >= least]
    return tuple(machine.observation_names[symbol] for symbol in often)


def _without_repetition(names: tuple[str, ...]) -> tuple[str, ...]:
    """`walls N, S` for `walls N, walls S`: a first word that all have is said once."""
    words = [name.split(" ", 1) for name in names]
    alike = all(len(each) == 2 and each[0] == words[0][0] for each in words)
    if not alike or any("," in name for name in names):
        return names
    return (names[0], *(rest for _, rest in words[1:]))


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
