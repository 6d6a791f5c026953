"""`asmpg solve` bounds, searches, draws, and does not do again what is done."""

import json

import numpy as np
import pytest

import asmpg
from asmpg import cli
from asmpg._support.errors import CheckpointError

pytestmark = pytest.mark.long_running

FILE = "tiger-alt-start.pomdp"


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    out = tmp_path_factory.mktemp("solved") / "tiger"
    return out, asmpg.solve(FILE, num_states=(2, 5), seconds=6, out=out)


def test_the_report_has_bounds_and_a_controller_of_each_size(solved):
    _, report = solved
    bounds = report["bounds"]
    assert (report["name"], report["states"], report["discount"]) == ("tiger-alt-start", 5, 0.95)
    # The optimum is 3.770; after it was found, time goes to the controllers.
    assert bounds["lower"] <= 3.771 <= bounds["upper"] + 0.001
    assert bounds["upper"] - bounds["lower"] < 0.02
    assert [entry["num_states"] for entry in report["controllers"]] == [2, 5]
    assert all(entry["value"] <= bounds["upper"] for entry in report["controllers"])


def test_machines_pictures_and_tables_are_written(solved):
    out, report = solved
    dot = (out / "machine-5.dot").read_text()
    assert dot.startswith('digraph "tiger-alt-start" {')
    assert "start -> s" in dot
    assert "listen" in dot
    assert asmpg.Machine.load(out / "machine-5.fsc").action_names[0] == "listen"
    assert (out / "values.png").read_bytes().startswith(b"\x89PNG")
    with np.load(out / "controller-5.npz") as tables:
        np.testing.assert_allclose(np.exp(tables["log_nu"]).sum(axis=-1), 1, rtol=1e-5)
    assert json.loads((out / "solve.json").read_text())["controllers"] == report["controllers"]


def test_what_is_there_is_not_solved_again(solved, monkeypatch, capsys):
    out, report = solved

    def refuse(*_, **__):
        raise AssertionError

    monkeypatch.setattr("asmpg.commands.solve.value_bounds", refuse)
    assert asmpg.solve(FILE, num_states=(2, 5), out=out) == report
    cli.main(["solve", FILE, "--num-states", "5", "--out", str(out), "--json"])
    assert json.loads(capsys.readouterr().out)["controllers"] == report["controllers"][1:]
    cli.main(["solve", FILE, "--num-states", "2", "--out", str(out)])
    shown = capsys.readouterr().out
    assert "No policy is worth more than 3.77" in shown


def test_a_folder_of_another_problem_is_refused(solved):
    out, _ = solved
    with pytest.raises(CheckpointError, match=r"solve\.json .*of another problem, whose discount"):
        asmpg.solve(FILE, discount=0.9, out=out)


def test_a_damaged_file_is_refused(solved, tmp_path):
    (tmp_path / "solve.json").write_text((solved[0] / "solve.json").read_text()[:-20])
    with pytest.raises(CheckpointError, match=r"solve\.json is damaged"):
        asmpg.solve(FILE, num_states=(2, 5), out=tmp_path)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--num-states", "0"], "num-states must be integers in [1, 1000] separated by commas"),
        (["--num-states", "2,x"], "num-states must be integers in [1, 1000] separated by commas"),
        (["--time", "-1"], "seconds must be a number of at least 0"),
        (["--discount", "1"], "discount must be below 1 over an infinite horizon, got 1"),
        (["--environment-option", "goals=1"], "must be among: path, max_steps"),
    ],
)
def test_wrong_options_are_named(words, message, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["solve", FILE, *words])
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


def test_only_finite_models_can_be_solved(capsys):
    with pytest.raises(SystemExit):
        cli.main(["solve", "VelocityOnlyCartPole"])
    assert "environment must have a finite model to be solved" in capsys.readouterr().err
