"""`asmpg study` and `asmpg report`: studies for people at a terminal."""

from pathlib import Path
from typing import Literal

import jax
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from asmpg._support.checks import check_integer, check_number
from asmpg._support.errors import TrainingError
from asmpg._support.machine import find_device
from asmpg._support.words import counted
from asmpg.analysis import Results, Summary, collect, interval_text, number, summarise, write_tables
from asmpg.analysis.report import answer, page
from asmpg.commands._runs import read_seeds
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
    write_text,
)
from asmpg.studies.executors import LocalExecutor


def run(
    name: str,
    *,
    out: Path | None,
    jobs: int | None,
    seeds: str | None,
    steps: int | None,
    device: Literal["auto", "cpu", "gpu"],
    patience: float,
    retries: int,
    quiet: bool,
) -> Path:
    """Run what is missing of a study, then write its tables, figures and report.

    Returns the folder of the study.
    """
    if jobs is not None:
        check_integer("jobs", jobs, low=1)
    check_number("patience", patience, low=1)
    check_integer("retries", retries, low=0)
    chosen = find_device() if device == "auto" else device
    _leave_the_gpu_to_the_jobs()
    study, text, changes = load_study(name), study_text(name), {}
    if seeds is not None:
        changes["seeds"] = seeds
    if steps is not None:
        changes["steps"] = check_integer("steps", steps, low=1)
    study = study.changed(seeds=None if seeds is None else read_seeds(seeds), steps=steps)
    source = name if name in shipped_studies() else "study.toml"
    path = out or Path("runs") / study.name
    check_folder(path, study)
    with study_lock(path) as lock:
        folder = StudyFolder.prepare(path, study, source=source, text=text, changes=changes)
        executor = LocalExecutor(chosen, jobs, hold=(lock,))
        progress = StudyProgress(quiet=quiet)
        runner = Runner(folder, executor, progress, patience=patience, retries=retries)
        try:
            failed = runner.run()
        except KeyboardInterrupt:
            raise KeyboardInterrupt("stopped; the same command goes on from here") from None
        _finish(folder, quiet=quiet)
    if failed:
        raise TrainingError(_account(failed, folder))
    return path


def report(folder: str | Path) -> Path:
    """Write tables, figures and report of a study, as far as it is; returns the report's path."""
    _leave_the_gpu_to_the_jobs()
    _finish(StudyFolder(Path(folder)), quiet=False)
    return Path(folder) / "report.html"


def _leave_the_gpu_to_the_jobs() -> None:
    """What is computed here is little, and a GPU's memory belongs to those who train."""
    jax.config.update("jax_platforms", "cpu")


def _finish(folder: StudyFolder, *, quiet: bool) -> None:
    from asmpg.analysis.figures import draw_figures

    console = Console(stderr=True, quiet=quiet)
    with console.status("Computing yardsticks, statistics and figures"):
        results = collect(folder)
        if not results.curves:
            raise TrainingError(f"{folder.path} has no whole run yet: nothing to report")
        summary = summarise(results)
        write_tables(results, summary, folder.path / "tables")
        pictures = draw_figures(results, summary, folder.path / "figures")
        write_text(folder.path / "report.html", page(folder, results, summary, pictures))
    _show(results, summary)
    print(f"The report is {folder.path / 'report.html'}; tables and figures are beside it")


def _show(results: Results, summary: Summary) -> None:
    """The scores, environment by environment, a row for each entry."""
    table = Table(
        title="Interquartile means over seeds, with 95 % intervals",
        caption="*: ends highest, +: indistinguishable from it",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    for heading in ("", "", "last evaluation", "best checkpoint"):
        table.add_column(heading, no_wrap=True)
    for environment in results.environments:
        first, close = summary.winner(environment)
        for place, entry in enumerate(results.entries(environment)):
            cell = summary.cells[environment, entry]
            mark = "*" if cell is first else "+" if cell in close else " "
            last = f"{mark} {escape(interval_text(cell.final))}"
            label = escape(results.study.entry(entry).label)
            table.add_row("" if place else environment, label, last, number(cell.best.value))
        table.add_section()
    Console().print(table)
    for environment, sentence in answer(results, summary).environments.items():
        print(f"{environment}: {sentence}")


def _account(failed: list[JobState], folder: StudyFolder) -> str:
    """All jobs that failed, and why."""
    jobs = len(folder.study.jobs())
    lines = [
        f"  {state.job.name}, after {counted(state.attempts, 'attempt')}: {state.troubles[-1]}"
        f" (see {folder.log_path(state.job)})"
        for state in failed
    ]
    return "\n".join(
        [f"{len(failed)} of {jobs} jobs failed; the same command tries them again:", *lines]
    )
