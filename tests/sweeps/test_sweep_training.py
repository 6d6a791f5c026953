"""Trials in one program: stopped at a rung and resumed, and left behind where they diverge."""

import csv

import pytest

import asmpg
from asmpg import cli
from asmpg.runs import RunFolder
from asmpg.studies import worker
from asmpg.studies.executors import Executor
from sweeps import SWEEP, Ended

TEXT = (
    SWEEP.replace("trials = 8\nrungs = [250, 500]", 'how = "grid"\nrungs = [250]')
    .replace('scale = "log"', "")
    .replace("low = 1e-3\nhigh = 1e-1", "values = [0.01, 0.1, 3.4e38]")
    .replace("steps = 1_000", "steps = 500")
    .replace("values = [2, 3]", "values = [2]")
)


class Here(Executor):
    """Does jobs in this process, as a worker does."""

    slots = 1
    poll_seconds = 0.0

    def submit(self, folder, job, log):
        assert worker._train(folder, job) == 0
        return Ended()


@pytest.fixture(scope="module")
def _one_program():
    """As on a GPU, all seeds of all trials in one program."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("asmpg.training._loop._in_one_program", lambda: True)
        yield


@pytest.fixture(scope="module")
def swept(tmp_path_factory, _one_program):
    """The folder of a sweep, and what it found."""
    folder = tmp_path_factory.mktemp("sweep")
    (folder / "my.toml").write_text(TEXT)
    found = asmpg.sweep(folder / "my.toml", out=folder / "out", executor=Here(), quiet=True)
    return folder, found


def test_a_trial_that_diverges_is_left_behind_by_those_beside_it(swept):
    _, found = swept
    assert found.statuses.count("finished") == 1
    assert [each.trial.options["learning_rate"] for each in found.results if each.failure] == [
        3.4e38
    ]
    assert "not a finite number" in found.results[2].failure


def test_a_trial_that_was_stopped_at_a_rung_goes_on_as_if_nothing_had_happened(swept):
    folder, found = swept
    best = found.best.trial
    config = found.sweep.config("CheeseMaze", best)
    method = config.make_method()
    asmpg.learn(
        [method, method],
        "CheeseMaze",
        steps=500,
        evaluate_every=250,
        evaluation_episodes=10,
        seeds=config.seeds,
        environment_options={"max_steps": 20},
        out=folder / "whole",
        verbose=0,
    )
    parts, whole = (
        [{**row, "wall_seconds": 0} for row in RunFolder(path).rows()]
        for path in (folder / "out" / "runs" / "CheeseMaze" / best.name, folder / "whole" / "0")
    )
    assert len(parts) == len(config.seeds) * 3
    for one, other in zip(parts, whole, strict=True):
        assert one == pytest.approx(other, rel=1e-5, nan_ok=True)
    [stopped] = [each for each in found.results if each.failure is None and each is not found.best]
    assert stopped.steps == 250
    rows = RunFolder(folder / "out" / "runs" / "CheeseMaze" / stopped.trial.name).rows()
    assert len(rows) == len(config.seeds) * 2


def test_the_report_says_how_to_go_on(swept, capsys):
    folder, found = swept
    out = folder / "out"
    assert asmpg.report(out) == out / "report.html"
    cli.main(["report", str(out)])
    said = capsys.readouterr().out
    options = found.best.trial.options
    command = next(line for line in said.splitlines() if line.startswith("asmpg train CheeseMaze"))
    assert f"--option=learning_rate={options['learning_rate']}" in command
    assert "--environment-option=max_steps=20" in command
    assert "[entries.asmpg-tuned]" in said
    page = (out / "report.html").read_text()
    assert command in page
    assert "data:image/svg+xml" in page
    assert (out / "figures" / "sensitivity.png").stat().st_size > 0
    with open(out / "tables" / "trials.csv") as file:
        rows = list(csv.DictReader(file))
    assert [row["status"] for row in rows].count("stopped") == 1
    assert float(rows[found.best.trial.number]["score"]) == pytest.approx(found.best.score)
