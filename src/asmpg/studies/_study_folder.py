"""A study on disk: what it is, its runs and their best scores, logs, a record of each session."""

import bisect
import contextlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from asmpg._support.checks import check_integer, check_number
from asmpg._support.errors import CheckpointError
from asmpg._support.files import naming, one_line, read_json, write_atomically
from asmpg._support.locks import LOCK_NAME, folder_lock
from asmpg.runs import RunFolder
from asmpg.studies._study import Job, Study, WrongKeyError
from asmpg.studies._study_file import import_modules
from asmpg.studies._study_tables import read_study
from asmpg.training import evaluate

#: What a session says of its machine and its software.
_SESSION_KEYS = {
    "machine": ("processor", "cores", "memory_gib", "system"),
    "made_with": ("asmpg", "jax", "python", "commit"),
}
#: How long, in seconds, the workers of a killed runner may take to exit.
_EXIT_SECONDS = 10.0
#: Fresh episodes of a best checkpoint, for each episode of an evaluation.
_BEST_EPISODES = 10


class StudyFolder:
    """The folder of a study; `StudyFolder(path)` opens an existing one.

    `runs/` has a run for each job, `logs/` its output, `sessions/` when and where the study ran;
    `study.json` is the study in full, `study.toml` the file it came from. The modules that the
    study names in `imports` are imported with `trust` only.
    """

    def __init__(self, path: str | Path, *, trust: bool = False):
        self.path = Path(path)
        file = self.path / "study.json"
        if not file.is_file():
            raise ValueError(f"{path} is not the folder of a study: it has no study.json")
        content = read_json(file)
        with naming(file):
            self.source: str = _of_type("source", content["source"], str)
            self.changes: dict[str, Any] = _of_type("changes", content["changes"], dict)
            tables = _of_type("study", content["study"], dict)
        try:
            import_modules(tables, trust=trust)
        except WrongKeyError as error:
            raise ValueError(f"{file}: {one_line(error)}") from error
        with naming(file):
            self.study = read_study(tables, name="study")
            self.study.jobs()

    @classmethod
    def prepare(
        cls, path: str | Path, study: Study, *, source: str, text: str, changes: dict[str, Any]
    ) -> "StudyFolder":
        """Make a folder for `study`, or continue one that holds it, or a part of it.

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
        return self.path / "runs" / job.name

    def log_path(self, job: Job) -> Path:
        return self.path / "logs" / f"{job.name}.log"

    def best_path(self, job: Job) -> Path:
        """The file with the scores of the job's best checkpoints on fresh episodes."""
        return self.run_path(job) / "best.json"

    def trained(self, job: Job) -> bool:
        """Whether the run of a job is complete."""
        run = self.run_path(job)
        return (run / "config.json").is_file() and RunFolder(run).finished()

    def finished(self, job: Job) -> bool:
        """Whether a job is trained, and its best checkpoints are evaluated."""
        return self.trained(job) and self.best_path(job).is_file()

    def evaluations(self, job: Job) -> int:
        """How many of its evaluations the job has passed, all seeds together."""
        path = self.run_path(job) / "metrics.csv"
        lines = path.read_bytes().splitlines() if path.exists() else []
        cells = [line.split(b",", 2) for line in lines]
        last = {each[0]: int(each[1]) for each in cells if len(each) == 3 and each[1].isdigit()}
        due = job.config.evaluation_steps
        return sum(bisect.bisect_right(due, steps) for steps in last.values())

    def sessions(self) -> list[dict[str, Any]]:
        """The records of all sessions, oldest first."""
        return [_read_session(file) for file in sorted((self.path / "sessions").glob("*.json"))]


def check_folder(path: Path, study: Study) -> None:
    """A `ValueError` if `path` cannot take `study`, because of what is there already."""
    if path.exists() and not (path / "study.json").is_file():
        if not path.is_dir():
            raise ValueError(f"out must be a folder, {path} is a file")
        if any(file.name != LOCK_NAME and file.suffix != ".partial" for file in path.iterdir()):
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


def best_episodes(study: Study) -> int:
    """How many episodes each best checkpoint is evaluated on: the same number for every entry."""
    return _BEST_EPISODES * study.evaluation_episodes


def write_best_scores(folder: StudyFolder, job: Job) -> None:
    """Evaluate the best checkpoint of each seed on episodes that did not choose it.

    `best.json` has what `asmpg.evaluate` returns; it is not computed twice, and the same run gives
    the same file.
    """
    if _read_best(folder, job) is None:
        found = _evaluate_best(folder, job, job.config.seeds)
        write_text(folder.best_path(job), json.dumps(found, indent=1) + "\n")


def best_scores(folder: StudyFolder, job: Job, seeds: Sequence[int]) -> dict[int, dict[str, Any]]:
    """What `asmpg.evaluate` returns for the best checkpoint of each of `seeds`, by seed."""
    if _read_best(folder, job) is None and folder.trained(job):
        write_best_scores(folder, job)
    known = _read_best(folder, job)
    if known is None:
        known = _evaluate_best(folder, job, seeds)
    return {entry["seed"]: entry for entry in known if entry["seed"] in seeds}


def _evaluate_best(folder: StudyFolder, job: Job, seeds: Sequence[int]) -> list[dict[str, Any]]:
    run, episodes = folder.run_path(job), best_episodes(folder.study)
    for seed in seeds:
        path = RunFolder(run).checkpoint_path(seed, "best")
        if not path.exists():
            raise CheckpointError(f"{path} does not exist: its policy cannot be evaluated")
    return [
        entry
        for seed in seeds
        for entry in evaluate(
            run, episodes=episodes, greedy=job.config.greedy, seed=seed, which="best"
        )
    ]


def _read_best(folder: StudyFolder, job: Job) -> list[dict[str, Any]] | None:
    """The file, unless it is missing, damaged or of another number of episodes."""
    try:
        known = json.loads(folder.best_path(job).read_text(encoding="utf-8"))
        said = {(entry["seed"], entry["episodes"]) for entry in known}
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
    episodes = best_episodes(folder.study)
    return known if said == {(seed, episodes) for seed in job.config.seeds} else None


@contextlib.contextmanager
def study_lock(path: Path) -> Iterator[int]:
    """Keep other runners out of the folder `path`; gives the descriptor that holds the lock.

    Workers that inherit it keep the lock until the last of them has exited.
    """
    path.mkdir(parents=True, exist_ok=True)
    taken = f"{path} is in use by another process"
    with folder_lock(path, wait=_EXIT_SECONDS, taken=taken) as lock:
        yield lock.descriptor


def _read_session(file: Path) -> dict[str, Any]:
    record = read_json(file)
    with naming(file):
        check_number("wall_seconds", record["wall_seconds"], low=0)
        for name, keys in _SESSION_KEYS.items():
            for key in keys:
                _of_type(name, record[name], dict)[key]
        _of_type("began", record["began"], str)
        record["jobs_at_a_time"]
        for job in _of_type("jobs", record["jobs"], dict).values():
            check_number("seconds", job["seconds"], low=0)
            check_integer("attempts", job["attempts"], low=0)
            for trouble in _of_type("troubles", job["troubles"], list):
                _of_type("a trouble", trouble, str)
    return record


def _of_type(name: str, value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"{name} must be a {kind.__name__}, got {value!r}")
    return value


def write_text(path: Path, text: str) -> None:
    """Replace the file `path`, atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, lambda file: file.write(text.encode()))
