"""`asmpg report`: tables, figures and report of a study or sweep, from its results so far."""

from pathlib import Path
from typing import NamedTuple

import jax
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from asmpg._support.errors import TrainingError
from asmpg._support.words import percent, rounded
from asmpg.analysis import Results, Summary, collect, summarise, write_tables
from asmpg.analysis.figures import draw_figures
from asmpg.analysis.report import answer, page
from asmpg.studies import StudyFolder, write_text
from asmpg.sweeps import (
    SweepFolder,
    SweepReport,
    is_sweep,
    study_entry,
    train_commands,
    write_sweep_report,
)


class Report(NamedTuple):
    """A report that was written, and the numbers in it."""

    path: Path
    results: Results
    summary: Summary


def report(folder: str | Path, *, trust: bool = False) -> Path:
    """Write the tables, figures and report of a study or sweep so far; return the report's path.

    A study may name modules to import. For a folder that came from somebody else, they are imported
    only with `trust`.

    >>> asmpg.report("runs/quick")
    """
    if is_sweep(folder):
        return write_sweep_report(SweepFolder(folder, trust=trust)).path
    return write_report(StudyFolder(folder, trust=trust), quiet=True).path


def show(folder: Path, *, trust: bool) -> None:
    """Write the report, and print the scores."""
    if is_sweep(folder):
        leave_the_gpu_to_the_jobs()
        show_sweep_report(write_sweep_report(SweepFolder(folder, trust=trust)))
        return
    show_report(write_report(StudyFolder(folder, trust=trust), quiet=False))


def write_report(folder: StudyFolder, *, quiet: bool) -> Report:
    """Write tables, figures and report to the folder of a study."""
    leave_the_gpu_to_the_jobs()
    with Console(stderr=True, quiet=quiet).status("Computing yardsticks, statistics and figures"):
        results = collect(folder)
        if not results.curves:
            raise TrainingError(f"{folder.path} has no complete run yet: nothing to report")
        summary = summarise(results)
        write_tables(results, summary, folder.path / "tables")
        pictures = draw_figures(results, summary, folder.path / "figures")
        path = folder.path / "report.html"
        write_text(path, page(folder, results, summary, pictures))
    return Report(path, results, summary)


def show_report(written: Report) -> None:
    """Print the scores by environment, one row per entry."""
    path, results, summary = written
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
        for row, entry in enumerate(results.entries(environment)):
            cell = summary.cells[environment, entry]
            mark = "*" if cell is first else "+" if cell in close else " "
            last = f"{mark} {escape(cell.final.text)}"
            label = escape(results.study.entry(entry).label)
            table.add_row("" if row else environment, label, last, rounded(cell.best.value))
        table.add_section()
    Console().print(table)
    for environment, sentence in answer(results, summary).environments.items():
        print(f"{environment}: {sentence}")
    print(f"The report is {path}; tables and figures are next to it")


#: How many of the best trials are printed.
_MOST_TRIALS = 10


def show_sweep_report(written: SweepReport) -> None:
    """Print the best trials, how much each option matters, and how to continue with the best."""
    names = list(written.sweep.dimensions)
    ranked = written.ranked()
    table = Table(title="The best trials so far", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in ("trial", "status", "steps", "score", *names):
        table.add_column(heading, no_wrap=True)
    for each, status in ranked[:_MOST_TRIALS]:
        options = [escape(str(each.trial.options[name])) for name in names]
        cells = (str(each.trial.number), status, f"{each.steps:,}", rounded(each.score))
        table.add_row(*cells, *options)
    Console().print(table)
    matters = [
        f"{each.name} {percent(each.importance)}"
        for each in written.sensitivities
        if each.importance is not None
    ]
    if matters:
        print(f"Share of the score variance that each option explains alone: {', '.join(matters)}")
    if written.best is not None:
        print("\nTrain with the best options, on other seeds:\n")
        print("\n".join(train_commands(written.sweep, written.best.trial)))
        print(f"\nor in a study:\n\n{study_entry(written.sweep, written.best.trial)}\n")
    print(f"The report is {written.path}; tables and figures are next to it")


def leave_the_gpu_to_the_jobs() -> None:
    """Compute on the CPU: there is little to do, and the jobs need a GPU's memory."""
    jax.config.update("jax_platforms", "cpu")
