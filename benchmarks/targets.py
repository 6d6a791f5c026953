"""Median and worst seed along the way, from the runs of `asmpg study efficiency`.

    asmpg study efficiency --out runs/efficiency
    python benchmarks/targets.py runs/efficiency           # writes results/efficiency/runs.csv
    python benchmarks/tables.py                            # makes the table of it

Scores are exact values of the policy where the model is finite and the memory is too, else averages
over the episodes of an evaluation. "below" counts, from the deadline on, the evaluations in which
any seed stood below the target.
"""

import argparse
import csv
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np

from json_results import markdown, read_csv

ENTRIES = ("asm-ppo-default", "asm-ppo", "gru-ppo")


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
    parser = argparse.ArgumentParser(description="Keep the scores along the way.")
    parser.add_argument("study", type=Path)
    out = Path(__file__).parents[1] / "results" / "efficiency" / "runs.csv"
    parser.add_argument("--out", type=Path, default=out)
    arguments = parser.parse_args()
    with arguments.out.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["environment", "entry", "seed", "steps", "measure", "value"])
        for name, target in TARGETS.items():
            for entry in ENTRIES:
                run = arguments.study / "runs" / name / entry / "metrics.csv"
                writer.writerows([name, entry, *row] for row in scores(run, target))


def scores(run: Path, target: Target) -> list[list[str]]:
    """Seed, steps, measure and score of every evaluation."""
    rows = read_csv(run)
    exact = not math.isnan(float(rows[0][target.measure] or "nan"))
    measure = target.measure if exact else target.sampled
    rows.sort(key=lambda row: int(row["seed"]))
    return [[row["seed"], row["steps"], measure, f"{float(row[measure]):.6g}"] for row in rows]


def table(results: Path, entry: str) -> str:
    """A line for each environment; an evaluation counts for the last mark it has passed."""
    recorded = read_csv(results / "efficiency" / "runs.csv")
    rows = [row for row in recorded if row["entry"] == entry]
    lines = []
    for name, target in TARGETS.items():
        own = [row for row in rows if row["environment"] == name]
        seeds = sorted({row["seed"] for row in own})
        steps, values = (
            np.asarray([[float(row[of]) for row in own if row["seed"] == seed] for seed in seeds])
            for of in ("steps", "value")
        )
        cells = [name, own[0]["measure"].replace("_", " "), f"{target.value:g} by {target.by:,}"]
        for mark in target.marks:
            found = values[:, int(np.argmax(steps[0] >= mark))]
            cells.append(f"{mark // 1000}k: {np.median(found):.4g} / {found.min():.4g}")
        missed = (values < target.value)[:, steps[0] >= target.by]
        below = f"{missed.sum()} of {missed.size}, {missed.any(axis=1).sum()} seeds"
        lines.append([*cells, below if missed.any() else f"none of {missed.size}"])
    heading = ["", "score", "target, every seed", "along the way", "", "", "", "below"]
    return markdown(heading, lines)


if __name__ == "__main__":
    main()
