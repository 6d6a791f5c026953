"""Add the evaluations of a study's runs to results/popgym/runs.csv, or replace what is there.

    python benchmarks/popgym_runs.py FOLDER [FOLDER ...]

Each FOLDER is one that `asmpg study` left, of `popgym` or of benchmarks/popgym*.toml. Unfinished
runs are added as far as they got. POPGym must be installed: studies of it import it.
"""

import argparse
import importlib
from pathlib import Path

import tables
from asmpg.analysis import write_table
from asmpg.runs import RunFolder
from asmpg.studies import StudyFolder
from json_results import read_csv

RUNS = tables.ROOT / "results" / "popgym" / "runs.csv"


def main() -> None:
    parser = argparse.ArgumentParser(description="Add evaluations to results/popgym/runs.csv.")
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    arguments = parser.parse_args()
    importlib.import_module("popgym")
    found = {
        (row["environment"], row["entry"], row["seed"], row["due"]): row for row in read_csv(RUNS)
    }
    for path in arguments.folders:
        for row in evaluations(StudyFolder(path)):
            found[row["environment"], row["entry"], row["seed"], row["due"]] = row
    rows = list(found.values())
    environments = list(dict.fromkeys(row["environment"] for row in rows))
    rows.sort(key=lambda row: (environments.index(row["environment"]), row["entry"]))
    write_table(RUNS, rows)


def evaluations(folder: StudyFolder) -> list[dict[str, str]]:
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
