"""`asmpg study`: run several methods in several environments, and compare them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from asmpg._support.checks import check_integer
from asmpg.commands._jobs import JobOptions, Where, raise_failures
from asmpg.commands._options import read_names, read_seeds
from asmpg.commands.report import Report, leave_the_gpu_to_the_jobs, show_report, write_report
from asmpg.studies import (
    JobState,
    StudyFolder,
    check_folder,
    load_study,
    shipped_studies,
    study_lock,
    study_text,
)
from asmpg.studies.executors import ExecutorSettings


def study(
    name: str | Path,
    *,
    out: str | Path | None = None,
    executor: Where = "local",
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
    """Run the missing jobs of a study, and write its report; return the folder of the study.

    `name` is a built-in study or a TOML file; the modules listed in the file's `imports` are
    imported. `executor` is the name of a registered executor, any `concurrent.futures.Executor`, or
    your own `asmpg.Executor`, which then decides on `jobs`, `device` and the like itself. `seeds`
    is the number of seeds, or the seeds themselves; `environments` and `entries` select what to
    run, by name or pattern. The other arguments are those of `asmpg study`. Failed runs raise a
    `TrainingError`, once all others are done and reported.

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
    done = _run(
        str(name),
        JobOptions(executor, settings, patience, retries, quiet),
        out=None if out is None else Path(out),
        seeds=text,
        steps=steps,
        environments=_names_text(environments),
        entries=_names_text(entries),
    )
    raise_failures(done.folder, done.failed)
    return done.folder.path


def show(name: str, **options: Any) -> None:
    """Run and report, and print the scores; `options` are those of `study`."""
    done = _run(name, JobOptions.taken_from(options), **options)
    show_report(done.report)
    raise_failures(done.folder, done.failed)


class _Done(NamedTuple):
    folder: StudyFolder
    report: Report
    failed: list[JobState]


def _run(
    name: str,
    where: JobOptions,
    *,
    out: Path | None,
    seeds: str | None,
    steps: int | None,
    environments: str | None,
    entries: str | None,
) -> _Done:
    study, text, changes = load_study(name), study_text(name), {}
    if seeds is not None:
        changes["seeds"] = seeds
    if steps is not None:
        changes["steps"] = check_integer("steps", steps, low=1)
    parts = {"environments": environments, "entries": entries}
    changes |= {key: names for key, names in parts.items() if names is not None}
    study = study.changed(seeds=None if seeds is None else read_seeds(seeds), steps=steps)
    study = study.restricted(**{key: read_names(key, names) for key, names in parts.items()})
    executor = where.make_executor()
    leave_the_gpu_to_the_jobs()
    path = out or Path("runs") / study.name
    check_folder(path, study)
    with study_lock(path) as lock:
        source = name if name in shipped_studies() else "study.toml"
        folder = StudyFolder.prepare(path, study, source=source, text=text, changes=changes)
        executor.hold_lock(lock)
        failed = where.run(folder, executor)
        return _Done(folder, write_report(folder, quiet=where.quiet), failed)


def _seeds_text(seeds: int | Sequence[int]) -> str:
    """As `--seeds` would be typed, for the command that the report shows."""
    return str(seeds) if isinstance(seeds, int) else "".join(f"{seed}," for seed in seeds)


def _names_text(names: Sequence[str] | str | None) -> str | None:
    return names if isinstance(names, str) or names is None else ",".join(names)
