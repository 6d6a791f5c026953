"""Evaluation of trained policies on any number of fresh episodes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from asmpg._support.checks import check_integer
from asmpg.agents import (
    MOST_EPISODES,
    chosen_seed,
    kept_at,
    load_learner,
    play_fresh_episodes,
    statuses,
)
from asmpg.exact import policy_returns
from asmpg.experience import standard_error
from asmpg.methods import Method
from asmpg.runs import Checkpoint, RunFolder, Which
from asmpg.training._program import Program, build_program


def evaluate(
    run: str | Path,
    *,
    episodes: int = 1000,
    greedy: bool = False,
    seed: int | None = None,
    which: Which = "best",
    step: int | None = None,
    environment: object | None = None,
    method: Method[Any] | None = None,
    trust: bool = False,
) -> list[dict[str, Any]]:
    """Play fresh episodes with the policy of each seed, or of `seed`, in the folder `run`.

    Each entry has means and, as `..._standard_error`, their standard errors; `reward_per_step` is
    pooled: all rewards over all steps. For finite models, it also has the exact values. With
    `greedy`, the most probable agent states and actions are taken instead of sampled ones. `step`
    selects a checkpoint that was kept, as in `asmpg.load`. The same call gives the same numbers.

    Pass an `environment` or a `method` again if it was given in Python. The module in an id,
    `module:Name-v0`, is imported only if you `trust` the run.
    """
    check_integer("episodes", episodes, low=1, high=MOST_EPISODES)
    folder = RunFolder(run)
    checkpoints: Mapping[int, Checkpoint] = dict.fromkeys(folder.config.seeds, which)
    if step is None:
        known = statuses(folder, which)
    else:
        checkpoints = kept_at(folder, step)
        known = {each: folder.status(each, kept) for each, kept in checkpoints.items()}
    chosen = chosen_seed(known, seed, run=run, which=which if step is None else "last")
    config = folder.config.with_objects(environment, method)
    resolved = config.resolve(trust=trust)
    program = build_program(config, resolved)
    entries = []
    for each in known if seed is None else [chosen]:
        _, learner = load_learner(folder, config.make_method(), each, checkpoints[each])
        entries.append(
            {
                "seed": each,
                "which": which if step is None else "step",
                "steps": known[each].steps,
                "episodes": episodes,
                "greedy": greedy,
                **episode_statistics(
                    *play_fresh_episodes(
                        resolved,
                        program.method.actor(learner, greedy=greedy),
                        episodes=episodes,
                        seed=each,
                        discount=program.discount,
                    )
                ),
                **_exact(program, learner, greedy=greedy),
            }
        )
    return entries


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
