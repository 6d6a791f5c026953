"""Environments with other constants: do verdicts on the paper's claim hang on ours?

    python benchmarks/constants.py MachineRepair --draws 0 1 2 3 --jobs 12 [--out runs/constants]
    python benchmarks/constants.py MachineRepair --gather --out runs/constants

The paper names the signs of what its constants do in MachineRepair and HealthcareTreatment, and few
of the numbers. Each draw takes numbers with those signs at random, the same ones every time, and
ASMPG and both AIS learn with them, ten seeds of a million steps. Each draw and method becomes
OUT/ENVIRONMENT-DRAW-METHOD.json; those that are there are not done again. Scores are the
undiscounted returns of the last evaluation.
"""

import argparse
import concurrent.futures
import multiprocessing
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from json_results import Row, file_of, provenance, write_rows
from study_tables import PAPER, constants_table

METHODS = PAPER
STEPS, SEEDS = 1_000_000, 10
Constants = dict[str, Any]


def machine(rng: np.random.Generator) -> Constants:
    """Wear makes all worse, and a repair removes some of it."""
    stay, repair = rng.uniform(0.3, 0.6), rng.uniform(0.8, 1.0)
    return {
        "degrade_base": round(rng.uniform(0.01, 0.1), 3),
        "degrade_wear": round(rng.uniform(0.2, 0.8), 3),
        "stay_base": round(stay, 3),
        "stay_wear": round(rng.uniform(0.2, 1 - stay - 0.01), 3),
        "repair_base": round(repair, 3),
        "repair_wear": round(rng.uniform(0.2, repair - 0.1), 3),
        "wear_healthy": 1,
        "wear_degraded": int(rng.integers(1, 4)),
        "wear_removed": int(rng.integers(2, 8)),
    }


def patient(rng: np.random.Generator) -> Constants:
    """Aggressive doses do more, cost more, are more toxic, and alone make resistant."""

    def doses(mild: tuple[float, float], aggressive: tuple[float, float]) -> tuple[float, ...]:
        return (0.0, round(rng.uniform(*mild), 3), round(rng.uniform(*aggressive), 3))

    return {
        "benefit": doses((0.05, 0.25), (0.4, 0.8)),
        "cost": doses((0.1, 1.0), (1.0, 4.0)),
        "toxicity_added": doses((0.1, 0.4), (0.6, 1.2)),
        "toxicity_decay": round(rng.uniform(0.8, 0.97), 3),
        "toxicity_harm": round(rng.uniform(0.01, 0.05), 3),
        "resistance_added": (0.0, 0.0, round(rng.uniform(0.2, 0.6), 3)),
        "resistance_decay": round(rng.uniform(0.5, 0.9), 3),
        "deterioration": round(rng.uniform(0.0, 0.1), 3),
        "noise": round(rng.uniform(0.05, 0.15), 3),
    }


DRAWS: dict[str, Callable[[np.random.Generator], Constants]] = {
    "MachineRepair": machine,
    "HealthcareTreatment": patient,
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Environments with other constants.")
    parser.add_argument("environment", choices=DRAWS)
    parser.add_argument("--draws", type=int, nargs="+", default=list(range(6)))
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time, a core each")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--out", type=Path, default=Path("runs/constants"))
    parser.add_argument("--gather", action="store_true", help="print the table of what is there")
    arguments = parser.parse_args()
    if not arguments.gather:
        parts = [
            (arguments.environment, draw, method) for draw in arguments.draws for method in METHODS
        ]
        missing = [part for part in parts if not file_of(arguments.out, *part).exists()]
        fresh = multiprocessing.get_context("spawn")
        with concurrent.futures.ProcessPoolExecutor(
            arguments.jobs, fresh, initializer=_take_a_core, max_tasks_per_child=1
        ) as pool:
            running = [
                pool.submit(measure, *part, arguments.steps, arguments.out) for part in missing
            ]
            for done in concurrent.futures.as_completed(running):
                done.result()
    print(constants_table(arguments.out, arguments.environment))


def _take_a_core() -> None:
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"


def measure(environment: str, draw: int, method: str, steps: int, out: Path) -> None:
    """Train ten seeds together, and keep the score of each."""
    from asmpg.runs import RunConfig, default_seeds
    from asmpg.training import train

    constants = DRAWS[environment](np.random.default_rng(draw))
    config = RunConfig(
        environment,
        environment_options=constants,
        method=method,
        seeds=default_seeds(SEEDS),
        steps=steps,
        evaluate_every=steps,
    )
    rows: list[Row] = [
        {
            "environment": environment,
            "draw": draw,
            "constants": constants,
            "method": method,
            "seed": row["seed"],
            "undiscounted_return": row["undiscounted_return"],
            **provenance(),
        }
        for row in train(config).rows
        if row["steps"] >= steps
    ]
    write_rows(file_of(out, environment, draw, method), rows)


if __name__ == "__main__":
    main()
