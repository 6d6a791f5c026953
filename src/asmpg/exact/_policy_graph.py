"""Deterministic controllers: evaluated, relinked, and cut down to a few states.

A graph plays `action[n]` in state `n` and goes to `successor[n, o]` on seeing `o`. Of a large one
those states are dropped whose arrivals lose least by going elsewhere (`shrunk`).
"""

import dataclasses
import time
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from asmpg.exact._point_based import ValueBounds
from asmpg.exact._sparse_process import SparseProcess

if TYPE_CHECKING:
    import scipy.sparse

#: The relative residual of values and visits; what is chosen by them needs no more digits.
_TOLERANCE = 1e-5
#: The share of states dropped in one round of cutting down, and of the value that may cost.
_DROPPED, _BEARABLE = 0.1, 0.01
#: In graphs of at most so many states, so many states are tried before one is dropped.
_FEW, _TRIED = 24, 8
#: As many plans, and pairs of a plan and a latent state, may make a graph.
_MOST_PLANS, _MOST_PAIRS = 600, 30_000
#: States with a smaller share of all visits are dropped at once, the most that is bearable.
_RARELY = (1e-3, 1e-4, 1e-6)


@dataclasses.dataclass(frozen=True)
class PolicyGraph:
    """`first[i]` is the state after first observation `i` of the process, in its order."""

    action: Int[np.ndarray, " N"]
    successor: Int[np.ndarray, "N O"]
    first: Int[np.ndarray, " n"]

    @property
    def num_states(self) -> int:
        return len(self.action)


@dataclasses.dataclass(frozen=True)
class EvaluatedGraph:
    """A graph with `values[n, x]`, its discounted visits `visits[n, x]`, and its value."""

    graph: PolicyGraph
    values: Float[np.ndarray, "N X"]
    visits: Float[np.ndarray, "N X"]
    value: float


def graph_of(process: SparseProcess, bounds: ValueBounds) -> EvaluatedGraph:
    """The lower bound as a graph, of its vectors or of its plans, whichever is worth more.

    Vectors that are best at some belief make a small graph; plans, where there are not too many of
    them, make one that is worth what the bound says, whatever beliefs the search has not seen.
    """
    graphs = [_graph_of_vectors(process, bounds), _graph_of_plans(process, bounds)]
    return max((graph for graph in graphs if graph is not None), key=_value)


def _graph_of_plans(process: SparseProcess, bounds: ValueBounds) -> EvaluatedGraph | None:
    """The plans that the best ones at the start lead to; `None` where they are too many."""
    best = (process.starts @ bounds.vectors.T).argmax(axis=1)
    first = [bounds.numbers[vector] for vector in best]
    number = {plan: place for place, plan in enumerate(dict.fromkeys(first))}
    found = list(number)
    for plan in found:
        for following in bounds.plans[plan].successor.tolist():
            if following not in number:
                number[following] = len(found)
                found.append(following)
        if len(found) > _MOST_PLANS or len(found) * process.num_states > _MOST_PAIRS:
            return None
    successor = [[number[each] for each in bounds.plans[plan].successor.tolist()] for plan in found]
    return improved(
        process,
        evaluated(
            process,
            PolicyGraph(
                np.array([bounds.plans[plan].action for plan in found]),
                np.array(successor),
                np.array([number[plan] for plan in first]),
            ),
        ),
        rounds=4,
    )


def _graph_of_vectors(process: SparseProcess, bounds: ValueBounds) -> EvaluatedGraph:
    """Each vector goes on with the best one where it leads.

    Where a vector leads is judged by the mean of the beliefs at which it is the best.
    """
    best = (bounds.beliefs @ bounds.vectors.T).argmax(axis=1)
    used, node = np.unique(best, return_inverse=True)
    vectors = bounds.vectors[used]
    means = np.zeros((len(used), process.num_states))
    np.add.at(means, node, bounds.beliefs)
    action = np.array([bounds.plans[bounds.numbers[number]].action for number in used])
    found = evaluated(process, linked(process, action, means, vectors))
    for _ in range(4):
        again = evaluated(
            process, linked(process, action, found.visits + 1e-6 * means, found.values), found
        )
        if again.value <= found.value:
            break
        found = again
    return found


def linked(
    process: SparseProcess,
    action: Int[np.ndarray, " N"],
    weights: Float[np.ndarray, "N X"],
    values: Float[np.ndarray, "N X"],
) -> PolicyGraph:
    """The graph that goes to the most valuable state, as seen from `weights` of each state."""
    arrivals = _arrivals(process, action, weights)
    successor = np.stack([(part @ values.T).argmax(axis=1) for part in arrivals])
    return PolicyGraph(action, successor, (process.starts @ values.T).argmax(axis=1))


def evaluated(
    process: SparseProcess, graph: PolicyGraph, near: EvaluatedGraph | None = None
) -> EvaluatedGraph:
    """Solve for the values and the visits of `graph`, from those of one `near` it if given."""
    states, size = graph.num_states, process.num_states
    chain = _chain(process, graph)
    paid = process.reward[:, graph.action].T
    entered = np.zeros((states, size))
    np.add.at(entered, graph.first, process.starts)
    values = _solved(chain, paid, None if near is None else near.values)
    visits = _solved(chain.T.tocsr(), entered, None if near is None else near.visits)
    return EvaluatedGraph(graph, values, np.maximum(visits, 0.0), float((entered * values).sum()))


def shrunk(
    process: SparseProcess, found: EvaluatedGraph, num_states: int, until: float = np.inf
) -> EvaluatedGraph:
    """At most `num_states` states: those that lose least are dropped, a tenth at a time.

    Where that costs more than a little, fewer are dropped at a time, and at last the best one of a
    few that are tried. When time is up, the rest is dropped at once.
    """
    found = _without_rarely_visited(process, found, num_states)
    while (states := found.graph.num_states) > num_states:
        order = _in_order(process, found)
        if time.monotonic() > until:
            often = np.argsort(-found.visits.sum(axis=1))
            choices = [order[::-1][:num_states], often[:num_states]]
            return max((_kept(process, found, each) for each in choices), key=_value)
        count = 1 if states <= _FEW else max(1, int(_DROPPED * states))
        count, smaller = min(count, states - num_states), found
        while count > 1 and time.monotonic() <= until:
            smaller = _kept(process, found, order[count:])
            if _bearable(smaller, found):
                break
            count = max(1, count // 3)
        if count == 1:
            smaller = _without_one(process, found, order[:_TRIED], until)
        found = smaller
    return found


def _without_one(
    process: SparseProcess, found: EvaluatedGraph, states: Int[np.ndarray, " T"], until: float
) -> EvaluatedGraph:
    """Without one of `states`: the best of those that there is time to try."""
    best: EvaluatedGraph | None = None
    for state in states:
        others = np.delete(np.arange(found.graph.num_states), state)
        smaller = _kept(process, found, others)
        best = smaller if best is None else max(best, smaller, key=_value)
        if (_bearable(best, found) and len(others) > _FEW) or time.monotonic() > until:
            break
    assert best is not None
    return best


def _kept(
    process: SparseProcess, found: EvaluatedGraph, states: Int[np.ndarray, " K"]
) -> EvaluatedGraph:
    return improved(process, _without(process, found, np.sort(states)), rounds=3)


def _value(found: EvaluatedGraph) -> float:
    return found.value


def _bearable(smaller: EvaluatedGraph, found: EvaluatedGraph) -> bool:
    return smaller.value >= found.value - _BEARABLE * abs(found.value)


def _without_rarely_visited(
    process: SparseProcess, found: EvaluatedGraph, num_states: int
) -> EvaluatedGraph:
    """Without as many of the states that are visited least as make no difference to speak of."""
    share = found.visits.sum(axis=1) / found.visits.sum()
    for limit in _RARELY:
        often = np.flatnonzero(share > limit)
        if num_states <= len(often) < found.graph.num_states:
            smaller = _kept(process, found, often)
            if _bearable(smaller, found):
                return smaller
    return found


def _in_order(process: SparseProcess, found: EvaluatedGraph) -> Int[np.ndarray, " N"]:
    """States to drop, the first first; those that arrivals would turn to instead come later."""
    loss, instead = _losses(process, found)
    order, later, needed = [], [], np.zeros(len(loss), bool)
    for state in np.argsort(loss).tolist():
        if needed[state]:
            later.append(state)
        else:
            order.append(state)
            needed[instead[state]] = True
    return np.array(order + later)


def improved(process: SparseProcess, found: EvaluatedGraph, rounds: int = 20) -> EvaluatedGraph:
    """Go where it is best to go, by the values and visits reached, for as long as that helps."""
    for _ in range(rounds):
        weights = found.visits + 1e-12 * found.visits.sum()
        graph = linked(process, found.graph.action, weights, found.values)
        again = evaluated(process, graph, found)
        if again.value <= found.value + 1e-9 * abs(found.value):
            break
        found = again
    return found


def _without(
    process: SparseProcess, found: EvaluatedGraph, kept: Int[np.ndarray, " K"]
) -> EvaluatedGraph:
    """Only the states in `kept`; what went to another goes to the best of them instead."""
    action, values, visits = found.graph.action[kept], found.values[kept], found.visits[kept]
    number = np.full(found.graph.num_states, -1)
    number[kept] = np.arange(len(kept))
    other = linked(process, action, visits, values)
    successor, first = number[found.graph.successor[kept]], number[found.graph.first]
    graph = PolicyGraph(
        action,
        np.where(successor < 0, other.successor, successor),
        np.where(first < 0, other.first, first),
    )
    return evaluated(process, graph, EvaluatedGraph(graph, values, visits, found.value))


def _losses(
    process: SparseProcess, found: EvaluatedGraph
) -> tuple[Float[np.ndarray, " N"], list[Int[np.ndarray, " _"]]]:
    """What all arrivals in a state lose when it is gone, and the states they go to instead."""
    arrivals = _arrivals(process, found.graph.action, found.visits)
    weights = np.concatenate([arrivals.reshape(-1, process.num_states), process.starts])
    went = np.concatenate([found.graph.successor.ravel(), found.graph.first])
    arriving = weights.any(axis=1)
    weights, went = weights[arriving], went[arriving]
    worth = weights @ found.values.T
    rows = np.arange(len(worth))
    here = worth[rows, went]
    worth[rows, went] = -np.inf
    other = worth.argmax(axis=1)
    states = found.graph.num_states
    loss = np.bincount(went, here - worth[rows, other], minlength=states)
    return loss, [np.unique(other[went == state]) for state in range(states)]


def _arrivals(
    process: SparseProcess, action: Int[np.ndarray, " N"], weights: Float[np.ndarray, "N X"]
) -> Float[np.ndarray, "N O X"]:
    moved = np.zeros_like(weights)
    for number, matrix in enumerate(process.transition):
        own = action == number
        moved[own] = (matrix.T @ weights[own].T).T
    return moved[:, None, :] * process.observation[action].transpose(0, 2, 1)


def _chain(process: SparseProcess, graph: PolicyGraph) -> "scipy.sparse.csr_array":
    """`gamma` times the transition matrix of the pairs (state of the graph, latent state)."""
    import scipy.sparse

    size, rows, columns, weights = process.num_states, [], [], []
    for action, (x, y, symbol, weight) in enumerate(process.joint):
        own = np.flatnonzero(graph.action == action)
        rows.append((own[:, None] * size + x).ravel())
        columns.append((graph.successor[own][:, symbol] * size + y).ravel())
        weights.append(np.broadcast_to(process.discount * weight, (len(own), len(x))).ravel())
    pairs = graph.num_states * size
    entries = (np.concatenate(weights), (np.concatenate(rows), np.concatenate(columns)))
    return scipy.sparse.csr_array(entries, shape=(pairs, pairs))


def _solved(
    chain: "scipy.sparse.csr_array",
    right: Float[np.ndarray, "N X"],
    near: Float[np.ndarray, "N X"] | None,
) -> Float[np.ndarray, "N X"]:
    """The solution `v` of `v = right + chain v`."""
    import scipy.sparse.linalg

    begin = None if near is None else near.ravel()
    flat, failed = scipy.sparse.linalg.bicgstab(
        scipy.sparse.eye_array(right.size, format="csr") - chain,
        right.ravel(),
        x0=begin,
        rtol=_TOLERANCE,
        maxiter=500,
    )
    if failed:
        # Slow, but it cannot fail.
        flat = right.ravel().copy()
        for _ in range(5000):
            again = right.ravel() + chain @ flat
            change = np.abs(again - flat).max()
            flat = again
            if change <= _TOLERANCE * np.abs(flat).max():
                break
    return flat.reshape(right.shape)
