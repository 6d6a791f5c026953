"""What the runner and its workers need to know of jobs, and of the folder they work in."""

import abc
import bisect
import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from asmpg._support.checks import check_integer, check_number
from asmpg._support.files import naming, read_json, write_atomically
from asmpg._support.locks import LOCK_NAME, folder_lock
from asmpg.runs import RunConfig

#: What a session says of its machine and its software.
_SESSION_KEYS = {
    "machine": ("processor", "cores", "memory_gib", "system"),
    "made_with": ("asmpg", "jax", "python", "commit"),
}
#: How long, in seconds, the workers of a killed runner may take to exit.
_EXIT_SECONDS = 10.0


@runtime_checkable
class Task(Protocol):
    """A job, whatever it is that runs: one run of a study, or several trials side by side."""

    @property
    def name(self) -> str:
        """Unlike that of all others; a path below `logs/`."""
        ...

    @property
    def entry(self) -> str:
        """What it has in common with jobs that train at the same speed."""
        ...

    @property
    def config(self) -> RunConfig:
        """What it trains, or one of several that differ in the options of their method only."""
        ...

    @property
    def evaluations(self) -> int:
        """How many there are in the whole job, all seeds together."""
        ...

    @property
    def work(self) -> float:
        """Its size: environment steps of all its seeds."""
        ...


AnyTask = TypeVar("AnyTask", bound=Task)


class JobFolder(abc.ABC, Generic[AnyTask]):
    """A folder with runs that jobs train: `logs/` has their output, `sessions/` when they ran."""

    path: Path

    @abc.abstractmethod
    def jobs(self) -> Sequence[AnyTask]:
        """All that there is to do, done or not."""

    @abc.abstractmethod
    def finished(self, job: AnyTask) -> bool:
        """Whether nothing of the job is left to do."""

    @abc.abstractmethod
    def evaluations(self, job: AnyTask) -> int:
        """How many of its evaluations the job has passed, all seeds together."""

    @abc.abstractmethod
    def run(self, job: AnyTask) -> None:
        """Do what is left of the job, in a worker; a `TrainingError` or `ValueError` ends it."""

    def log_path(self, job: AnyTask) -> Path:
        return self.path / "logs" / f"{job.name}.log"

    def sessions(self) -> list[dict[str, Any]]:
        """The records of all sessions, oldest first."""
        return [_read_session(file) for file in sorted((self.path / "sessions").glob("*.json"))]


def evaluations_passed(run: Path, due: Sequence[int]) -> int:
    """How many of the evaluations that are `due` the run in a folder has passed, all seeds."""
    path = run / "metrics.csv"
    lines = path.read_bytes().splitlines() if path.exists() else []
    cells = [line.split(b",", 2) for line in lines]
    last = {each[0]: int(each[1]) for each in cells if len(each) == 3 and each[1].isdigit()}
    return sum(bisect.bisect_right(due, steps) for steps in last.values())


def check_free(path: Path, *, kind: str, mark: str) -> None:
    """A `ValueError` unless `path` is new, empty, or the folder of a `kind`: it has a file `mark`.

    >>> check_free(path, kind="study", mark="study.json")
    """
    if path.exists() and not (path / mark).is_file():
        if not path.is_dir():
            raise ValueError(f"out must be a folder, {path} is a file")
        if any(file.name != LOCK_NAME and file.suffix != ".partial" for file in path.iterdir()):
            raise ValueError(f"out must be a new folder or that of a {kind}, {path} is neither")


@contextlib.contextmanager
def study_lock(path: Path) -> Iterator[int]:
    """Keep other runners out of the folder `path`; gives the descriptor that holds the lock.

    Workers that inherit it keep the lock until the last of them has exited.
    """
    path.mkdir(parents=True, exist_ok=True)
    taken = f"{path} is in use by another process"
    with folder_lock(path, wait=_EXIT_SECONDS, taken=taken) as lock:
        yield lock.descriptor


def write_text(path: Path, text: str) -> None:
    """Replace the file `path`, atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, lambda file: file.write(text.encode()))


def of_type(name: str, value: Any, kind: type) -> Any:
    """`value` if it is of a type, else a `ValueError`."""
    if not isinstance(value, kind):
        raise ValueError(f"{name} must be a {kind.__name__}, got {value!r}")
    return value


def _read_session(file: Path) -> dict[str, Any]:
    record = read_json(file)
    with naming(file):
        check_number("wall_seconds", record["wall_seconds"], low=0)
        for name, keys in _SESSION_KEYS.items():
            for key in keys:
                of_type(name, record[name], dict)[key]
        of_type("began", record["began"], str)
        record["jobs_at_a_time"]
        for job in of_type("jobs", record["jobs"], dict).values():
            check_number("seconds", job["seconds"], low=0)
            check_integer("attempts", job["attempts"], low=0)
            for trouble in of_type("troubles", job["troubles"], list):
                of_type("a trouble", trouble, str)
    return record
