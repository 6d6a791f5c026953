"""Median and worst seed of ASM-PPO along the way, from the runs of a study.

    asmpg study efficiency --out runs/efficiency
    python benchmarks/targets.py runs/efficiency [--entry asm-ppo]

Scores are exact values of the policy where the model is finite and the memory is too, else averages
over the episodes of an evaluation. "below" counts, from the deadline on, the evaluations in which
the worst seed, or any other, stood below the target.
"""

import argparse
import csv
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np


class Target(NamedTuple):
    """What every seed is to reach by a number of steps, and to keep."""

    measure: str
    sampled: str
    value: float
    by: int
    marks: tuple[int, ...]


_EARLY = (15_000, 25_000, 50_000, 100_000)
TARGETS = {
    "CheeseMaze": Target("exact_reward_per_step", "reward_per_step", 0.2209, 25_000, _EARLY),
    "HallwayNavigation": Target("exact_reward_per_step", "reward_per_step", 0.9577, 25_000, _EARLY),
    "HealthcareTreatment": Target(
        "discounted_return", "discounted_return", 34.0, 100_000, (25_000, 50_000, 100_000, 150_000)
    ),
    "MachineRepair": Target(
        "exact_discounted", "discounted_return", 47.0, 60_000, (25_000, 60_000, 100_000, 150_000)
    ),
    "VelocityOnlyCartPole": Target(
        "episode_length", "episode_length", 195.0, 75_000, (25_000, 50_000, 75_000, 150_000)
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Median and worst seed along the way.")
    parser.add_argument("study", type=Path)
    parser.add_argument("--entry", default="asm-ppo")
    arguments = parser.parse_args()
    print("| | score | target | " + "median / worst seed at | " * 4 + "below |")
    print("| --- | --- | --- | " + "--- | " * 4 + "--- |")
    for name, target in TARGETS.items():
        run = arguments.study / "runs" / name / arguments.entry / "metrics.csv"
        if run.exists():
            print(row(name, target, *scores(run, target)))


def scores(run: Path, target: Target) -> tuple[np.ndarray, np.ndarray]:
    """The steps of the evaluations, and the score of each seed at each."""
    with run.open(newline="") as file:
        rows = list(csv.DictReader(file))
    exact = not math.isnan(float(rows[0][target.measure] or "nan"))
    measure = target.measure if exact else target.sampled
    seeds = list(dict.fromkeys(row["seed"] for row in rows))
    table = [[float(row[measure]) for row in rows if row["seed"] == seed] for seed in seeds]
    evaluations = min(map(len, table))
    steps = [float(row["steps"]) for row in rows if row["seed"] == seeds[0]]
    return np.asarray(steps[:evaluations]), np.asarray([line[:evaluations] for line in table])


def row(name: str, target: Target, steps: np.ndarray, table: np.ndarray) -> str:
    """A line of Markdown. An evaluation counts for a mark that it passes by one update at most."""
    cells = [name, target.measure, f"{target.value:g} by {target.by:,}"]
    for mark in target.marks:
        place = int(np.argmax(steps >= mark))
        found = table[:, place]
        cells.append(f"{mark:,}: {np.median(found):.4g} / {found.min():.4g}")
    late = table[:, steps >= target.by]
    missed = late < target.value
    cells.append(f"{missed.sum()} of {missed.size}, {missed.any(axis=1).sum()} seeds")
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    main()
