"""What a mean over an episode's steps, and orthogonal initial weights, do to ASMPG's gradient.

    python benchmarks/step_reduction.py [--batches 1000] [--json FILE]

Adam takes steps of the same length whatever the length of the gradient, so what counts is how large
the noise of an estimate is beside its mean: the trace of its covariance over its squared mean, both
from many batches of ten episodes. Policies are those that `asmpg` has learned after some steps,
with its default options but for the initial weights; at each, a sum and a mean over steps are
estimated from the same batches, and the cosine between their means says where the bias points
(it is shown where the means are known well enough).
`told` is how much the inputs of `nu` say about the next agent state, in nats, if all are alike
probable; for real observations it is left out.
"""

import argparse
import json
import math
from pathlib import Path
from typing import Any

import jax
import numpy as np

from asmpg.environments import PAPER_ENVIRONMENTS, make
from asmpg.interop import Interface
from asmpg.methods import ASMPG
from asmpg.policies import ASMPolicy
from estimators import gradients, learn
from json_results import provenance
from study_tables import gradient_noise

INITIAL_WEIGHTS = ("uniform", "orthogonal")
REDUCTIONS = ("episode-sum", "episode-mean")
STAGES = (0, 50_000, 200_000)


def main() -> None:
    parser = argparse.ArgumentParser(description="What a mean over steps does to the gradient.")
    parser.add_argument("--environments", nargs="+", default=list(PAPER_ENVIRONMENTS))
    parser.add_argument("--batches", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = []
    for name in arguments.environments:
        for weights in INITIAL_WEIGHTS:
            rows += measure(name, weights, arguments.batches, arguments.seed)
    about = {"batches": arguments.batches, "seed": arguments.seed, **provenance()}
    found = {**about, "rows": rows}
    print(gradient_noise(found))
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")


def measure(name: str, weights: Any, batches: int, seed: int) -> list[dict[str, Any]]:
    """A row for each stage of learning."""
    environment, teacher = make(name), ASMPG(initial_weights=weights)
    key, start_key = jax.random.split(jax.random.key(seed))
    learner, done, rows = teacher.initialise(Interface.of(environment), start_key), 0, []
    for stage in STAGES:
        key, learn_key, measure_key = jax.random.split(key, 3)
        learner = learn(environment, teacher, learner, learn_key, steps=stage - done)
        done = stage
        estimates = [
            gradients(
                environment,
                ASMPG(initial_weights=weights, step_reduction=reduction, barrier=0.0),
                learner.policy,
                measure_key,
                batches,
            )
            for reduction in REDUCTIONS
        ]
        row = {"environment": name, "initial_weights": weights, "steps": stage}
        row |= {
            reduction: noise_to_signal(found)
            for reduction, found in zip(REDUCTIONS, estimates, strict=True)
        }
        rows.append({**row, "cosine": cosine(*estimates), "told": told(learner.policy)})
    return rows


def noise_to_signal(estimates: np.ndarray) -> float | None:
    """`tr Cov(g) / |E g|^2`; `None` where the mean cannot be told from 0."""
    variance = estimates.var(axis=0, ddof=1).sum()
    signal = (estimates.mean(axis=0) ** 2).sum() - variance / len(estimates)
    return float(variance / signal) if signal > 0 else None


def cosine(one: np.ndarray, other: np.ndarray) -> float | None:
    """Between the means, of different halves of the batches: their noise is not shared."""
    half = len(one) // 2
    products = {
        (i, j): float(a[:half].mean(axis=0) @ b[half:].mean(axis=0))
        for i, a in enumerate((one, other))
        for j, b in enumerate((one, other))
    }
    if min(products[0, 0], products[1, 1]) <= 0:
        return None
    return products[0, 1] / math.sqrt(products[0, 0] * products[1, 1])


def told(policy: ASMPolicy) -> float | None:
    """How much the inputs of `nu` say about the next agent state, in nats."""
    if not policy.tabulates:
        return None
    nu = np.exp(np.asarray(policy.tabulate().log_nu[0], np.float64))
    return float((nu * (np.log(nu) - np.log(nu.mean(axis=0)))).sum(axis=1).mean())


if __name__ == "__main__":
    main()
