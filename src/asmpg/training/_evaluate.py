"""Measuring trained policies with as many fresh episodes as asked for."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Key

from asmpg._support.checks import check_integer
from asmpg.environments import AbstractFiniteEnvironment
from asmpg.exact import exact_returns
from asmpg.experience import EpisodeReturns, host_returns, play_for_returns, standard_error
from asmpg.interop import Place
from asmpg.training._host_lane import open_evaluation
from asmpg.training._load import chosen_seed, standings
from asmpg.training._program import Program
from asmpg.training._run_folder import RunFolder, Which

#: The returns of all are held in memory.
_MOST_EPISODES = 100_000_000
#: So many episodes are played side by side.
_BATCH = 10_000
#: Far from the small numbers by which training splits the key of a seed.
_STREAM = 1_000_000


def evaluate(
    run: str | Path,
    *,
    episodes: int = 1000,
    greedy: bool = False,
    seed: int | None = None,
    which: Which = "best",
    environment: object | None = None,
    trust: bool = False,
) -> list[dict[str, Any]]:
    """Play fresh episodes with the policy of each seed, or of `seed`, in the folder `run`.

    Each entry has means and, as `..._standard_error`, their standard errors; `reward_per_step` is
    pooled, all rewards over all steps. For finite models it has the exact values too. With
    `greedy`, the most probable agent states and actions are taken instead of drawn ones. The same
    call gives the same numbers. An `environment` that was given in Python is handed in again. The
    module that an id names, `module:Name-v0`, is imported only if you `trust` the run.
    """
    check_integer("episodes", episodes, low=1, high=_MOST_EPISODES)
    folder = RunFolder(run)
    known = standings(folder, which)
    chosen = chosen_seed(known, seed, run=run, which=which)
    place = folder.config.place(environment, trust=trust)
    program = folder.config.build(place.environment)
    entries = []
    for each in known if seed is None else [chosen]:
        state, _ = folder.load(program, each, which)
        entries.append(
            {
                "seed": each,
                "which": which,
                "steps": int(state.steps),
                "episodes": episodes,
                "greedy": greedy,
                **_sampled(program, place, state.learner, each, episodes, greedy=greedy),
                **_exact(program, state.learner, greedy=greedy),
            }
        )
    return entries


def _sampled(
    program: Program, place: Place, learner: Any, seed: int, episodes: int, *, greedy: bool
) -> dict[str, float]:
    play = _play_compiled if place.source is None else partial(_play_on_host, place.source)
    discounted, undiscounted, length = play(program, learner, seed, episodes, greedy)
    per_step = undiscounted.sum() / length.sum()
    spread = standard_error(undiscounted - per_step * length) / length.mean()
    return {
        "discounted_return": float(discounted.mean()),
        "discounted_return_standard_error": standard_error(discounted),
        "undiscounted_return": float(undiscounted.mean()),
        "undiscounted_return_standard_error": standard_error(undiscounted),
        "reward_per_step": float(per_step),
        "reward_per_step_standard_error": float(spread),
        "episode_length": float(length.mean()),
        "episode_length_standard_error": standard_error(length),
    }


def _play_compiled(
    program: Program, learner: Any, seed: int, episodes: int, greedy: bool
) -> Iterator[np.ndarray]:
    key = jax.random.fold_in(jax.random.key(seed), _STREAM)
    played = []
    for place, begin in enumerate(range(0, episodes, _BATCH)):
        number = min(_BATCH, episodes - begin)
        played.append(_play(program, learner, jax.random.fold_in(key, place), number, greedy))
    for name in ("discounted", "undiscounted", "lengths"):
        yield np.concatenate([getattr(returns, name) for returns in played]).astype(float)


def _play_on_host(
    source: Any, program: Program, learner: Any, seed: int, episodes: int, greedy: bool
) -> tuple[np.ndarray, ...]:
    stage = open_evaluation(program, source, episodes, greedy)
    try:
        stage.reseed(seed, 0, _STREAM)
        stage.player.prepare(learner)
        return host_returns(stage, num_episodes=episodes, discount=program.discount)
    finally:
        stage.driver.close()


@eqx.filter_jit
def _play(
    program: Program, learner: Any, key: Key[Array, ""], number: int, greedy: bool
) -> EpisodeReturns:
    return play_for_returns(
        program.environment,
        program.method.actor(learner, greedy=greedy),
        key,
        num_episodes=number,
        discount=program.discount,
    )


def _exact(program: Program, learner: Any, *, greedy: bool) -> dict[str, float]:
    environment = program.environment
    tables = program.method.tables(learner, greedy=greedy)
    if tables is None or not isinstance(environment, AbstractFiniteEnvironment):
        return {}
    value = exact_returns(
        environment.model, tables, horizon=environment.max_steps, discount=program.discount
    )
    return {
        "exact_discounted": float(value.discounted),
        "exact_undiscounted": float(value.undiscounted),
        "exact_reward_per_step": float(value.reward_per_step),
        "exact_episode_length": float(value.episode_length),
    }
