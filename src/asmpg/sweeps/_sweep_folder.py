"""A sweep on disk: its file, its trials, their runs, logs, and a record of each session."""

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from asmpg._support.compile_cache import use_compile_cache
from asmpg._support.errors import NotFiniteError
from asmpg._support.files import naming, one_line, read_json, read_text
from asmpg.interop import ResolvedEnvironment
from asmpg.runs import RunConfig, RunFolder
from asmpg.studies import (
    JobFolder,
    check_free,
    evaluations_passed,
    folder_name,
    of_type,
    write_text,
)
from asmpg.sweeps._sweep import Sweep, Trial, TrialJob
from asmpg.sweeps._sweep_file import parse_sweep
from asmpg.training import build_program, train_together, with_progress

_FILE, _PLAN = "sweep.toml", "plan.json"
#: What may be another in the file of a sweep that has begun.
_MAY_CHANGE = ("name", "description", "trials", "abreast")


class SweepFolder(JobFolder[TrialJob]):
    """The folder of a sweep; `SweepFolder(path)` opens an existing one.

    `sweep.toml` is the sweep, `plan.json` has the trials so far and the jobs that take them
    further, `runs/ENVIRONMENT/TRIAL` the run of each trial. One that diverged, or whose options do
    not go together, has the reason there, in `failure.txt`. The modules that the sweep names in
    `imports` are imported with `trust` only.
    """

    def __init__(self, path: str | Path, *, trust: bool = False):
        self.path = Path(path)
        file = self.path / _FILE
        if not is_sweep(path):
            raise ValueError(f"{path} is not the folder of a sweep: it has no {_FILE}")
        self.text = read_text(file)
        self.sweep: Sweep = parse_sweep(self.text, name=str(file), trust=trust)
        self.trials, self._jobs = self._read_plan()

    @classmethod
    def prepare(cls, path: str | Path, text: str) -> "SweepFolder":
        """Make a folder for the sweep in the file `text`, or continue one that holds it.

        A `ValueError` if another one is there already.
        """
        path = Path(path)
        check_sweep_folder(path, text)
        write_text(path / _FILE, text)
        return cls(path, trust=True)

    def plan(self, trials: Sequence[Trial], jobs: Sequence[TrialJob]) -> None:
        """Record all trials so far, and the jobs to be done next."""
        content = {
            "trials": [{"batch": each.batch, "options": dict(each.options)} for each in trials],
            "jobs": [
                {
                    "environment": job.environment,
                    "trials": [trial.number for trial in job.trials],
                    "until": job.until,
                }
                for job in jobs
            ],
        }
        write_text(self.path / _PLAN, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
        self.trials, self._jobs = list(trials), list(jobs)

    def jobs(self) -> list[TrialJob]:
        return self._jobs

    def run_path(self, environment: str, trial: Trial) -> Path:
        return self.path / "runs" / folder_name(environment) / trial.name

    def failure(self, environment: str, trial: Trial) -> str | None:
        """Why a trial came to nothing in an environment; `None` if it did not."""
        file = self.run_path(environment, trial) / "failure.txt"
        return read_text(file).strip() if file.is_file() else None

    def fail(self, environment: str, trial: Trial, reason: BaseException) -> None:
        """Record that a trial came to nothing: it is not run again."""
        write_text(self.run_path(environment, trial) / "failure.txt", f"{one_line(reason)}\n")

    def reached(self, environment: str, trial: Trial, until: int) -> bool:
        """Whether all seeds of a trial have been evaluated at so many steps or more."""
        run = self.run_path(environment, trial)
        if not (run / "config.json").is_file():
            return False
        folder = RunFolder(run)
        return all(folder.status(seed).steps >= until for seed in folder.config.seeds)

    def finished(self, job: TrialJob) -> bool:
        return all(
            self.failure(job.environment, trial) is not None
            or self.reached(job.environment, trial, job.until)
            for trial in job.trials
        )

    def evaluations(self, job: TrialJob) -> int:
        runs = (self.run_path(job.environment, trial) for trial in job.trials)
        return sum(evaluations_passed(run, job.due) for run in runs)

    def run(self, job: TrialJob) -> None:
        """Train the trials of a job in one program; those that diverge are left behind."""
        use_compile_cache()
        resolved = job.config.resolve()
        left: list[tuple[Trial, RunConfig]] = []
        for trial, config in zip(job.trials, job.configs, strict=True):
            if self.failure(job.environment, trial) is None:
                try:
                    build_program(config, resolved)
                    left.append((trial, config))
                except ValueError as error:
                    self.fail(job.environment, trial, error)
        while left:
            try:
                self._train(job, left, resolved)
                return
            except NotFiniteError as error:
                trial, _ = left.pop(error.run)
                self.fail(job.environment, trial, error)

    def _train(
        self,
        job: TrialJob,
        trials: Sequence[tuple[Trial, RunConfig]],
        resolved: ResolvedEnvironment,
    ) -> None:
        paths = [self.run_path(job.environment, trial) for trial, _ in trials]
        configs = [config for _, config in trials]
        for path, config in zip(paths, configs, strict=True):
            if not (path / "config.json").exists():
                RunFolder.create(path, config.recording(resolved))
        train_together(
            configs,
            resolved,
            paths,
            resume=True,
            callbacks=with_progress((), 1),
            until=job.until,
        )

    def _read_plan(self) -> tuple[list[Trial], list[TrialJob]]:
        file = self.path / _PLAN
        if not file.is_file():
            return [], []
        content = read_json(file)
        with naming(file):
            trials = [
                Trial(
                    number,
                    of_type("batch", each["batch"], int),
                    of_type("options", each["options"], dict),
                )
                for number, each in enumerate(of_type("trials", content["trials"], list))
            ]
            jobs = [self._read_job(trials, each) for each in of_type("jobs", content["jobs"], list)]
        return trials, jobs

    def _read_job(self, trials: Sequence[Trial], job: dict[str, Any]) -> TrialJob:
        own = [trials[of_type("a trial", number, int)] for number in job["trials"]]
        return self.sweep.job(
            of_type("environment", job["environment"], str),
            own,
            of_type("until", job["until"], int),
        )


def is_sweep(path: str | Path) -> bool:
    """Whether there is the folder of a sweep."""
    return (Path(path) / _FILE).is_file()


def check_sweep_folder(path: Path, text: str) -> None:
    """A `ValueError` if `path` cannot take the sweep in `text`, because of what is there."""
    check_free(path, kind="sweep", mark=_FILE)
    if not is_sweep(path):
        return
    file = path / _FILE
    with naming(file):
        known = tomllib.loads(read_text(file))
    given = tomllib.loads(text)
    for key in sorted({*known, *given} - {*_MAY_CHANGE}):
        if known.get(key) != given.get(key):
            raise ValueError(
                f"{path} holds another sweep: {key} is {known.get(key)!r} there and "
                f"{given.get(key)!r} here; choose another folder"
            )
