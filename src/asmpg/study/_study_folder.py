"""A study on disk: what it is, its runs, their logs, and a record of each session of work."""

import contextlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from asmpg._errors import CheckpointError
from asmpg.study._read_study import read_study
from asmpg.study._study import Job, Study
from asmpg.training import RunFolder, write_atomically

try:
    import fcntl
except ImportError:  # Windows has no such locks.
    fcntl = None

#: How long, in seconds, the workers of a killed runner may take to leave.
_LEAVE = 10.0


class StudyFolder:
    """The folder of a study; `StudyFolder(path)` opens one that is there.

    `runs/` has a run for each job, `logs/` what it said, `sessions/` when and where it was worked
    on; `study.json` is the study in full, `study.toml` the file it came from.
    """

    def __init__(self, path: str | Path):
        """Read `study.json`."""
        self.path = Path(path)
        file = self.path / "study.json"
        if not file.is_file():
            raise ValueError(f"{path} is not the folder of a study: it has no study.json")
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
            self.source: str = content["source"]
            self.changes: dict[str, Any] = content["changes"]
            self.study = read_study(content["study"], name="study")
        except (ValueError, TypeError, KeyError) as error:
            raise CheckpointError(f"{file} is damaged, or of another version: {error}") from None

    @classmethod
    def prepare(
        cls, path: str | Path, study: Study, *, source: str, text: str, changes: dict[str, Any]
    ) -> "StudyFolder":
        """Make a folder for `study`, or go on with one that holds it, or a part of it.

        A `ValueError` if a run is there already with another configuration.
        """
        path = Path(path)
        check_folder(path, study)
        content = {"source": source, "changes": changes, "study": study.to_dict()}
        path.mkdir(parents=True, exist_ok=True)
        write_text(path / "study.json", json.dumps(content, indent=2, ensure_ascii=False) + "\n")
        write_text(path / "study.toml", text)
        return cls(path)

    def run_path(self, job: Job) -> Path:
        """Where the run of a job lies."""
        return self.path / "runs" / job.name

    def log_path(self, job: Job) -> Path:
        """Where the job tells how it goes."""
        return self.path / "logs" / f"{job.name}.log"

    def finished(self, job: Job) -> bool:
        """Whether the run of a job is there, whole."""
        run = self.run_path(job)
        return (run / "config.json").is_file() and RunFolder(run).finished()

    def evaluations(self, job: Job) -> int:
        """How many rows of metrics the job has written."""
        path = self.run_path(job) / "metrics.csv"
        return max(0, path.read_bytes().count(b"\n") - 1) if path.exists() else 0

    def sessions(self) -> list[dict[str, Any]]:
        """The records of all sessions, oldest first."""
        files = sorted((self.path / "sessions").glob("*.json"))
        return [json.loads(file.read_text(encoding="utf-8")) for file in files]


def check_folder(path: Path, study: Study) -> None:
    """A `ValueError` if `path` cannot take `study`, because of what is there already."""
    if path.exists() and not (path / "study.json").is_file():
        if not path.is_dir():
            raise ValueError(f"out must be a folder, {path} is a file")
        if any(file.name != ".lock" and file.suffix != ".partial" for file in path.iterdir()):
            raise ValueError(f"out must be a new folder or that of a study, {path} is neither")
    for job in study.jobs():
        run = path / "runs" / job.name
        if not (run / "config.json").is_file():
            continue
        with contextlib.suppress(CheckpointError):  # Its job will fail and say so.
            known = RunFolder(run).config
            if differences := job.config.differences(known):
                raise ValueError(
                    f"{path} holds another study: in {job.name}, {'; '.join(differences)}; "
                    "choose another folder"
                )


@contextlib.contextmanager
def study_lock(path: Path) -> Iterator[int]:
    """Keep other runners out of the folder `path`; gives the descriptor that holds the lock.

    The lock lasts as long as any process has the descriptor open: handed on to workers, it tells
    when the last of them has left.
    """
    path.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        if fcntl is not None:
            _acquire(fcntl, descriptor, path)
        yield descriptor
    finally:
        os.close(descriptor)


def _acquire(locks: Any, descriptor: int, path: Path) -> None:
    until = time.monotonic() + _LEAVE
    while True:
        try:
            locks.flock(descriptor, locks.LOCK_EX | locks.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > until:
                raise ValueError(f"{path} is being worked on by another process") from None
            time.sleep(0.1)


def write_text(path: Path, text: str) -> None:
    """Put `text` in the place of the file `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, lambda file: file.write(text.encode()))
