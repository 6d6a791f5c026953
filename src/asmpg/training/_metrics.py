"""`metrics.csv`: one row for each evaluation of each seed."""

import csv
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from asmpg._errors import CheckpointError
from asmpg.training._atomic import write_atomically
from asmpg.training._callback import Callback, Row
from asmpg.training._program import MEASURES

_COUNTS = ("seed", "steps", "episodes", "updates")


def columns(metric_names: Sequence[str]) -> tuple[str, ...]:
    """The columns for a method with these metrics.

    `wall_seconds` is the time spent training, compilation not counted.
    """
    return (*_COUNTS, *MEASURES, *metric_names, "wall_seconds")


def make_row(columns: Sequence[str], seed: int, place: int, numbers: Mapping[str, Any]) -> Row:
    """The row of one seed, the entry at `place` of each numpy array."""
    counts = {"seed": seed} | {name: int(numbers[name][place]) for name in _COUNTS[1:]}
    return counts | {name: _shortest(numbers[name][place]) for name in columns[len(_COUNTS) :]}


def read_rows(path: Path, columns: Sequence[str]) -> list[Row]:
    """All whole rows; what a killed process left of a last line is passed over."""
    if not path.exists():
        return []
    lines = path.read_text().splitlines(keepends=True)
    whole = [line for line in lines if line.endswith("\n")]
    table = csv.reader(whole)
    if whole and next(table) != [*columns]:
        raise CheckpointError(f"{path} is damaged: its first line must be {','.join(columns)}")
    return [_parse(path, number, columns, cells) for number, cells in enumerate(table, start=2)]


def write_rows(path: Path, columns: Sequence[str], rows: Iterable[Row]) -> None:
    """Put a file with these rows in the place of `path`."""
    text = _line(columns) + "".join(_line([row[name] for name in columns]) for row in rows)
    write_atomically(path, lambda file: file.write(text.encode()))


class MetricsWriter(Callback):
    """Appends each row as soon as it is known."""

    def __init__(self, path: Path, columns: Sequence[str]):
        """`path` must have its heading already."""
        self._path = path
        self._columns = columns

    def on_evaluation(self, seed: int, row: Row) -> None:
        """Append the row."""
        with open(self._path, "ab", buffering=0) as file:
            file.write(_line([row[name] for name in self._columns]).encode())

    def sync(self) -> None:
        """Return once every row is on the disk."""
        with open(self._path, "ab") as file:
            os.fsync(file.fileno())


def _shortest(value: np.floating[Any]) -> float:
    # Float32 digits, not those of its float64 neighbour; they read back as the same float32.
    return float(str(value))


def _line(cells: Sequence[object]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()


def _parse(path: Path, number: int, columns: Sequence[str], cells: Sequence[str]) -> Row:
    try:
        counts = [int(cell) for cell in cells[: len(_COUNTS)]]
        measures = [float(cell) for cell in cells[len(_COUNTS) :]]
        return dict(zip(columns, [*counts, *measures], strict=True))
    except ValueError:
        raise CheckpointError(f"{path} is damaged: line {number} is not a row") from None
