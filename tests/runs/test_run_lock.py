"""One process at a time trains in a folder, and only as long as the folder is there."""

import os
import shutil
import signal
import subprocess
import sys

import pytest

from asmpg import cli
from asmpg._support import locks
from asmpg._support.errors import CheckpointError, TrainingError
from asmpg.runs import RunFolder
from asmpg.training import Callback, train
from runs import small_config

#: Locks the run in argv[1], says so, and waits to be killed.
HOLD = """
import sys, time
from asmpg.runs import RunFolder
with RunFolder(sys.argv[1]).locked():
    print("locked", flush=True)
    time.sleep(60)
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "finished"
    train(small_config(), out)
    return out


@pytest.fixture
def run(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "run")


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr("asmpg.runs._folder._LEAVE", 0.1, raising=False)


class Once(Callback):
    """Does something at the third evaluation."""

    def __init__(self, do):
        self.left, self.do = 3, do

    def on_evaluation(self, seed, row):
        self.left -= 1
        if self.left == 0:
            self.do()


def contents(run):
    """All files but the lock, which says who holds it."""
    files = [path for path in run.rglob("*") if path.is_file() and path.name != ".lock"]
    return {path: path.read_bytes() for path in files}


def test_a_second_process_is_refused_and_writes_nothing(tmp_path, capsys):
    run, refused = tmp_path / "run", []

    def intrude():
        before = contents(run)
        with pytest.raises(ValueError, match="run is being trained by another process") as error:
            train(small_config(), run, resume=True)
        with pytest.raises(SystemExit) as stop:
            cli.main(["train", "--resume", str(run), "--quiet"])
        assert stop.value.code == 2
        with pytest.raises(ValueError, match="this very run"):
            train(small_config(), run)
        assert contents(run) == before
        refused.append(str(error.value))

    train(small_config(), run, callbacks=[Once(intrude)], verbose=0)
    assert len(refused) == 1
    assert "\n" not in refused[0]
    message = capsys.readouterr().err
    assert message == f"asmpg: error: {run} is being trained by another process\n"
    assert RunFolder(run).finished()


def test_a_lock_does_not_survive_kill_minus_nine(run):
    child = subprocess.Popen([sys.executable, "-c", HOLD, str(run)], stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"locked\n"
    with (
        pytest.raises(ValueError, match="being trained by another process"),
        RunFolder(run).locked(),
    ):
        pass
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    with RunFolder(run).locked():
        pass


def test_reading_needs_no_lock(run):
    with RunFolder(run).locked():
        assert len(RunFolder(run).rows()) == 10
        assert RunFolder(run).finished()


@pytest.mark.parametrize("resume", [False, True], ids=["read", "resume"])
@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda rows: rows[:2] + rows[1:], "are not those of its checkpoint|goes from step"),
        (lambda rows: rows[:4] + rows[5:], r"it has 4 evaluations of seed 1952|are not those"),
        (lambda rows: [rows[0], rows[2], rows[1], *rows[3:]], "are not those of|goes from step"),
        (lambda rows: [*rows[:3], _another_digit(rows[3]), *rows[4:]], "are not those of its"),
        (lambda rows: [_of_seed(row, 77) for row in rows], "seed 77 is not of|it has 0 eval"),
    ],
    ids=["duplicate", "missing", "order", "digit", "seed"],
)
def test_rows_must_be_those_of_the_checkpoints(run, damage, message, resume):
    path = run / "metrics.csv"
    heading, *rows = path.read_text().splitlines(keepends=True)
    path.write_text("".join([heading, *damage(rows)]))
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match=rf"metrics\.csv is damaged: .*({message})"):
        train(small_config(), run, resume=True) if resume else RunFolder(run).rows()
    assert path.read_bytes() == before


def _another_digit(row):
    cells = row.split(",")
    place = next(place for place, cell in enumerate(cells) if place > 3 and cell[-1] in "123456789")
    cells[place] = cells[place][:-1] + str(int(cells[place][-1]) - 1)
    return ",".join(cells)


def _of_seed(row, seed):
    return ",".join([str(seed), *row.split(",")[1:]])


def empty(run):
    """As `rm -r run/*` does: hidden files stay."""
    for path in run.iterdir():
        if not path.name.startswith("."):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def replace(run):
    run.rename(run.with_name("elsewhere"))
    shutil.copytree(run.with_name("elsewhere"), run)


@pytest.mark.parametrize("remove", [shutil.rmtree, empty, replace])
def test_a_folder_that_is_gone_ends_training(tmp_path, remove, monkeypatch):
    """Whatever is written next fails; nothing is made anew."""
    monkeypatch.setattr("asmpg.training._checkpointer._SHARE", 1.0)
    run, left = tmp_path / "run", {}

    def vanish():
        remove(run)
        left.update(contents(run))

    with pytest.raises(TrainingError, match="run was deleted or moved while its run was being"):
        train(small_config(), run, callbacks=[Once(vanish)])
    assert contents(run) == left
    assert run.exists() == (remove is not shutil.rmtree)


def test_the_command_line_says_that_the_folder_is_gone(tmp_path, monkeypatch, capsys):
    run = tmp_path / "run"
    gone = Once(lambda: shutil.rmtree(run))
    monkeypatch.setattr("asmpg.training._loop.with_progress", lambda *_: [gone])
    options = ["--method", "asmpg", "--policy", "tabular", "--num-states", "2", "--seeds", "2"]
    options += ["--steps", "2000", "--evaluate-every", "500", "--evaluation-episodes", "10"]
    options += ["--environment-option", "max_steps=20"]
    with pytest.raises(SystemExit) as stop:
        cli.main(["train", "CheeseMaze", *options, "--out", str(run)])
    assert stop.value.code == 1
    assert f"{run} was deleted or moved" in capsys.readouterr().err
    assert os.listdir(tmp_path) == []


@pytest.fixture
def elsewhere(monkeypatch):
    """Locks of a file system that does not hand them on, held by another machine's processes."""
    monkeypatch.setattr(locks, "_lock", lambda descriptor: True)
    monkeypatch.setattr(locks, "_BEAT_SECONDS", 0.05)
    monkeypatch.setattr(locks, "_LEASE_SECONDS", 0.5)

    def move(name):
        monkeypatch.setattr(locks, "_machine", lambda: name)

    return move


def lock(run):
    with RunFolder(run).locked():
        pass


def test_a_lock_of_another_machine_holds_while_it_gives_signs_of_life(run, elsewhere):
    elsewhere("one")
    with RunFolder(run).locked():
        elsewhere("two")
        with pytest.raises(locks.FolderInUseError, match="by another process on "):
            lock(run)
    lock(run)


def test_a_lock_of_a_machine_that_died_is_taken_and_it_cannot_write_any_more(
    run, elsewhere, monkeypatch
):
    elsewhere("one")
    monkeypatch.setattr(locks, "_beat", lambda *_: None)  # It sleeps, or its network is down.
    asleep = RunFolder(run)
    with asleep.locked():
        elsewhere("two")
        taken = RunFolder(run)
        with taken.locked():
            taken.check_in_place()
            with pytest.raises(TrainingError, match="another machine took it over"):
                asleep.check_in_place()
