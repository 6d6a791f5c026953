"""`asmpg verify` runs every claim, tells people and machines, and fails when one fails."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import jax.numpy as jnp
import pytest

from asmpg import cli
from asmpg.commands import verify as verify_command
from asmpg.theory import QUICK, Row, verify

ROOT = Path(__file__).parents[2]


@pytest.mark.long
def test_quick_holds_throughout_and_writes_what_it_prints(tmp_path):
    """What a user gets, from a process of its own."""
    command = [sys.executable, "-m", "asmpg.cli", "verify", "--quick", "--json", "--out"]
    done = subprocess.run([*command, str(tmp_path)], capture_output=True, check=False)
    rows = json.loads(done.stdout)
    assert [row["claim"] for row in rows if row["verdict"] == "fails"] == []
    assert done.returncode == 0
    assert sum(row["verdict"] == "holds" for row in rows) == 40
    assert sum(row["verdict"] == "gap" for row in rows) == 7
    assert json.loads((tmp_path / "theory.json").read_text()) == rows
    assert (tmp_path / "theory-convergence.png").stat().st_size > 10_000
    assert (tmp_path / "theory-looseness.png").stat().st_size > 10_000


def test_the_precision_of_the_caller_is_left_alone():
    rows = verify(dataclasses.replace(QUICK, seeds=(0,)))
    assert next(rows).verdict == "holds"
    assert jnp.zeros(()).dtype == jnp.float32


def row(measured, kind="bound"):
    return Row("a claim", "Theorem 7", "a number", measured, 1.0, kind=kind)


@pytest.mark.parametrize(
    ("rows", "code", "last"),
    [
        ([row(0.5), row(2.0, "gap")], 0, "1 of 1 claims hold; 1 of 1 gaps shown by example"),
        ([row(0.5), row(2.0)], 1, "1 of 2 claims hold; 0 of 0 gaps shown by example"),
        ([row(0.5), row(0.5, "gap")], 1, "1 of 1 claims hold; 0 of 1 gaps shown by example"),
        ([row(float("nan"))], 1, "0 of 1 claims hold; 0 of 0 gaps shown by example"),
    ],
)
def test_the_exit_code_and_the_table(rows, code, last, monkeypatch, capsys):
    monkeypatch.setattr("asmpg.theory.verify", lambda effort: iter(rows))
    if code:
        with pytest.raises(SystemExit) as stop:
            cli.main(["verify"])
        assert stop.value.code == code
    else:
        cli.main(["verify"])
    printed = capsys.readouterr().out
    assert printed.splitlines()[-1] == last
    assert "Theorem 7" in printed


def test_the_page_shows_what_the_command_wrote():
    page = (ROOT / "docs" / "theory.md").read_text()
    entries = json.loads((ROOT / "docs" / "images" / "theory.json").read_text())
    assert len(entries) == 47
    for entry in entries:
        fields = {field.name: entry[field.name] for field in dataclasses.fields(Row)}
        shown = Row(**fields | {"curve": None})
        assert shown.verdict == entry["verdict"]
        claim = shown.claim.replace("|", r"\|")
        numbers = f"{shown.measured:.4g} | {verify_command.predicted(shown)} |"
        assert f"| {claim} | " in page
        assert numbers in page
        assert f"{numbers} {verify_command.margin(shown)} |" in page or shown.kind == "gap"
