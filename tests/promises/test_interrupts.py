"""Ctrl-C ends the command line with one line and exit code 130, whenever it comes."""

import os
import signal
import subprocess
import sys
import time

import pytest

from quick import long

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals to other processes")


#: What a shell runs in the background ignores Ctrl-C, and so would what it starts.
_HEED_CTRL_C = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.fixture
def start():
    """Starts the command line; whatever is still running at the end is killed."""
    processes = []

    def start(*arguments, options=()):
        command = [sys.executable, *options, "-m", "asmpg", *map(str, arguments)]
        process = subprocess.Popen(
            [sys.executable, "-c", _HEED_CTRL_C, *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()


def wait_for(process, words):
    """Read standard error up to a line that has `words`."""
    for line in process.stderr:
        if words in line:
            return
    raise AssertionError(f"{words!r} was never said")


def interrupted(process, *, times=1):
    """What is left of standard error after Ctrl-C, given `times` in a row."""
    for _ in range(times):
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            time.sleep(0.3)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert "Exception ignored" not in errors
    return errors.splitlines()


@pytest.mark.parametrize("module", [long("tyro"), "jax._src.core", long("asmpg.methods")])
def test_ctrl_c_while_modules_are_imported(start, module, tmp_path):
    process = start("train", "CheeseMaze", "--out", tmp_path / "run", options=["-X", "importtime"])
    wait_for(process, f" {module}\n")
    assert interrupted(process)[-1] == "asmpg: stopped"
    assert not (tmp_path / "run").exists()


def test_three_times_ctrl_c_while_training(start, tmp_path):
    """The second one does not wait for the chunk in hand, which is endless here."""
    out = tmp_path / "run"
    small = ["--method=asmpg", "--policy=tabular", "--num-states=2", "--evaluation-episodes=1"]
    endless = ["--steps=2_000_000_000", "--evaluate-every=2_000_000_000", "--seeds=1"]
    process = start("train", "CheeseMaze", *small, *endless, "--out", out)
    wait_for(process, "compiled in")
    time.sleep(1)
    assert interrupted(process, times=3) == [
        f"asmpg: stopped; resume with: asmpg train --resume {out}"
    ]


_INTERRUPTED_DESTRUCTOR = """
import os, signal, sys, time
from asmpg._support.interrupts import leave_on_interrupt, raise_on_interrupt
sys.argv[0] = "asmpg"
signal.signal(signal.SIGINT, signal.default_int_handler)
leave_on_interrupt()
raise_on_interrupt()

class Dies:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)

try:
    Dies()
    time.sleep(30)
except KeyboardInterrupt:
    print("heard")
"""


def test_ctrl_c_in_a_destructor_is_not_forgotten():
    """Python would only tell of it: the command would go on."""
    ended = subprocess.run(
        [sys.executable, "-c", _INTERRUPTED_DESTRUCTOR], capture_output=True, text=True, timeout=60
    )
    assert (ended.stdout, ended.stderr) == ("heard\n", "")
