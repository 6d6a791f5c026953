"""Parts of `asmpg study readings` from several machines, put together in results/readings.

    python benchmarks/readings.py FOLDER [FOLDER ...]

Each FOLDER is one that the study left. Its entries are added to those in results/readings, or take
their place; verdicts and their figure are worked out anew on all of them. Other figures, curves
and comparisons are those of the first part.
"""

import argparse
import shutil
from collections import defaultdict
from pathlib import Path

import numpy as np

import tables
from asmpg.analysis import Curves, Results, SeedCurve, claim_rows, write_table
from asmpg.analysis.figures import draw_claims, save
from asmpg.environments import make
from asmpg.studies import Study, load_study
from asmpg.training import score_of
from json_results import Table, read_csv

READINGS = tables.ROOT / "results" / "readings"
STUDY = tables.ROOT / "src" / "asmpg" / "studies" / "files" / "readings.toml"
PICTURE = tables.ROOT / "docs" / "images" / "readings-claims.png"


def main() -> None:
    parser = argparse.ArgumentParser(description="Put parts of the readings together.")
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    arguments = parser.parse_args()
    study = load_study("readings")
    shutil.copy(STUDY, READINGS / "study.toml")
    parts = [READINGS, *arguments.folders]
    for name in ("results", "summary"):
        write_table(READINGS / "tables" / f"{name}.csv", joined(study, parts, name))
    results = recorded(study, read_csv(READINGS / "tables" / "results.csv"))
    write_table(READINGS / "tables" / "claims.csv", claim_rows(results))
    for path in save(draw_claims(results, columns=3), READINGS / "figures", "claims"):
        if path.suffix == PICTURE.suffix:
            shutil.copy(path, PICTURE)
        else:
            path.unlink()


def joined(study: Study, parts: list[Path], name: str) -> Table:
    """The rows of a table in all `parts`, those of an entry from the last one that has any."""
    found: dict[tuple[str, str], Table] = {}
    for part in parts:
        own: dict[tuple[str, str], Table] = defaultdict(list)
        for row in read_csv(part / "tables" / f"{name}.csv"):
            own[row["environment"], row["entry"]].append(row)
        found |= own
    cells = [(place, entry.name) for place in study.environments for entry in study.entries]
    return [row for cell in cells for row in found.get(cell, [])]


def recorded(study: Study, rows: Table) -> Results:
    """Results whose seeds have the last evaluation, the best checkpoint and the area of `rows`."""
    cells: dict[tuple[str, str], Table] = defaultdict(list)
    for row in rows:
        cells[row["environment"], row["entry"]].append(row)
    curves = {
        cell: Curves(
            tuple(int(row["seed"]) for row in own),
            (0, study.steps),
            tuple(straight(row) for row in own),
            np.asarray([float(row["best"]) for row in own]),
            np.asarray([int(row["best_steps"]) for row in own]),
        )
        for cell, own in cells.items()
    }
    scores = {name: score_of(make(name)) for name in study.environments}
    return Results(study, scores, {name: {} for name in study.environments}, curves, ())


def straight(row: dict[str, str]) -> SeedCurve:
    """A line that ends where the seed ended and has as much area under it."""
    final, area = float(row["final"]), float(row["area"])
    return SeedCurve(np.asarray([0, int(row["steps"])]), np.asarray([2 * area - final, final]))


if __name__ == "__main__":
    main()
