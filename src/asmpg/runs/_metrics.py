"""`metrics.csv`: one row for each evaluation of each seed."""

import hashlib
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

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
#: The powers of ten that a float64 holds exactly.
_POWERS = np.array([float(10**power) for power in range(23)])


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
    names = [name for name in columns[len(_COUNTS) :] if name != _TIME]
    measures = _shortest(np.stack([numbers[name] for name in names])).tolist()
    rows = zip(seeds, *counts, *measures, numbers[_TIME].tolist(), strict=True)
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
    chain = itertools.accumulate(_lines(columns, rows), _digest, initial=after)
    return list(itertools.islice(chain, 1, None))


def write_rows(path: Path, columns: Sequence[str], rows: Iterable[Row]) -> None:
    """Put a file with these rows in the place of `path`."""
    text = "".join((",".join(columns) + "\n", *_lines(columns, rows)))
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
        lines = [self._remember(row) for row in rows]
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

    def sort(self, seeds: Sequence[int]) -> None:
        """Put the rows in the order of the seeds."""
        self._check()
        heading, *lines = self._path.read_bytes().splitlines(keepends=True)
        places = {str(seed).encode(): place for place, seed in enumerate(seeds)}
        lines.sort(key=lambda line: places[line[: line.index(b",")]])
        write_atomically(self._path, lambda file: file.writelines([heading, *lines]))

    def digest(self, seed: int, evaluations: int) -> str:
        """The checksum of the first so many rows of `seed`."""
        return self._digests[seed][evaluations - 1]

    def _remember(self, row: Row) -> str:
        """The line of `row`, once its checksum is kept."""
        (line,) = _lines(self._columns, [row])
        known = self._digests.setdefault(int(row["seed"]), [])
        known.append(_digest(known[-1] if known else "", line))
        return line


def _shortest(values: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """The numbers with the fewest digits that read back as the same float32, as `str` finds them.

    That is six to nine digits, not the seventeen of a float64. Rounding to so many, for all values
    at once, is exact unless it is close to a tie; those, and very large or small ones, are left to
    `str`, which takes a microsecond for each.
    """
    found = values.astype(np.float64)
    if values.dtype != np.float32:
        return found
    common = (np.abs(found) > 1e-10) & (np.abs(found) < 1e6)
    exact = np.where(common, found, 1.0)
    places = 5 - np.floor(np.log10(np.abs(exact))).astype(int)
    left, ties = common.copy(), np.zeros_like(common)
    for more in range(4):
        scale = _POWERS[places + more]
        whole = np.rint(exact * scale)
        ties |= left & (np.abs(exact * scale - whole) > 0.5 - 1e-5)
        fits = left & ((whole / scale).astype(np.float32) == values)
        found[fits] = (whole / scale)[fits]
        left &= ~fits
    left |= ties | (~common & np.isfinite(found))
    found[left] = [float(str(value)) for value in values[left]]
    return found


def _lines(columns: Sequence[str], rows: Iterable[Row]) -> Iterator[str]:
    """None of the numbers needs quotes."""
    for row in rows:
        yield str([row[name] for name in columns])[1:-1].replace(" ", "") + "\n"


def _digest(before: str, line: str) -> str:
    untimed = line[: line.rindex(",")]
    return hashlib.sha256(f"{before}{untimed}\n".encode()).hexdigest()


def _parse(path: Path, number: int, columns: Sequence[str], line: str) -> Row:
    cells = line.split(",")
    try:
        counts = [int(cell) for cell in cells[: len(_COUNTS)]]
        measures = [float(cell) for cell in cells[len(_COUNTS) :]]
        return dict(zip(columns, [*counts, *measures], strict=True))
    except ValueError:
        raise CheckpointError(f"{path} is damaged: line {number} is not a row") from None
