"""The variance of each gradient estimator beside the paper's, at several policies.

    python benchmarks/estimators.py [--environment CheeseMaze] [--batches 1000] [--json FILE]

For each policy, many batches of ten episodes are played; every estimator sees the same ones. The
number is the trace of the covariance of its estimate, divided by that of `sampled` without a
baseline. That the estimates have the same mean is shown by enumeration, in
tests/gradients/test_marginal.py.
"""

import argparse
import dataclasses
import functools
import json
import platform
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from asmpg.environments import Environment, make
from asmpg.experience import collect, play_episodes
from asmpg.interop import Interface
from asmpg.methods import ASMPG, Learner, PolicyKind
from asmpg.methods.critics import BaselineCritic
from asmpg.policies import ASMPolicy

ESTIMATORS = ("sampled", "marginal")
BASELINES = ("none", "leave-one-out", "critic")
#: Steps learned before the estimators are compared, by the marginal estimator with leave-one-out.
STAGES = (0, 20_000, 100_000)
CRITIC_BATCHES = 200


def main() -> None:
    parser = argparse.ArgumentParser(description="The variance of each gradient estimator.")
    parser.add_argument("--environment", default="CheeseMaze")
    parser.add_argument("--policy", default="auto", choices=("auto", "mlp"))
    parser.add_argument("--batches", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    environment = make(arguments.environment)
    teacher = method(
        arguments.policy, estimator="marginal", baseline="leave-one-out", normalise=True
    )
    rows = []
    learner, done, key = None, 0, jax.random.key(arguments.seed)
    for stage in STAGES:
        key, learn_key, measure_key = jax.random.split(key, 3)
        learner = learn(environment, teacher, learner, learn_key, steps=stage - done)
        done = stage
        estimates = {
            (estimator, baseline): gradients(
                environment,
                method(arguments.policy, estimator=estimator, baseline=baseline),
                learner.policy,
                measure_key,
                arguments.batches,
            )
            for estimator in ESTIMATORS
            for baseline in BASELINES
        }
        rows += [
            {"steps learned": stage, "estimator": estimator, "baseline": baseline, **numbers}
            for (estimator, baseline), numbers in compared(estimates).items()
        ]
    show(arguments, rows)
    if arguments.json:
        about = {
            "environment": arguments.environment,
            "policy": arguments.policy,
            "batches": arguments.batches,
            "seed": arguments.seed,
            "machine": f"{platform.machine()}, {jax.default_backend()}",
            "jax": jax.__version__,
        }
        arguments.json.write_text(json.dumps({**about, "rows": rows}, indent=1) + "\n")


def method(policy: PolicyKind, **options: Any) -> ASMPG:
    """Without the barrier, which is no part of the estimate."""
    return ASMPG(
        policy=policy,
        step_reduction="episode-sum",
        barrier=0.0,
        table_learning_rate=0.03,
        **options,
    )


def learn(
    environment: Environment[Any],
    teacher: ASMPG,
    learner: Learner | None,
    key: Key[Array, ""],
    *,
    steps: int,
) -> Learner:
    """Continue learning for `steps` steps."""
    learned = teacher.initialise(Interface.of(environment), key) if learner is None else learner

    @eqx.filter_jit
    def improve(learner: Learner, key: Key[Array, ""]) -> tuple[Learner, Array]:
        actor = teacher.actor(learner, training=True)
        _, experience = collect(environment, actor, teacher.collects, None, key)
        return teacher.update(learner, experience, key)[0], experience.num_steps

    done = 0
    while done < steps:
        key, improve_key = jax.random.split(key)
        learned, played = improve(learned, improve_key)
        done += int(played)
    return learned


def gradients(
    environment: Environment[Any],
    method: ASMPG,
    policy: ASMPolicy,
    key: Key[Array, ""],
    batches: int,
) -> np.ndarray:
    """One estimate a batch; a critic is fitted beforehand, to batches of its own."""
    learner = method.initialise(Interface.of(environment), jax.random.key(0))
    learner = dataclasses.replace(learner, policy=policy)
    play = functools.partial(play_episodes, num_episodes=method.episodes_per_update)

    @jax.jit
    def fit(critic: BaselineCritic | None, key: Key[Array, ""]) -> BaselineCritic | None:
        episodes = play(environment, method.actor(learner), key)
        known = dataclasses.replace(learner, critic=critic)
        return method.weights(known, episodes)[1]

    @jax.jit
    def estimate(critic: BaselineCritic | None, key: Key[Array, ""]) -> Array:
        episodes = play(environment, method.actor(learner), key)
        known = dataclasses.replace(learner, critic=critic)
        gradient, _ = method.gradient(known, episodes, method.weights(known, episodes)[0])
        leaves = jax.tree.leaves(eqx.filter(gradient, eqx.is_inexact_array))
        return jnp.concatenate([leaf.reshape(-1) for leaf in leaves])

    critic = learner.critic
    if critic is not None:
        for number in range(CRITIC_BATCHES):
            critic = fit(critic, jax.random.fold_in(jax.random.key(1), number))
    keys = jax.random.split(key, batches)
    return np.stack([np.asarray(estimate(critic, one), np.float64) for one in keys])


def compared(
    estimates: dict[tuple[str, str], np.ndarray],
) -> dict[tuple[str, str], dict[str, float]]:
    """Variances beside that of `sampled` without baseline."""
    variances = {name: found.var(axis=0).sum() for name, found in estimates.items()}
    reference = variances["sampled", "none"]
    return {
        name: {"variance": round(float(variance / reference), 4)}
        for name, variance in variances.items()
    }


def show(arguments: argparse.Namespace, rows: list[dict[str, Any]]) -> None:
    print(f"{arguments.environment}, policy {arguments.policy}, {arguments.batches} batches")
    print(f"{'steps learned':>13}  {'estimator':9} {'baseline':14} {'variance':>9}")
    for row in rows:
        print(
            f"{row['steps learned']:13d}  {row['estimator']:9} {row['baseline']:14} "
            f"{row['variance']:9.4f}"
        )


if __name__ == "__main__":
    main()
