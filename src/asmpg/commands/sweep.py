"""`asmpg sweep`: search over options of a method, and plot how much each of them matters."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from asmpg._support.files import read_text
from asmpg._support.words import counted
from asmpg.commands._jobs import JobOptions, Where, raise_failures
from asmpg.commands.report import leave_the_gpu_to_the_jobs, show_sweep_report
from asmpg.studies import JobState, study_lock
from asmpg.studies.executors import ExecutorSettings
from asmpg.sweeps import (
    SweepFolder,
    SweepReport,
    check_sweep_folder,
    load_sweep,
    plan_next,
    write_sweep_report,
)


def sweep(
    file: str | Path,
    *,
    out: str | Path | None = None,
    executor: Where = "local",
    executor_options: Mapping[str, Any] | None = None,
    address: str | None = None,
    jobs: int | None = None,
    cpus: int | None = None,
    gpus: float | None = None,
    memory: float | None = None,
    device: Literal["auto", "cpu", "gpu"] = "auto",
    patience: float = 600.0,
    retries: int = 2,
    quiet: bool = False,
) -> SweepReport:
    """Run the missing trials of the sweep in a TOML file, and report its results.

    The modules listed in the file's `imports` are imported. The other arguments are those of
    `asmpg.study`. The `best` trial of the returned report has the best `options`; trials that
    diverge lose, without an error. Failed jobs raise a `TrainingError`.

    >>> asmpg.sweep("sweep.toml").best.trial.options
    """
    settings = ExecutorSettings(
        device=device,
        jobs=jobs,
        cpus=cpus,
        gpus=gpus,
        memory=memory,
        address=address,
        options=dict(executor_options or {}),
    )
    where = JobOptions(executor, settings, patience, retries, quiet)
    done = _run(Path(file), where, out=None if out is None else Path(out))
    raise_failures(done.folder, done.failed)
    return write_sweep_report(done.folder)


def show(file: str, *, out: Path | None, **options: Any) -> None:
    """Run and report, and print the best trials; `options` are those of `sweep`."""
    done = _run(Path(file), JobOptions.taken_from(options), out=out)
    raise_failures(done.folder, done.failed)
    show_sweep_report(write_sweep_report(done.folder))


class _Done(NamedTuple):
    folder: SweepFolder
    failed: list[JobState]


def _run(file: Path, where: JobOptions, *, out: Path | None) -> _Done:
    sweep = load_sweep(file)
    text = read_text(file)
    executor = where.make_executor()
    leave_the_gpu_to_the_jobs()
    path = out or Path("runs") / sweep.name
    check_sweep_folder(path, text)
    with study_lock(path) as lock:
        folder = SweepFolder.prepare(path, text)
        executor.hold_lock(lock)
        failed: list[JobState] = []
        while not failed and plan_next(folder):
            numbers = {trial.number for job in folder.jobs() for trial in job.trials}
            trials = f"{counted(len(numbers), 'trial')} of {folder.sweep.trials}"
            heading = f"{trials}, to step {folder.jobs()[0].until:,}"
            failed = where.run(folder, executor, heading=heading)
        return _Done(folder, failed)
