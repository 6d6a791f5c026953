"""`asmpg study` and `asmpg report`: studies for people at a terminal."""

from pathlib import Path
from typing import Any, Literal

import jax
from rich import box
from rich.console import Console
from rich.table import Table

from asmpg._check import check_integer, check_number
from asmpg._errors import TrainingError
from asmpg.study._job_state import JobState
from asmpg.study._results import Results, collect
from asmpg.study._runner import Runner
from asmpg.study._study_file import load_study, shipped_studies, study_text
from asmpg.study._study_folder import StudyFolder, study_lock, write_text
from asmpg.study._study_progress import StudyProgress
from asmpg.study._summary import Summary, summarise
from asmpg.study._tables import write_tables
from asmpg.study.executors import LocalExecutor, find_device
from asmpg.study.report import answer, page
from asmpg.study.run_commands import read_seeds


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
) -> None:
    """Run what is missing of a study, then write its tables, figures and report."""
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


def report(path: Path) -> None:
    """Write tables, figures and report of a study, as far as it is."""
    _leave_the_gpu_to_the_jobs()
    _finish(StudyFolder(path), quiet=False)


def _leave_the_gpu_to_the_jobs() -> None:
    """What is computed here is little, and a GPU's memory belongs to those who train."""
    jax.config.update("jax_platforms", "cpu")


def _finish(folder: StudyFolder, *, quiet: bool) -> None:
    from asmpg.study.figures import draw_figures

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
    """The last scores, a row for each entry, a column for each environment."""
    table = Table(
        title="Interquartile mean of the last evaluations",
        caption="in brackets: 95 % interval; *: highest of its column, +: not to be told from it",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    table.add_column("")
    marks: dict[Any, str] = {}
    for environment in results.environments:
        table.add_column(f"{environment}\n{results.scores[environment].label}", justify="right")
        first, close = summary.winner(environment)
        marks |= {(environment, first.entry): "*"}
        marks |= {(environment, cell.entry): "+" for cell in close}
    for entry in results.study.entries:
        cells = []
        for environment in results.environments:
            cell = summary.cells.get((environment, entry.name))
            if cell is None:
                cells.append("–")
                continue
            mark = marks.get((environment, entry.name), " ")
            value, low, high = cell.final
            cells.append(f"{value:.3g}{mark}\n[{low:.3g}, {high:.3g}] ".replace("[", r"\["))
        table.add_row(entry.label, *cells)
    Console().print(table)
    for environment, sentence in answer(results, summary).environments.items():
        print(f"{environment}: {sentence}")


def _account(failed: list[JobState], folder: StudyFolder) -> str:
    """All jobs that failed, and why."""
    lines = [
        f"  {state.job.name}, after {state.attempts} attempts: {state.troubles[-1]}"
        f" (see {folder.log_path(state.job)})"
        for state in failed
    ]
    return "\n".join([f"{len(failed)} jobs failed; the same command tries them again:", *lines])
