"""The Lemma "Optimality of ASM policies under an ideal agent state dynamics", and its examples."""

import functools
from collections.abc import Callable, Iterable
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float

from asmpg.environments import NMDP, FiniteModel, random_episode
from asmpg.environments.velocity_only_cart_pole import VelocityOnlyCartPole
from asmpg.exact import history_optimum, history_value
from asmpg.theory._ideal_state import First, RecursiveState, Update, belief_recursion, whole_history
from asmpg.theory._row import Row, tightest

_ROUNDING = 1e-9
_REMARK = "remark on examples of ideal agent state dynamics"
Integrator = Callable[[float, Float[np.ndarray, " T"], float], Float[np.ndarray, " T"]]


def random_model(seed: int) -> FiniteModel:
    """A POMDP with three latent states, two observations and two actions, all laws random."""
    generator = np.random.default_rng(seed)

    def laws(*shape: int) -> Float[np.ndarray, "..."]:
        return generator.dirichlet(np.ones(shape[-1]), shape[:-1])

    return FiniteModel.from_arrays(
        transition=laws(3, 2, 3),
        observation=laws(2, 3, 2),
        reward=generator.uniform(-1, 1, (3, 2)),
        start=laws(3),
        start_observation=laws(3, 2),
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
