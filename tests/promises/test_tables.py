"""The tables of README and docs say what results/ says."""

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tables(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("tables")


def test_every_table_is_what_the_results_say(tables):
    assert tables.stale_pages(ROOT) == [], "run python benchmarks/tables.py"


def test_a_number_that_was_changed_by_hand_is_noticed_and_mended(tables, tmp_path):
    (tmp_path / "results").symlink_to(ROOT / "results")
    (tmp_path / "docs").mkdir()
    page = tmp_path / "README.md"
    page.write_text("<!-- table steps-to-95 -->\n<!-- end -->\n")
    assert tables.stale_pages(tmp_path, write=True) == [Path("README.md")]
    right = page.read_text()
    assert "CheeseMaze" in right
    assert tables.stale_pages(tmp_path) == []
    page.write_text(right.replace("18k", "8k"))
    assert tables.stale_pages(tmp_path) == [Path("README.md")]


def test_a_table_that_nobody_makes_is_an_error(tables, tmp_path):
    with pytest.raises(ValueError, match=r"a table is one of .*, got 'no-such'"):
        tables.rewritten("<!-- table no-such -->\n<!-- end -->", tmp_path)
