"""A run that was stopped, in whatever way, ends bit for bit as if it had not been."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time

import pytest

import asmpg
from asmpg._support.errors import CheckpointError
from asmpg.cli import main
from asmpg.runs import RunFolder
from asmpg.training import Callback, train
from quick import long
from runs import assert_same_runs, small_config, timeless


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "unbroken"
    train(small_config(), out)
    return out


@pytest.fixture
def eager(monkeypatch):
    """Write checkpoints at every chance."""
    monkeypatch.setattr("asmpg.training._checkpointer._SHARE", 1.0)


class Death(BaseException):
    """Nothing but a `kill` would be as sudden."""


class After(Callback):
    """Does something after so many evaluations."""

    def __init__(self, count, do):
        self.left, self.do = count, do

    def on_evaluation(self, seed, row):
        self.left -= 1
        if self.left == 0:
            self.do()


def die():
    raise Death


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("count", [2, 9, *map(long, (1, 5, 10))])
def test_a_run_that_died_between_evaluations(unbroken, tmp_path, count):
    with pytest.raises(Death):
        train(small_config(), tmp_path / "run", callbacks=[After(count, die)])
    result = train(small_config(), tmp_path / "run", resume=True)
    assert_same_runs(tmp_path / "run", unbroken)
    assert timeless(result.rows) == timeless(RunFolder(unbroken).rows())


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("write", [3, 6, 7, 8, *map(long, (4, 5, *range(9, 16)))])
def test_a_run_that_died_while_writing(unbroken, tmp_path, monkeypatch, write):
    """Each time another file is written but not yet in its place."""
    left, replace = [write], os.replace

    def fail(source, target):
        left[0] -= 1
        if left[0] == 0:
            raise Death
        replace(source, target)

    with monkeypatch.context() as context:
        context.setattr("os.replace", fail)
        with pytest.raises(Death):
            train(small_config(), tmp_path / "run")
    (tmp_path / "run" / "config.json.partial").write_bytes(b"half")
    train(small_config(), tmp_path / "run", resume=True)
    assert_same_runs(tmp_path / "run", unbroken)


def test_a_run_that_died_twice_on_a_device_where_seeds_go_abreast(tmp_path, monkeypatch):
    monkeypatch.setattr("asmpg.training._loop._in_one_program", lambda: True)
    train(small_config(), tmp_path / "unbroken")
    run = tmp_path / "run"
    for count in (3, 4):
        with pytest.raises(Death):
            train(small_config(), run, resume=run.exists(), callbacks=[After(count, die)])
    train(small_config(), run, resume=True)
    assert_same_runs(run, tmp_path / "unbroken")


def test_checkpoints_do_not_depend_on_how_they_are_fetched(tmp_path, monkeypatch):
    """All at a time, two at a time, and one by one without the device's help."""
    monkeypatch.setattr("asmpg.training._loop._in_one_program", lambda: True)
    config = small_config(seeds=(3, 1, 4, 15, 9), steps=500)
    train(config, tmp_path / "all")
    monkeypatch.setattr("asmpg.training._seed_batches._FETCHED", 2)
    train(config, tmp_path / "pairs")
    assert_same_runs(tmp_path / "all", tmp_path / "pairs")
    monkeypatch.setattr("asmpg.runs._packing._MOST_WORDS", 0)
    train(config, tmp_path / "plain")
    assert_same_runs(tmp_path / "all", tmp_path / "plain")


def test_a_run_from_before_agent_states_were_counted(unbroken, tmp_path, monkeypatch):
    run = tmp_path / "run"
    with monkeypatch.context() as context:
        context.setattr("asmpg.runs._metrics.MEMORY_MEASURES", ())
        with pytest.raises(Death):
            train(small_config(), run, callbacks=[After(5, die)])
    train(small_config(), run, resume=True)
    rows, others = RunFolder(run).rows(), RunFolder(unbroken).rows()
    assert others[0].keys() - rows[0].keys() == {"memory_entropy", "states_in_use"}
    assert timeless(rows) == timeless([{name: row[name] for name in rows[0]} for row in others])
    assert [path.name for path in asmpg.plot(run)] == ["learning_curve.png", "learning_curve.svg"]


def test_rows_without_a_checkpoint_are_dropped(unbroken, tmp_path):
    with pytest.raises(Death):
        train(small_config(), tmp_path / "run", callbacks=[After(1, die)])
    rows = tmp_path / "run" / "metrics.csv"
    first = rows.read_text().splitlines()[1]
    rows.write_text(rows.read_text() + f"{first}\n{first[:20]}")
    train(small_config(), tmp_path / "run", resume=True)
    assert_same_runs(tmp_path / "run", unbroken)


@pytest.mark.usefixtures("eager")
def test_missing_rows_are_an_error(tmp_path):
    run = tmp_path / "run"
    with pytest.raises(Death):
        train(small_config(), run, callbacks=[After(8, die)])
    heading = (run / "metrics.csv").read_text().splitlines(keepends=True)[0]
    (run / "metrics.csv").write_text(heading)
    with pytest.raises(CheckpointError, match=r"metrics\.csv is damaged: it has 0 evaluations"):
        train(small_config(), run, resume=True)
    (run / "metrics.csv").write_text("seed,steps\n")
    with pytest.raises(CheckpointError, match=r"metrics\.csv is damaged: its first line must be"):
        train(small_config(), run, resume=True)
    (run / "metrics.csv").write_text(f"{heading}1952,many\n")
    with pytest.raises(CheckpointError, match=r"metrics\.csv is damaged: line 2"):
        train(small_config(), run, resume=True)


def test_ctrl_c_keeps_every_finished_evaluation(unbroken, tmp_path):
    seen = []

    class Watch(Callback):
        def on_evaluation(self, seed, row):
            seen.append(row)

    handler = signal.getsignal(signal.SIGINT)
    interrupt = After(4, lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        train(small_config(), tmp_path / "run", callbacks=[Watch(), interrupt])
    folder = RunFolder(tmp_path / "run")
    assert timeless(folder.rows()) == timeless(seen)
    assert sum(folder.status(seed).evaluations for seed in folder.config.seeds) == len(seen)
    assert 4 <= len(seen) < 10
    assert signal.getsignal(signal.SIGINT) is handler
    train(small_config(), tmp_path / "run", resume=True)
    assert_same_runs(tmp_path / "run", unbroken)


def test_a_finished_run_has_nothing_left_to_do(unbroken):
    before = (unbroken / "metrics.csv").read_bytes()
    result = train(small_config(), unbroken, resume=True, callbacks=[After(1, die)])
    assert (unbroken / "metrics.csv").read_bytes() == before
    assert timeless(result.rows) == timeless(RunFolder(unbroken).rows())


def test_resume_needs_a_folder():
    with pytest.raises(ValueError, match="resume needs out"):
        train(small_config(), resume=True)


def test_kill_minus_nine(tmp_path):
    """A process of its own, killed twice without warning, then taken over by this one."""
    config = small_config(steps=30_000, evaluate_every=200)
    run = tmp_path / "run"
    code = (
        "import json, sys; from asmpg.training import _checkpointer, train;"
        "from asmpg.runs import RunConfig;"
        "_checkpointer._SHARE = 1.0;"
        "config = RunConfig.from_dict(json.loads(sys.argv[1]));"
        "train(config, sys.argv[2], resume=True)"
    )
    last = RunFolder.create(run, config).checkpoint_path(1952, "last")
    counts = []
    for _ in range(2):
        before = last.stat().st_mtime_ns if last.exists() else 0
        child = subprocess.Popen(
            [sys.executable, "-c", code, json.dumps(config.to_dict()), str(run)],
            env=os.environ
            | {
                "JAX_COMPILATION_CACHE_DIR": str(tmp_path / "cache"),
                "JAX_DISABLE_MOST_OPTIMIZATIONS": "1",  # as here, to the bit
            },
        )
        while child.poll() is None and not (last.exists() and last.stat().st_mtime_ns > before):
            time.sleep(0.001)
        child.send_signal(signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL
        counts.append(RunFolder(run).status(1952).evaluations)
    assert 0 < counts[0] < counts[1] < len(config.evaluation_steps)
    train(config, run, resume=True)
    train(config, tmp_path / "unbroken")
    assert_same_runs(run, tmp_path / "unbroken")


@pytest.mark.parametrize("finished", [True, False])
def test_a_run_goes_on_to_more_steps(tmp_path, finished):
    """However often: rows are added, those that were there stay, and nothing is done twice."""
    out, config = tmp_path / "run", small_config(steps=250, evaluate_every=100)
    if finished:
        train(config, out)
    else:
        with pytest.raises(Death):
            train(config, out, callbacks=[After(3, die)])
    before = RunFolder(out).rows()
    longer = dataclasses.replace(config, steps=600)
    result = train(longer, out, resume=True)
    folder = RunFolder(out)
    assert folder.config.steps == 600
    assert folder.finished()
    assert timeless(folder.rows()) == timeless(result.rows)
    for seed in config.seeds:
        own, earlier = (
            [row for row in rows if row["seed"] == seed] for rows in (folder.rows(), before)
        )
        assert timeless(own[: len(earlier)]) == timeless(earlier)
        assert own[-1]["steps"] >= 600
    train(dataclasses.replace(config, steps=700), out, resume=True)
    assert json.loads((out / "config.json").read_text())["earlier_steps"] == [250, 600]
    with pytest.raises(ValueError, match="steps is 700 there and 600 here"):
        train(longer, out, resume=True)


def test_more_steps_at_the_command_line(tmp_path, capsys):
    out = tmp_path / "run"
    train(small_config(), out)
    steps = small_config().steps
    with pytest.raises(SystemExit):
        main(["train", "--resume", str(out), "--steps", str(steps - 1), "--quiet"])
    assert f"--steps must be at least {steps:,}" in capsys.readouterr().err
    main(["train", "--resume", str(out), "--steps", str(2 * steps), "--quiet"])
    assert RunFolder(out).config.steps == 2 * steps
    assert RunFolder(out).finished()
