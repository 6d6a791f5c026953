"""MachineRepair with other constants: does its verdict on the paper's claim hang on ours?

    python benchmarks/machine_constants.py --draws 0 1 2 3 --jobs 12 [--out runs/machine-constants]
    python benchmarks/machine_constants.py --gather --out runs/machine-constants

The paper names the signs of what wear does and no numbers. Each draw takes numbers with those signs
at random, the same ones every time, and ASMPG and both AIS learn in it, ten seeds of a million
steps. Each draw and method becomes OUT/DRAW-METHOD.json; those that are there are not done again.
Scores are the undiscounted returns of the last evaluation.
"""

import argparse
import concurrent.futures
import multiprocessing
import os
from pathlib import Path

import numpy as np

from json_results import Row, file_of, provenance, write_rows
from study_tables import PAPER, machine_constants

METHODS = PAPER
STEPS, SEEDS = 1_000_000, 10


def main() -> None:
    parser = argparse.ArgumentParser(description="MachineRepair with other constants.")
    parser.add_argument("--draws", type=int, nargs="+", default=list(range(6)))
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time, a core each")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--out", type=Path, default=Path("runs/machine-constants"))
    parser.add_argument("--gather", action="store_true", help="print the table of what is there")
    arguments = parser.parse_args()
    if not arguments.gather:
        parts = [(draw, method) for draw in arguments.draws for method in METHODS]
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
    print(machine_constants(arguments.out))


def _take_a_core() -> None:
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"


def constants(draw: int) -> dict[str, float | int]:
    """Numbers with the signs of the text: wear makes all worse, and a repair removes some of it."""
    rng = np.random.default_rng(draw)
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


def measure(draw: int, method: str, steps: int, out: Path) -> None:
    """Train ten seeds together, and keep the score of each."""
    from asmpg.runs import RunConfig, default_seeds
    from asmpg.training import train

    config = RunConfig(
        "MachineRepair",
        environment_options=constants(draw),
        method=method,
        seeds=default_seeds(SEEDS),
        steps=steps,
        evaluate_every=steps,
    )
    rows: list[Row] = [
        {
            "draw": draw,
            "method": method,
            "seed": row["seed"],
            "undiscounted_return": row["undiscounted_return"],
            **constants(draw),
            **provenance(),
        }
        for row in train(config).rows
        if row["steps"] >= steps
    ]
    write_rows(file_of(out, draw, method), rows)


if __name__ == "__main__":
    main()
