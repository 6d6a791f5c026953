"""A machine as a graph: what is drawn, exported as DOT and shown on the page."""

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from asmpg._support.words import percent
from asmpg.agents.machine import _text

if TYPE_CHECKING:
    from asmpg.agents.machine._machine import Machine

#: So many observations are written on an edge.
_MOST_LABELS = 4
_LONGEST = 26
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
        """The observations, most frequent first."""
        text = ", ".join(self.observations[:_MOST_LABELS])
        more = len(self.observations) - _MOST_LABELS
        return _shortened(text) + (f" +{more}" if more > 0 else "")


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
    order = np.argsort(-flow, kind="stable")
    often = [symbol for symbol in order if flow[symbol] > 0.02 * flow.sum()]
    return tuple(machine.observation_names[symbol] for symbol in often)


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
