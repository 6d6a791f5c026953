"""What benchmarks of many tasks share: a JSON file of rows for each part, gathered into a table.

A part is what one process does, say a task and a seed. A file that is there is not made again, so a
benchmark that was stopped goes on, and parts that ran on several machines are copied together.
"""

import collections
import csv
import json
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

Row = dict[str, Any]
#: What a CSV file holds, by the names of its columns.
Table = list[dict[str, str]]


def provenance() -> dict[str, Any]:
    """With what, and on which machine."""
    from asmpg._support.machine import machine, versions

    return {**versions(), **machine()}


def file_of(folder: Path, *part: object) -> Path:
    """`folder/CheeseMaze-1952.json` for the part `CheeseMaze, 1952`."""
    return folder / f"{'-'.join(str(word).replace(' ', '-') for word in part)}.json"


def write_rows(file: Path, rows: Sequence[Row]) -> None:
    """All at once: a file that is there is whole."""
    file.parent.mkdir(parents=True, exist_ok=True)
    beside = file.with_suffix(".part")
    beside.write_text(json.dumps(rows, indent=1) + "\n")
    beside.replace(file)


def read_rows(folder: Path) -> list[Row]:
    """The rows of all files in `folder`, in the order of their names."""
    return [row for file in sorted(folder.glob("*.json")) for row in json.loads(file.read_text())]


def read_csv(path: Path) -> Table:
    """The rows of a table of a study, by the names of its columns."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def read_seeds(text: str) -> tuple[int, ...]:
    """`3` is a number of seeds, the paper's first; `1952,` and `1952,5235` are seeds."""
    from asmpg.runs import default_seeds

    numbers = [int(part) for part in text.split(",") if part]
    return tuple(numbers) if "," in text else default_seeds(numbers[0])


def grouped(rows: Iterable[Row], *names: str) -> dict[tuple[Any, ...], list[Row]]:
    """The rows that agree in some columns, together."""
    found: dict[tuple[Any, ...], list[Row]] = collections.defaultdict(list)
    for row in rows:
        found[tuple(row[name] for name in names)].append(row)
    return dict(found)


def markdown(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def median(values: Sequence[float | None]) -> str:
    """`–` where there is nothing."""
    known = [value for value in values if value is not None]
    return f"{statistics.median(known):.4g}" if known else "–"
