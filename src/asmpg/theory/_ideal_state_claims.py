"""The Lemma "Optimality of ASM policies under an ideal agent state dynamics", and its examples.

Agent states are computed by a recursion along all histories, with the best ASM policy on top.
"""

import functools
from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from asmpg.environments import NMDP, FiniteModel, random_episode
from asmpg.environments.velocity_only_cart_pole import VelocityOnlyCartPole
from asmpg.exact import history_optimum, history_value
from asmpg.policies import KernelTables
from asmpg.theory._row import Row, tightest

_ROUNDING = 1e-9
_REMARK = "remark on examples of ideal agent state dynamics"
Integrator = Callable[[float, Float[np.ndarray, " T"], float], Float[np.ndarray, " T"]]
State = TypeVar("State", bound=Hashable)
First = Callable[[int], State]
Update = Callable[[State, int, int], State]


class RecursiveState:
    """`S_1 = first(O_1)` and `S_t = update(S_{t-1}, A_{t-1}, O_t)` on every history of `nmdp`.

    `index[t-1][h]` is the number of the agent state that history `h` leads to.
    """

    def __init__(self, nmdp: NMDP, first: First[State], update: Update[State]):
        """Follow the recursion along all histories."""
        self.nmdp = nmdp
        numbers: dict[State, int] = {}
        reached: list[State] = [first(o) for o in range(nmdp.num_observations)]
        levels = [reached]
        for _ in nmdp.transitions:
            reached = [
                update(state, a, o)
                for state in reached
                for a in range(nmdp.num_actions)
                for o in range(nmdp.num_observations)
            ]
            levels.append(reached)
        self.index: list[Int[np.ndarray, " h"]] = [
            np.array([numbers.setdefault(state, len(numbers)) for state in level])
            for level in levels
        ]
        self.num_states = len(numbers)

    def deviation(self) -> float:
        """How far `r_t` and `p_t` are from being functions of `(S_t, A_t)`, as ideal ones are."""
        worst = 0.0
        for level, index in zip(self._rewards_and_transitions(), self.index, strict=True):
            mean = _first_of_each(level, index, self.num_states)
            worst = max(worst, float(np.abs(level - mean[index]).max()))
        return worst

    def best_policy(self) -> KernelTables:
        """`phi* o nu`: this recursion, and the best `phi_t(a | s)` by dynamic programming."""
        nmdp, states = self.nmdp, self.num_states
        shape = (states, nmdp.num_actions, nmdp.num_observations)
        update = np.zeros(shape, int)
        for index, following in zip(self.index, self.index[1:], strict=False):
            update[index] = following.reshape(len(index), *shape[1:])
        value = np.zeros(states)
        control = []
        for level, index in reversed(
            list(zip(self._rewards_and_transitions(), self.index, strict=True))
        ):
            known = _first_of_each(level, index, states)
            choice = known[..., 0] + (known[..., 1:] * value[update]).sum(axis=-1)
            control.insert(0, choice.argmax(axis=-1))
            value = choice.max(axis=-1)
        steps = [
            KernelTables.deterministic(
                start=self.index[0],
                update=update,
                control=chosen,
                num_actions=nmdp.num_actions,
            )
            for chosen in control
        ]
        return jax.tree.map(lambda *parts: jnp.concatenate(parts), *steps)

    def _rewards_and_transitions(self) -> list[Float[np.ndarray, "h A O1"]]:
        """`r_t` and `p_t` of each history side by side; after the last step `p_t` is zero."""
        zero = np.zeros((*self.nmdp.rewards[-1].shape, self.nmdp.num_observations))
        return [
            np.concatenate([rewards[..., None], transition], axis=-1)
            for rewards, transition in zip(
                self.nmdp.rewards, [*self.nmdp.transitions, zero], strict=True
            )
        ]


def _first_of_each(
    level: Float[np.ndarray, "h A O1"], index: Int[np.ndarray, " h"], states: int
) -> Float[np.ndarray, "S A O1"]:
    """What the first history of each agent state has."""
    chosen = np.zeros((states, *level.shape[1:]))
    chosen[index[::-1]] = level[::-1]
    return chosen


def whole_history() -> tuple[First[tuple[int, ...]], Update[tuple[int, ...]]]:
    """The recursion that forgets nothing."""
    return (lambda o: (o,)), (lambda state, a, o: (*state, a, o))


def belief_recursion(
    model: FiniteModel,
) -> tuple[First[tuple[float, ...]], Update[tuple[float, ...]]]:
    """Bayes' rule on the latent state of a finite POMDP."""
    arrive = np.einsum("xay,ayo->aoxy", model.transition, model.observation)

    def normalised(weights: Float[np.ndarray, " X"]) -> tuple[float, ...]:
        return tuple((np.round(weights / weights.sum(), 12) + 0.0).tolist())

    def first(o: int) -> tuple[float, ...]:
        return normalised(model.start * model.start_observation[:, o])

    def update(belief: tuple[float, ...], a: int, o: int) -> tuple[float, ...]:
        return normalised(np.array(belief) @ arrive[a, o])

    return first, update


def random_model(seed: int) -> FiniteModel:
    """A random POMDP with three latent states, two observations and two actions."""
    generator = np.random.default_rng(seed)

    def distributions(*shape: int) -> Float[np.ndarray, "..."]:
        return generator.dirichlet(np.ones(shape[-1]), shape[:-1])

    return FiniteModel.from_arrays(
        transition=distributions(3, 2, 3),
        observation=distributions(2, 3, 2),
        reward=generator.uniform(-1, 1, (3, 2)),
        start=distributions(3),
        start_observation=distributions(3, 2),
    )


def beliefs(
    models: Iterable[FiniteModel],
    *,
    horizon: int,
    recursion: Callable[[FiniteModel], tuple[First[Any], Update[Any]]] = belief_recursion,
) -> list[Row]:
    """Bayes' rule is an ideal agent state dynamics, and its best ASM policy is optimal."""
    processes = [(NMDP.from_model(model, horizon=horizon), recursion(model)) for model in models]
    agents = [RecursiveState(nmdp, *parts) for nmdp, parts in processes]
    return [
        tightest(
            Row(
                "the belief recursion is ideal",
                f"Definition of ideal dynamics; {_REMARK}",
                "largest change of p_t or r_t among histories with equal beliefs",
                agent.deviation(),
                _ROUNDING,
                kind="identity",
            )
            for agent in agents
        ),
        tightest(
            _loss(agent, "the belief recursion reaches the history optimum") for agent in agents
        ),
    ]


def histories(
    nmdps: Iterable[NMDP],
    *,
    recursion: Callable[[], tuple[First[Any], Update[Any]]] = whole_history,
) -> Row:
    """An agent state that keeps the whole history loses nothing, in any process."""
    return tightest(
        _loss(RecursiveState(nmdp, *recursion()), "the whole history as agent state is optimal")
        for nmdp in nmdps
    )


def explicit_euler(
    first: float, velocity: Float[np.ndarray, " T"], time_step: float
) -> Float[np.ndarray, " T"]:
    """`p_{t+1} = p_t + tau v_t` from a known first position."""
    return first + time_step * np.concatenate([[0.0], np.cumsum(velocity[:-1])])


def cart_pole_integrator(
    *,
    seeds: Iterable[int],
    integrate: Integrator = explicit_euler,
    known_start: bool = True,
    start_range: float = 0.05,
) -> Row:
    """Velocities, added up, are the hidden positions of VelocityOnlyCartPole."""

    def error(seed: int) -> float:
        hidden, seen, time_step = _cart_pole_episode(seed, start_range)
        rebuilt = [
            integrate(start if known_start else 0.0, velocity, time_step)
            for start, velocity in zip(hidden[:, 0], seen, strict=True)
        ]
        return float(np.abs(np.stack(rebuilt) - hidden).max())

    return tightest(
        Row(
            "the integrator rebuilds CartPole's positions",
            _REMARK,
            "largest error of position and angle over random episodes",
            error(seed),
            _ROUNDING,
            kind="identity",
        )
        for seed in seeds
    )


@functools.cache
def _cart_pole_episode(
    seed: int, start_range: float
) -> tuple[Float[np.ndarray, "2 T"], Float[np.ndarray, "2 T"], float]:
    """Hidden positions and seen velocities of a random episode, and the time step."""
    environment = VelocityOnlyCartPole(start_range=start_range)
    episode = random_episode(environment, seed=seed, steps=environment.max_steps)
    hidden = np.array([[state.position, state.angle] for state in episode.states], float).T
    return hidden, np.stack(episode.observations).T.astype(float), environment.time_step


def _loss(agent: RecursiveState, claim: str) -> Row:
    best = history_optimum(agent.nmdp)
    reached = float(eqx.filter_jit(history_value)(agent.nmdp, agent.best_policy()))
    return Row(
        claim,
        "Lemma on optimality under ideal dynamics",
        "history optimum minus value of the best ASM policy",
        abs(best - reached),
        _ROUNDING,
        kind="identity",
    )
