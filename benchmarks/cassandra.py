"""What is in `results/cassandra`, beside what others published: tables for `docs/pomdp-files.md`.

`python benchmarks/tables.py` writes them. `NAME.json` is the `solve.json` of `asmpg solve ...
--out`, `learned.csv` the `tables/results.csv` of the study on the same files; `controllers.json`
and `bounds.json` are from the scripts of the same names.
"""

import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from json_results import read_csv

SIZES = (1, 2, 4, 8, 16, 32)
#: Bounds that are this close, relatively, count as tight.
TIGHT = 0.01

Table = tuple[Sequence[str], list[Sequence[str]]]


class Published(NamedTuple):
    """SARSOP's bounds, and the best controller of PAYNT or SAYNT within 900 s.

    As PAYNT's repository has them: `experiments-beliefs/`, before commit 83abd782.
    """

    lower: str
    upper: str
    controller: str


PUBLISHED = {
    "4x3.95": Published("1.8899", "1.8910", "1.8742"),
    "4x5x2.95": Published("2.08251", "2.08261", "2.0749"),
    "network": Published("293.19", "293.23", "287.2"),
    "paint.95": Published("3.2936", "3.2937", "3.2936"),
    "milos-aaai97": Published("49.75", "69.16", "38.25"),
    "query.s3": Published("546.8", "574.9", "522.5"),
    "learning.c3": Published("2.279", "2.548", "1.639"),
    "tiger-grid": Published("2.268", "2.528", "0"),
    "hallway": Published("0.996", "1.205", "0.185"),
    "hallway2": Published("0.380", "0.898", "–"),
    "mit": Published("0.847", "0.885", "0"),
    "pentagon": Published("0.730", "0.827", "0"),
}


def solved(folder: Path) -> Table:
    """Controllers by size, between our bounds, and what is published."""
    rows = []
    for name, published in PUBLISHED.items():
        path = folder / f"{name}.json"
        if path.exists():
            theirs = f"{published.lower} .. {published.upper}"
            rows.append([name, *_solved_cells(path), theirs, published.controller])
    return ["file", "our bounds", *map(str, SIZES), "SARSOP", "PAYNT"], rows


def shipped(folder: Path) -> Table:
    """The same for the files that come with the package."""
    paths = sorted((folder / "shipped").glob("*.json"))
    return ["file", "our bounds", *map(str, SIZES)], [
        [path.stem, *_solved_cells(path)] for path in paths
    ]


def _solved_cells(path: Path) -> list[str]:
    report = json.loads(path.read_text())
    values = controller_values(report)
    # What is but rounding is nothing.
    cells = [f"{round(values[size], 9):.5g}" if size in values else "" for size in SIZES]
    return [f"{report['bounds']['lower']:.5g} .. {report['bounds']['upper']:.5g}", *cells]


def learned(folder: Path) -> Table:
    """What is learned from interaction, below what the model gives, and what is published."""
    return _learned_table(folder, PUBLISHED)


def learned_shipped(folder: Path) -> Table:
    """The same for the files that come with the package."""
    return _learned_table(folder / "shipped", {})


def _learned_table(folder: Path, published: Mapping[str, Published]) -> Table:
    """Two rows for each file: from the model, and learned, the median and the worst seed."""
    values = learned_values(folder)
    columns = list(dict.fromkeys(size for own in values.values() for size in own))
    rows = []
    for name, own in values.items():
        report = json.loads((folder / f"{name}.json").read_text())
        known = controller_values(report)
        of_file = [f"{report['bounds']['lower']:.4g} .. {report['bounds']['upper']:.4g}"]
        if published:
            theirs = published[name]
            of_file += [f"{theirs.lower} .. {theirs.upper}", theirs.controller]
        model = [_rounded(known[size]) if size in known else "" for size in columns]
        cells = [
            f"{_rounded(statistics.median(own[size]))} / {_rounded(min(own[size]))}"
            for size in columns
        ]
        rows.append([name, "from the model", *model, *of_file])
        rows.append(["", "learned", *cells, *("" for _ in of_file)])
    named = ["default" if size is None else str(size) for size in columns]
    heading = ["file", "", *named, "our bounds", *(["SARSOP", "PAYNT"] if published else [])]
    return heading, rows


def learned_values(folder: Path) -> dict[str, dict[int | None, list[float]]]:
    """By file and number of agent states the value of every seed; `None` is the default method."""
    found: dict[str, dict[int | None, list[float]]] = {}
    for row in read_csv(folder / "learned.csv"):
        name = row["environment"].removesuffix(".pomdp")
        size = row["entry"].removeprefix("asm-ppo").removeprefix("-")
        own = found.setdefault(name, {})
        own.setdefault(int(size) if size else None, []).append(float(row["final"]))
    return found


def controller_values(report: dict[str, Any]) -> dict[int, float]:
    """By number of agent states, from a `solve.json`."""
    return {entry["num_states"]: entry["value"] for entry in report["controllers"]}


def _rounded(value: float) -> str:
    """What is but rounding is nothing."""
    return f"{round(value, 6) + 0.0:.4g}"


def controllers(folder: Path) -> Table:
    """Ours against published ones whose actions see the observation as well."""
    rows = []
    for row in json.loads((folder / "controllers.json").read_text())["rows"]:
        values = row["values"]
        fewest = row["fewest_states"]
        rows.append(
            [
                row["source"],
                row["file"] + (", with a first observation" if row["first_observation"] else ""),
                str(row["memory_states"]),
                f"{row['published']:.6g}",
                str(row["agent_states"]),
                f"{min(values):.6g}",
                f"{row['reached']} of {len(values)}",
                "–" if fewest is None else str(fewest),
                f"{row['cpu_seconds']:.0f} s",
            ]
        )
    heading = ["published by", "file", "memory states", "value", "agent states", "worst of ours"]
    return [*heading, "reached", "enough", "time"], rows


def bounds(folder: Path) -> Table:
    """How far apart bounds are after a minute: those that are not tight, and SARSOP's files."""
    files: dict[str, dict[str, Any]] = json.loads((folder / "bounds.json").read_text())["files"]
    rows, tight = [], 0
    for name, found in files.items():
        width = relative_width(found["lower"], found["upper"])
        tight += width <= TIGHT
        published = PUBLISHED.get(name)
        if width > TIGHT or published is not None:
            theirs = ["", ""]
            if published is not None:
                ends = float(published.lower), float(published.upper)
                theirs = [
                    f"{published.lower} .. {published.upper}",
                    f"{relative_width(*ends):.2%}",
                ]
            ours = [f"{found['lower']:.6g} .. {found['upper']:.6g}", f"{width:.2%}"]
            sizes = "/".join(str(found[of]) for of in ("states", "actions", "observations"))
            rows.append([name, sizes, f"{found['discount']:g}", *ours, *theirs])
    rows.append([f"{tight} of {len(files)} files", "", "", "", f"≤ {TIGHT:.0%}", "", ""])
    return ["file", "X/A/O", "discount", "our bounds", "apart", "SARSOP", "apart"], rows


def relative_width(lower: float, upper: float) -> float:
    """The distance of two bounds, as a share of the larger one."""
    return (upper - lower) / max(abs(lower), abs(upper), 1e-12)
