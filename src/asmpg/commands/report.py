"""`asmpg report`: the tables, the figures and the report of a study, as far as it has come."""

from pathlib import Path
from typing import NamedTuple

import jax
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from asmpg._support.errors import TrainingError
from asmpg._support.words import rounded
from asmpg.analysis import Results, Summary, collect, summarise, write_tables
from asmpg.analysis.figures import draw_figures
from asmpg.analysis.report import answer, page
from asmpg.studies import StudyFolder, write_text


class Report(NamedTuple):
    """A report that was written, and the numbers in it."""

    path: Path
    results: Results
    summary: Summary


def report(folder: str | Path, *, trust: bool = False) -> Path:
    """Write tables, figures and report of a study, as far as it has come; returns its path.

    A study may name modules to import. Those of a folder that came from somebody else are
    imported only with `trust`.

    >>> asmpg.report("runs/quick")
    """
    return write_report(StudyFolder(folder, trust=trust), quiet=True).path


def show(folder: Path, *, trust: bool) -> None:
    """Write the report, and print the scores."""
    show_report(write_report(StudyFolder(folder, trust=trust), quiet=False))


def write_report(folder: StudyFolder, *, quiet: bool) -> Report:
    """Write tables, figures and report into the folder of a study."""
    leave_the_gpu_to_the_jobs()
    with Console(stderr=True, quiet=quiet).status("Computing yardsticks, statistics and figures"):
        results = collect(folder)
        if not results.curves:
            raise TrainingError(f"{folder.path} has no whole run yet: nothing to report")
        summary = summarise(results)
        write_tables(results, summary, folder.path / "tables")
        pictures = draw_figures(results, summary, folder.path / "figures")
        path = folder.path / "report.html"
        write_text(path, page(folder, results, summary, pictures))
    return Report(path, results, summary)


def show_report(written: Report) -> None:
    """Print the scores, environment by environment, a row for each entry."""
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
    print(f"The report is {path}; tables and figures are beside it")


def leave_the_gpu_to_the_jobs() -> None:
    """Compute on the CPU: there is little to do, and the jobs need a GPU's memory."""
    jax.config.update("jax_platforms", "cpu")
