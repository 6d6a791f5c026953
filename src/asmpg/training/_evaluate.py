"""Measuring trained policies with as many fresh episodes as asked for."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Int, Key

from asmpg._support.checks import check_integer
from asmpg.agents import chosen_seed, load_learner, statuses
from asmpg.exact import policy_returns
from asmpg.experience import EpisodeReturns, play_for_returns, standard_error
from asmpg.interop import ResolvedEnvironment
from asmpg.methods import Method
from asmpg.runs import RunFolder, Which
from asmpg.training._host_seed import open_evaluation
from asmpg.training._program import Program, build_program

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
    method: Method[Any] | None = None,
    trust: bool = False,
) -> list[dict[str, Any]]:
    """Play fresh episodes with the policy of each seed, or of `seed`, in the folder `run`.

    Each entry has means and, as `..._standard_error`, their standard errors; `reward_per_step` is
    pooled, all rewards over all steps. For finite models it has the exact values too. With
    `greedy`, the most probable agent states and actions are taken instead of drawn ones. The same
    call gives the same numbers. An `environment` or a `method` that was given in Python is handed
    in again. The module that an id names, `module:Name-v0`, is imported only if you `trust` the
    run.
    """
    check_integer("episodes", episodes, low=1, high=_MOST_EPISODES)
    folder = RunFolder(run)
    known = statuses(folder, which)
    chosen = chosen_seed(known, seed, run=run, which=which)
    config = folder.config.with_objects(environment, method)
    resolved = config.resolve(trust=trust)
    program = build_program(config, resolved)
    entries = []
    for each in known if seed is None else [chosen]:
        _, learner = load_learner(folder, config.make_method(), each, which)
        entries.append(
            {
                "seed": each,
                "which": which,
                "steps": known[each].steps,
                "episodes": episodes,
                "greedy": greedy,
                **_sampled(program, resolved, learner, each, episodes, greedy=greedy),
                **_exact(program, learner, greedy=greedy),
            }
        )
    return entries


def _sampled(
    program: Program,
    resolved: ResolvedEnvironment,
    learner: Any,
    seed: int,
    episodes: int,
    *,
    greedy: bool,
) -> dict[str, float]:
    if resolved.source is None:
        played = _play_compiled(program, learner, seed, episodes, greedy)
    else:
        played = _play_on_host(resolved.source, program, learner, seed, episodes, greedy)
    return episode_statistics(*played)


def episode_statistics(
    discounted: Float[np.ndarray, " N"],
    undiscounted: Float[np.ndarray, " N"],
    length: Float[np.ndarray, " N"] | Int[np.ndarray, " N"],
) -> dict[str, float]:
    """Means over episodes, and their standard errors."""
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
    environments = open_evaluation(program, source, episodes, greedy=greedy)
    try:
        environments.reseed(seed, 0, _STREAM)
        environments.player.prepare(learner)
        played = environments.returns(num_episodes=episodes, discount=float(program.discount))
        return played[:3]
    finally:
        environments.driver.close()


@eqx.filter_jit
def _play(
    program: Program, learner: Any, key: Key[Array, ""], number: int, greedy: bool
) -> EpisodeReturns:
    assert program.environment is not None
    return play_for_returns(
        program.environment,
        program.method.actor(learner, greedy=greedy),
        key,
        num_episodes=number,
        discount=program.discount,
    )


def _exact(program: Program, learner: Any, *, greedy: bool) -> dict[str, float]:
    tables = program.method.tables(learner, greedy=greedy)
    value = policy_returns(program.environment, tables, discount=program.discount)
    if value is None:
        return {}
    return {
        "exact_discounted": float(value.discounted),
        "exact_undiscounted": float(value.undiscounted),
        "exact_reward_per_step": float(value.reward_per_step),
        "exact_episode_length": float(value.episode_length),
    }
