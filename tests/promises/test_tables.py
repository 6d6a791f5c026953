"""The tables of README and docs say what results/ says."""

import importlib
import json
import tomllib
from pathlib import Path

import pytest

from asmpg.studies import read_study

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


@pytest.mark.usefixtures("tables")
def test_the_figure_of_pomdp_files_has_a_panel_for_each_file_that_was_learned_in(tmp_path):
    classics = importlib.import_module("cassandra")
    figure = importlib.import_module("cassandra_figure")
    folders = (ROOT / "results/cassandra", ROOT / "results/cassandra/shipped")
    drawn = figure.draw(folders[0], tmp_path / "classics.png")
    assert drawn == sum(len(classics.learned_values(folder)) for folder in folders)
    assert (tmp_path / "classics.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("study", "folder"),
    [
        ("benchmarks/cassandra.toml", "results/cassandra"),
        ("src/asmpg/studies/files/cassandra.toml", "results/cassandra/shipped"),
    ],
)
def test_the_marks_of_the_studies_of_pomdp_files_are_the_results(study, folder):
    """To the digits that the study gives."""
    marks = read_study(tomllib.loads((ROOT / study).read_text()), name="classics").published
    for mark in marks:
        if not mark.name.startswith("solve-"):
            continue
        size = int(mark.name.removeprefix("solve-"))
        for environment, value in mark.values.items():
            report = json.loads((ROOT / folder / environment).with_suffix(".json").read_text())
            found = {each["num_states"]: each["value"] for each in report["controllers"]}
            assert value == pytest.approx(found[size], rel=1e-4, abs=1e-9), environment
