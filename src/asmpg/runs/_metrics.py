"""`metrics.csv`: one row for each evaluation of each seed."""

import hashlib
import itertools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from asmpg._support.errors import CheckpointError
from asmpg._support.files import read_text, write_atomically

#: The metrics of one seed at one evaluation, by the names of the columns of `metrics.csv`.
Row = dict[str, int | float]
#: What every evaluation measures, whatever the method.
#:
#: Returns are averages over fresh episodes; `reward_per_step` is pooled, all rewards over all
#: steps; `standard_error` is that of the return that is optimised. The exact values, for finite
#: models and finite memories, are free of noise, and NaN elsewhere. The method's own numbers are
#: averages over the updates since the last evaluation, NaN without one.
MEASURES = (
    "discounted_return",
    "undiscounted_return",
    "reward_per_step",
    "episode_length",
    "standard_error",
    "exact_discounted",
    "exact_undiscounted",
    "exact_reward_per_step",
)
#: How agent states are used in the evaluation's episodes, NaN for methods without them: the mean
#: entropy of `nu` in nats on the inputs as they come, and how many agent states take up at least a
#: hundredth of all steps.
MEMORY_MEASURES = ("memory_entropy", "states_in_use")
_COUNTS = ("seed", "steps", "episodes", "updates")
_TIME = "wall_seconds"


def columns(metric_names: Sequence[str]) -> tuple[str, ...]:
    """The columns for a method with these metrics.

    `wall_seconds` is the time spent training, compilation not counted.
    """
    return (*_COUNTS, *MEASURES, *metric_names, *MEMORY_MEASURES, _TIME)


def columns_of_run(path: Path, metric_names: Sequence[str]) -> tuple[str, ...]:
    """Those that the file has, or is to have.

    A run that was begun before the use of agent states was measured goes on without it.
    """
    known = columns(metric_names)
    fewer = tuple(name for name in known if name not in MEMORY_MEASURES)
    if path.exists():
        with path.open("rb") as file:
            heading = file.readline().rstrip(b"\r\n")
        return fewer if heading == ",".join(fewer).encode() else known
    return known


def make_rows(
    columns: Sequence[str], seeds: Sequence[int], numbers: Mapping[str, Any]
) -> list[Row]:
    """The rows of some seeds, one entry of each numpy array for each."""
    counts = [numbers[name].tolist() for name in _COUNTS[1:]]
    measures = [map(_shortest, numbers[name]) for name in columns[len(_COUNTS) :]]
    rows = zip(seeds, *counts, *measures, strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def read_columns(path: Path) -> tuple[str, ...]:
    """The heading of the file."""
    heading = read_text(path).split("\n")[0].removesuffix("\r").split(",") if path.exists() else []
    known = (*_COUNTS, *MEASURES)
    if tuple(heading[: len(known)]) != known or heading[-1] != _TIME:
        raise CheckpointError(
            f"{path} is damaged: its first line must start with {','.join(known)}"
        )
    return tuple(heading)


def read_rows(path: Path, columns: Sequence[str]) -> list[Row]:
    """All whole rows; what a killed process left of a last line is passed over."""
    if not path.exists():
        return []
    heading, *lines = [line.removesuffix("\r") for line in read_text(path).split("\n")]
    if not lines:
        return []
    if heading != ",".join(columns):
        raise CheckpointError(f"{path} is damaged: its first line must be {','.join(columns)}")
    return [_parse(path, number, columns, line) for number, line in enumerate(lines[:-1], start=2)]


def digests(columns: Sequence[str], rows: Iterable[Row], *, after: str = "") -> list[str]:
    """For each of the rows of one seed, a checksum of it and of all before it.

    Times are left out: they are the only thing in which a resumed run differs from an unbroken one.
    """
    names = [name for name in columns if name != _TIME]
    lines = (_line([row[name] for name in names]) for row in rows)
    chain = itertools.accumulate(lines, _digest, initial=after)
    return list(itertools.islice(chain, 1, None))


def write_rows(path: Path, columns: Sequence[str], rows: Iterable[Row]) -> None:
    """Put a file with these rows in the place of `path`."""
    text = _line(columns) + "".join(_line([row[name] for name in columns]) for row in rows)
    write_atomically(path, lambda file: file.write(text.encode()))


class MetricsWriter:
    """Appends rows as soon as they are known, and remembers their checksums."""

    def __init__(
        self, path: Path, columns: Sequence[str], rows: Iterable[Row], check: Callable[[], None]
    ):
        """`path` must have its heading and `rows` already; `check` is called before writing."""
        self._path = path
        self._columns = columns
        self._check = check
        self._digests: dict[int, list[str]] = {}
        for row in rows:
            self._remember(row)

    def append(self, rows: Iterable[Row]) -> None:
        """Write some more rows, all at once."""
        lines = []
        for row in rows:
            self._remember(row)
            lines.append(_line([row[name] for name in self._columns]))
        self._check()
        # Not "ab", which would make a file that is gone anew, without its earlier rows.
        with open(self._path, "r+b", buffering=0) as file:
            file.seek(0, os.SEEK_END)
            file.write("".join(lines).encode())

    def sync(self) -> None:
        """Return once every row is on the disk."""
        self._check()
        with open(self._path, "r+b") as file:
            os.fsync(file.fileno())

    def digest(self, seed: int, evaluations: int) -> str:
        """The checksum of the first so many rows of `seed`."""
        return self._digests[seed][evaluations - 1]

    def _remember(self, row: Row) -> None:
        known = self._digests.setdefault(int(row["seed"]), [])
        known += digests(self._columns, [row], after=known[-1] if known else "")


def _shortest(value: np.floating[Any]) -> float:
    # Float32 digits, not those of its float64 neighbour; they read back as the same float32.
    return float(str(value))


def _line(cells: Iterable[object]) -> str:
    """Of numbers and names of columns, none of which needs quotes."""
    return ",".join(map(str, cells)) + "\n"


def _digest(before: str, line: str) -> str:
    return hashlib.sha256((before + line).encode()).hexdigest()


def _parse(path: Path, number: int, columns: Sequence[str], line: str) -> Row:
    cells = line.split(",")
    try:
        counts = [int(cell) for cell in cells[: len(_COUNTS)]]
        measures = [float(cell) for cell in cells[len(_COUNTS) :]]
        return dict(zip(columns, [*counts, *measures], strict=True))
    except ValueError:
        raise CheckpointError(f"{path} is damaged: line {number} is not a row") from None
