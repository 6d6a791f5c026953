"""Which results of a study does today's code still give? One seed of each cell is run again.

    python benchmarks/same_results.py results/paper [--entries asmpg 'ais-*'] [--environments ...]

FOLDER has the study.toml and the tables/results.csv of a study. A cell is "the same" if its first
seed takes the same steps, ends with the same score and has the same area under its curve, digit for
digit, in a process with one thread as a study's jobs have. On one kind of CPU and one version of
jax that is exact; elsewhere, and where a change to the code only rounds differently, a cell may be
"not the same" though nothing that matters has changed.
"""

import argparse
import dataclasses
import fnmatch
import os
import sys
import time
from pathlib import Path

from asmpg._support.remote import worker_environment
from asmpg.analysis import seed_curves
from asmpg.analysis.statistics import mean_over_steps
from asmpg.runs import RunConfig
from asmpg.studies import load_study
from asmpg.training import train
from json_results import read_csv

#: Set in the process that has the environment of a study's job.
MARK = "ASMPG_AS_A_JOB"
#: What tables of studies write.
DIGITS = ".7g"


def main() -> None:
    parser = argparse.ArgumentParser(description="Run one seed of each cell of a study again.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--entries", nargs="+", default=["*"], metavar="PATTERN")
    parser.add_argument("--environments", nargs="+", default=["*"], metavar="PATTERN")
    arguments = parser.parse_args()
    study = load_study(str(arguments.folder / "study.toml"))
    first = {}
    for row in read_csv(arguments.folder / "tables" / "results.csv"):
        first.setdefault((row["environment"], row["entry"]), row)
    same = 0
    ran = 0
    for job in study.jobs():
        row = first.get((job.environment, job.entry))
        wanted = chosen(job.environment, arguments.environments) and chosen(
            job.entry, arguments.entries
        )
        if row is None or not wanted or int(row["seed"]) not in job.config.seeds:
            continue
        began = time.perf_counter()
        config = dataclasses.replace(job.config, seeds=(int(row["seed"]),))
        found = outcome(config, row["score"])
        recorded = {name: row[name] for name in found}
        equal = found == recorded
        same, ran = same + equal, ran + 1
        verdict = "the same" if equal else f"not the same: {found}, recorded {recorded}"
        seconds = time.perf_counter() - began
        print(f"{job.environment}, {job.entry}: {verdict} ({seconds:.0f} s)", flush=True)
    print(f"{same} of {ran} cells are the same")


def chosen(name: str, patterns: list[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def outcome(config: RunConfig, score: str) -> dict[str, str]:
    """The columns of tables/results.csv that one run tells."""
    rows = train(config, verbose=0).rows
    (curve,) = seed_curves(rows, score).values()
    area = mean_over_steps(curve.steps, curve.scores)
    return {
        "steps": str(curve.steps[-1]),
        "final": format(curve.scores[-1], DIGITS),
        "area": format(area, DIGITS),
    }


if __name__ == "__main__":
    of_a_job = worker_environment("cpu", 1)
    if MARK not in os.environ:
        os.execve(sys.executable, [sys.executable, *sys.argv], of_a_job | {MARK: "1"})
    main()
