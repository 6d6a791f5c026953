"""The best controller of a given size over an infinite horizon.

Two ways to begin, then one way up. A graph made of the vectors of a point-based solver, cut down
to size, begins where the bounds have already found the way (doing nothing is a trap in many models,
out of which no gradient leads); random logits begin anywhere. From both, Adam climbs on the exact
value.
"""

import itertools
import time
from collections.abc import Callable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

from asmpg._support.checks import check_integer, check_number
from asmpg.environments import FiniteModel
from asmpg.exact._infinite_horizon import (
    Controller,
    RunningProcess,
    controller_value,
    infinite_horizon_value,
)
from asmpg.exact._point_based import ValueBounds
from asmpg.exact._policy_graph import EvaluatedGraph, graph_of, improved, shrunk
from asmpg.exact._returns import Scalar
from asmpg.exact._sparse_process import SparseProcess
from asmpg.policies import KernelTables

#: The probability that a graph's choices have when the climb begins.
_CERTAINTY = 0.98
_LEARNING_RATE = 0.2
#: Steps of the climb between two looks at the clock.
_CHUNK = 10
#: With more unknowns, the clock is looked at after every step.
_MOST_FOR_CHUNKS = 2_000
#: The relative precision of values while climbing.
_ROUGH = 1e-6
#: With at most so many unknowns, random restarts are cheap.
_MOST_FOR_RESTARTS = 600


#: Logits, the state of the optimiser, and the best logits so far with their value.
_Climb = tuple[Controller, optax.OptState, Controller, Scalar]


class SolvedController(eqx.Module):
    """The best policy found with `num_states` agent states, and its exact `value`.

    `began` says where: at a graph, or at random logits.
    """

    tables: KernelTables
    value: float
    began: str = eqx.field(static=True)

    @property
    def num_states(self) -> int:
        return self.tables.num_states


def policy_graphs(
    model: FiniteModel,
    *,
    discount: float,
    bounds: ValueBounds,
    sizes: Sequence[int],
    seconds: float = 60.0,
) -> dict[int, EvaluatedGraph]:
    """The vectors of the lower bound as a graph, cut down to each size in turn.

    A smaller graph that is worth more stands in for a larger one.
    """
    until = time.monotonic() + seconds
    process = SparseProcess.of(model, discount)
    graph, found = graph_of(process, bounds), {}
    for size in sorted(sizes, reverse=True):
        graph = improved(process, shrunk(process, graph, size, until))
        found[size] = graph
    for smaller, larger in itertools.pairwise(sorted(found)):
        if found[smaller].value > found[larger].value:
            found[larger] = found[smaller]
    return found


def solve_controller(
    model: FiniteModel,
    *,
    num_states: int,
    discount: float,
    graph: EvaluatedGraph | None = None,
    seconds: float = 60.0,
    steps: int = 200,
    restarts: int = 8,
    deterministic: bool = False,
    seed: int = 0,
) -> SolvedController:
    """Search the best policy with at most `num_states` agent states over an infinite horizon.

    It begins with a `graph` of `policy_graphs`, and with random logits where the model is
    small or there is no graph. Both climb for at most `steps` steps, or until `seconds` are
    over. With `deterministic` the graph is all there is. A local search: the value is reached,
    and is a lower bound on the best.
    """
    check_integer("num_states", num_states, low=1, high=10_000)
    check_number("seconds", seconds, low=0)
    check_integer("steps", steps, low=0)
    check_integer("restarts", restarts, low=0)
    if graph is None and (deterministic or not restarts):
        raise ValueError(
            "graph must be given for a deterministic controller, or without restarts, got None"
        )
    until = time.monotonic() + seconds
    sparse = SparseProcess.of(model, discount)
    found: list[SolvedController] = []
    starts: list[tuple[str, Controller]] = []
    if graph is not None:
        tables = machine_tables(model, sparse, graph)
        value = infinite_horizon_value(model, tables, discount=discount)
        found.append(SolvedController(tables, value, "graph"))
        starts.append(("graph", _softened(tables)))
    if deterministic:
        return found[0]
    small = sparse.num_states * num_states <= _MOST_FOR_RESTARTS
    if small or graph is None:
        starts += [("random", each) for each in _random(model, num_states, restarts, seed)]
    with jax.enable_x64(True):
        climb = _climber(model, discount, steps, num_states)
        for began, start in starts:
            best = climb(start, until)
            value = infinite_horizon_value(model, best, discount=discount)
            found.append(SolvedController(best, value, began))
            if time.monotonic() > until:
                break
    return max(found, key=lambda each: each.value)


def machine_tables(
    model: FiniteModel, process: SparseProcess, found: EvaluatedGraph
) -> KernelTables:
    """A graph as kernel tables; after first observations that never come, state 0."""
    graph = found.graph
    first = np.zeros(model.num_observations, int)
    first[list(process.first_symbols)] = graph.first
    update = np.repeat(graph.successor[:, None, :], model.num_actions, axis=1)
    return KernelTables.deterministic(
        start=first, update=update, control=graph.action, num_actions=model.num_actions
    )


def _softened(tables: KernelTables) -> Controller:
    """The logits of a policy that takes the choices of `tables` with probability `_CERTAINTY`."""
    chosen = Controller.of(tables)

    def soften(probability: Float[Array, "*n k"]) -> Float[Array, "*n k"]:
        others = max(1, probability.shape[-1] - 1)
        return float(np.log(_CERTAINTY / (1 - _CERTAINTY) * others)) * probability

    return jax.tree.map(soften, chosen)


def _random(model: FiniteModel, num_states: int, restarts: int, seed: int) -> list[Controller]:
    generator = np.random.default_rng(seed)
    symbols, actions = model.num_observations, model.num_actions
    return [
        Controller(
            jnp.asarray(generator.normal(size=(symbols, num_states))),
            jnp.asarray(generator.normal(size=(num_states, actions, symbols, num_states))),
            jnp.asarray(generator.normal(size=(num_states, actions))),
        )
        for _ in range(restarts)
    ]


def _climber(
    model: FiniteModel, discount: float, steps: int, num_states: int
) -> Callable[[Controller, float], KernelTables]:
    """Adam on the exact value, from logits; returns the best policy on the way."""
    process = RunningProcess.of(model)
    schedule = optax.cosine_decay_schedule(_LEARNING_RATE, max(steps, 1), alpha=0.1)
    optimiser = optax.adam(schedule)

    length = _CHUNK if process.reward.shape[0] * num_states <= _MOST_FOR_CHUNKS else 1

    def value_of(logits: Controller) -> Scalar:
        controller = jax.tree.map(lambda leaf: jax.nn.softmax(leaf, axis=-1), logits)
        return controller_value(process, controller, discount, _ROUGH)

    @jax.jit
    def chunk(carry: _Climb) -> _Climb:
        def step(carry: _Climb, _: None) -> tuple[_Climb, None]:
            logits, state, best, reached = carry
            value, gradient = jax.value_and_grad(value_of)(logits)
            sound = jnp.isfinite(value)
            better = sound & (value > reached)
            best = jax.tree.map(lambda new, old: jnp.where(better, new, old), logits, best)
            descent = jax.tree.map(lambda leaf: jnp.where(sound, -leaf, 0.0), gradient)
            updates, state = optimiser.update(descent, state)
            return (
                eqx.apply_updates(logits, updates),
                state,
                best,
                jnp.maximum(reached, jnp.where(sound, value, -jnp.inf)),
            ), None

        return jax.lax.scan(step, carry, None, length=length)[0]

    def climb(start: Controller, until: float) -> KernelTables:
        logits = jax.tree.map(lambda leaf: jnp.asarray(leaf, float), start)
        carry = (logits, optimiser.init(logits), logits, jnp.asarray(-jnp.inf))
        for _ in range(-(-steps // length)):
            if time.monotonic() > until:
                break
            carry = chunk(carry)
        best = jax.tree.map(lambda leaf: jax.nn.log_softmax(leaf, axis=-1), carry[2])
        nu = jnp.concatenate([best.first, best.update.reshape(-1, len(best.control))])
        return KernelTables(nu[None], best.control[None, None])

    return climb
