"""Add the evaluations of a study's runs to results/popgym/runs.csv, or replace those of a run.

    python benchmarks/popgym_runs.py FOLDER [FOLDER ...]

Each FOLDER is one that `asmpg study` left, of `popgym` or of benchmarks/popgym*.toml. Unfinished
runs are added as far as they got.
"""

import argparse
from collections import defaultdict
from pathlib import Path

import tables
from asmpg.analysis import write_table
from asmpg.runs import RunFolder
from asmpg.studies import StudyFolder
from json_results import Table, read_csv

RUNS = tables.ROOT / "results" / "popgym" / "runs.csv"


def main() -> None:
    parser = argparse.ArgumentParser(description="Add evaluations to results/popgym/runs.csv.")
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    arguments = parser.parse_args()
    found = by_run(read_csv(RUNS))
    for path in arguments.folders:
        found |= by_run(evaluations(StudyFolder(path)))
    rows = [row for run in found.values() for row in run]
    environments = list(dict.fromkeys(row["environment"] for row in rows))
    rows.sort(key=lambda row: (environments.index(row["environment"]), row["entry"]))
    write_table(RUNS, rows)


def by_run(rows: Table) -> dict[tuple[str, str, str], Table]:
    found: dict[tuple[str, str, str], Table] = defaultdict(list)
    for row in rows:
        found[row["environment"], row["entry"], row["seed"]].append(row)
    return found


def evaluations(folder: StudyFolder) -> Table:
    rows = []
    for job in folder.study.jobs():
        path = folder.run_path(job)
        if not (path / "config.json").is_file():
            continue
        every = job.config.evaluate_every
        for row in RunFolder(path).rows():
            rows.append(
                {
                    "environment": job.environment,
                    "entry": job.entry,
                    "seed": str(int(row["seed"])),
                    "due": str(int(row["steps"]) // every * every),
                    "steps": str(int(row["steps"])),
                    "undiscounted_return": f"{row['undiscounted_return']:.4g}",
                }
            )
    return rows


if __name__ == "__main__":
    main()
