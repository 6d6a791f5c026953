"""A study on disk: what it is, its runs and their best scores, logs, a record of each session."""

import contextlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from asmpg._support.errors import CheckpointError
from asmpg._support.files import naming, one_line, read_json
from asmpg.runs import RunFolder
from asmpg.studies._job_folder import JobFolder, check_free, evaluations_passed, of_type, write_text
from asmpg.studies._study import Job, Study, WrongKeyError
from asmpg.studies._study_file import import_modules
from asmpg.studies._study_tables import read_study
from asmpg.training import evaluate, train

#: Fresh episodes of a best checkpoint, for each episode of an evaluation.
_BEST_EPISODES = 10


class StudyFolder(JobFolder[Job]):
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
            self.source: str = of_type("source", content["source"], str)
            self.changes: dict[str, Any] = of_type("changes", content["changes"], dict)
            tables = of_type("study", content["study"], dict)
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

    def jobs(self) -> list[Job]:
        return self.study.jobs()

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
        return evaluations_passed(self.run_path(job), job.config.evaluation_steps)

    def run(self, job: Job) -> None:
        """Train, and evaluate the best checkpoints."""
        run = self.run_path(job)
        train(job.config, run, resume=(run / "config.json").exists())
        write_best_scores(self, job)


def check_folder(path: Path, study: Study) -> None:
    """A `ValueError` if `path` cannot take `study`, because of what is there already."""
    check_free(path, kind="study", mark="study.json")
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
