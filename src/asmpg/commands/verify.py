"""`asmpg verify`: check the paper's theorems by comparing what they claim with measurements."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import rich.box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from asmpg import theory
from asmpg.analysis.figures import draw_convergence, draw_looseness
from asmpg.theory import Row

_STYLES = {"holds": "green", "fails": "bold red", "gap": "yellow"}


def verify(*, quick: bool = False) -> list[Row]:
    """Check the paper's theorems: what is claimed, predicted and measured, row by row.

    >>> [row for row in asmpg.verify(quick=True) if row.verdict == "fails"]
    """
    return list(_rows(quick=quick))


def _rows(*, quick: bool) -> Iterator[Row]:
    return theory.verify(theory.QUICK if quick else theory.FULL)


def show(*, quick: bool, as_json: bool, out: Path | None) -> None:
    """Check all claims and print them; exit with 1 if one fails.

    Gaps, statements that need more than the paper says, are shown but are not failures.
    """
    console = Console(stderr=True)
    rows: list[Row] = []
    with console.status("Checking the gradient theorems") as status:
        for row in _rows(quick=quick):
            rows.append(row)
            status.update(f"{len(rows)} claims checked, most recently: {row.claim}")
    entries = json.dumps([row.as_dict() for row in rows], indent=2)
    if as_json:
        print(entries)
    else:
        _print_rows(rows)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        (out / "theory.json").write_text(entries + "\n")
        for path in (draw_convergence(rows, out), draw_looseness(rows, out)):
            console.print(f"Drew {path}")
    if any(row.verdict == "fails" for row in rows):
        sys.exit(1)


def _print_rows(rows: list[Row]) -> None:
    """Two tables: what the paper proves, and the gaps."""
    console = Console()
    claims = [row for row in rows if row.kind != "gap"]
    gaps = [row for row in rows if row.kind == "gap"]
    console.print(_table("What the paper proves", claims))
    console.print(_table("What does not hold as written, or needs more than is stated", gaps))
    held = sum(row.verdict == "holds" for row in claims)
    shown = sum(row.verdict == "gap" for row in gaps)
    print(f"{held} of {len(claims)} claims hold; {shown} of {len(gaps)} gaps shown by example")


def _table(title: str, rows: list[Row]) -> Table:
    table = Table(title=title, box=rich.box.SIMPLE_HEAD, padding=(0, 1, 0, 0), title_justify="left")
    table.add_column("claim, and what was measured")
    for heading in ("measured", "predicted", "margin"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("verdict")
    for row in rows:
        claim = Text(row.claim).append(f"\n{row.statement}: {row.what}", style="dim")
        if row.note:
            claim.append(f"\n{row.note}", style="dim italic")
        verdict = Text(row.verdict, style=_STYLES[row.verdict])
        table.add_row(claim, f"{row.measured:.4g}", predicted(row), margin(row), verdict)
    return table


def predicted(row: Row) -> str:
    """The prediction, as the table shows it."""
    if row.kind == "identity":
        return f"0 ± {row.limit:g}"
    return f"≤ {row.limit:.4g}"


def margin(row: Row) -> str:
    """The bound as a multiple of what was measured."""
    return "" if row.looseness is None else f"{row.looseness:.4g} ×"
