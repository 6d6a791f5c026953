"""`asmpg study`: run methods in environments side by side, and compare them."""

import concurrent.futures
import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from asmpg._support.checks import check_integer, check_number
from asmpg._support.errors import TrainingError
from asmpg._support.words import counted
from asmpg.commands._options import read_names, read_options, read_seeds
from asmpg.commands.report import Report, leave_the_gpu_to_the_jobs, show_report, write_report
from asmpg.studies import (
    JobState,
    Runner,
    StudyFolder,
    StudyProgress,
    check_folder,
    load_study,
    shipped_studies,
    study_lock,
    study_text,
)
from asmpg.studies.executors import Executor, ExecutorSettings, FuturesExecutor, make_executor


def study(
    name: str | Path,
    *,
    out: str | Path | None = None,
    executor: Executor | concurrent.futures.Executor | str = "local",
    executor_options: Mapping[str, Any] | None = None,
    address: str | None = None,
    jobs: int | None = None,
    cpus: int | None = None,
    gpus: float | None = None,
    memory: float | None = None,
    seeds: int | Sequence[int] | str | None = None,
    steps: int | None = None,
    environments: Sequence[str] | str | None = None,
    entries: Sequence[str] | str | None = None,
    device: Literal["auto", "cpu", "gpu"] = "auto",
    patience: float = 600.0,
    retries: int = 2,
    quiet: bool = False,
) -> Path:
    """Run what is missing of a study, and write its report; returns the folder of the study.

    `name` is a study that comes with the package, or a TOML file; the modules that the file names
    in `imports` are imported. `executor` is the name of a registered executor, any
    `concurrent.futures.Executor`, or an `asmpg.Executor` of your own, which then decides on `jobs`,
    `device` and the like itself. `seeds` is the number of seeds, or the seeds; `environments` and
    `entries` are those to run, by name or by pattern. The other arguments are those of `asmpg
    study`. Runs that fail are a `TrainingError`, after all others are done and reported.

    >>> asmpg.study("quick", out="runs/quick")
    """
    text = seeds if isinstance(seeds, str) or seeds is None else _seeds_text(seeds)
    settings = ExecutorSettings(
        device=device,
        jobs=jobs,
        cpus=cpus,
        gpus=gpus,
        memory=memory,
        address=address,
        options=dict(executor_options or {}),
    )
    options = {"executor": executor, "settings": settings, "seeds": text, "steps": steps}
    options |= {"environments": _names_text(environments), "entries": _names_text(entries)}
    options |= {"patience": patience, "retries": retries, "quiet": quiet}
    done = _run(str(name), out=None if out is None else Path(out), **options)
    _raise_failures(done)
    return done.folder.path


def show(name: str, *, executor_option: Sequence[str], **options: Any) -> None:
    """Run and report, and print the scores; `options` are those of `study`."""
    names = {field.name for field in dataclasses.fields(ExecutorSettings)} & options.keys()
    settings = ExecutorSettings(
        options=read_options("executor-option", executor_option),
        **{name: options.pop(name) for name in names},
    )
    done = _run(name, settings=settings, **options)
    show_report(done.report)
    _raise_failures(done)


class _Done(NamedTuple):
    folder: StudyFolder
    report: Report
    failed: list[JobState]


def _run(
    name: str,
    *,
    out: Path | None,
    executor: Executor | concurrent.futures.Executor | str,
    settings: ExecutorSettings,
    seeds: str | None,
    steps: int | None,
    environments: str | None,
    entries: str | None,
    patience: float,
    retries: int,
    quiet: bool,
) -> _Done:
    check_number("patience", patience, low=1)
    check_integer("retries", retries, low=0)
    if isinstance(executor, Executor) and settings != ExecutorSettings():
        raise ValueError("jobs, device and the like go with the name of an executor or with a pool")
    study, text, changes = load_study(name), study_text(name), {}
    if seeds is not None:
        changes["seeds"] = seeds
    if steps is not None:
        changes["steps"] = check_integer("steps", steps, low=1)
    parts = {"environments": environments, "entries": entries}
    changes |= {key: names for key, names in parts.items() if names is not None}
    study = study.changed(seeds=None if seeds is None else read_seeds(seeds), steps=steps)
    study = study.restricted(**{key: read_names(key, names) for key, names in parts.items()})
    executor = _made(executor, settings)
    leave_the_gpu_to_the_jobs()
    path = out or Path("runs") / study.name
    check_folder(path, study)
    with study_lock(path) as lock:
        source = name if name in shipped_studies() else "study.toml"
        folder = StudyFolder.prepare(path, study, source=source, text=text, changes=changes)
        executor.hold_lock(lock)
        progress = StudyProgress(quiet=quiet)
        runner = Runner(folder, executor, progress, patience=patience, retries=retries)
        try:
            failed = runner.run()
        except KeyboardInterrupt:
            raise KeyboardInterrupt("stopped; resume with the same command") from None
        return _Done(folder, write_report(folder, quiet=quiet), failed)


def _made(
    executor: Executor | concurrent.futures.Executor | str, settings: ExecutorSettings
) -> Executor:
    if isinstance(executor, str):
        return make_executor(executor, settings)
    if isinstance(executor, concurrent.futures.Executor):
        return FuturesExecutor(executor, settings)
    return executor


def _seeds_text(seeds: int | Sequence[int]) -> str:
    """As `--seeds` would be typed, for the command that the report shows."""
    return str(seeds) if isinstance(seeds, int) else "".join(f"{seed}," for seed in seeds)


def _names_text(names: Sequence[str] | str | None) -> str | None:
    return names if isinstance(names, str) or names is None else ",".join(names)


def _raise_failures(done: _Done) -> None:
    """A `TrainingError` that lists all jobs that failed, and why."""
    if not done.failed:
        return
    jobs = len(done.folder.study.jobs())
    lines = [
        f"  {state.job.name}, after {counted(state.attempts, 'attempt')}: {state.troubles[-1]}"
        f" (see {done.folder.log_path(state.job)})"
        for state in done.failed
    ]
    head = f"{len(done.failed)} of {jobs} jobs failed; the same command retries them:"
    raise TrainingError("\n".join([head, *lines]))
