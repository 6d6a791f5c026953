"""Jobs on other machines: what is asked of them, what they may use, what is found beforehand."""

import concurrent.futures
import contextlib
import dataclasses
import importlib
import json
import multiprocessing
import os
import signal
import sys
import threading
import time
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest

import asmpg
from asmpg import cli
from asmpg._support.machine import available_cores
from asmpg._support.remote import LOST, Control, Probe, RemoteJob, SubmititJob, worker_environment
from asmpg.studies import Runner, StudyProgress
from asmpg.studies.executors import (
    ExecutorSettings,
    FuturesExecutor,
    LocalExecutor,
    make_executor,
)
from studies import prepare, study

#: Says what it was given, and exits with 3 when interrupted.
SCRIPT = """
import json, os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
print(json.dumps(dict(os.environ)), flush=True)
try:
    time.sleep(float(sys.argv[1]))
except KeyboardInterrupt:
    sys.exit(3)
"""
#: One job of a second, and the seconds before it.
TINY = {
    "environments": ["CheeseMaze"],
    "environment_options": {"CheeseMaze": {"max_steps": 20}},
    "entries": {"two": {"method": "asmpg", "options": {"policy": "tabular", "num_states": 2}}},
    "seeds": 1,
    "steps": 30_000,
    "evaluate_every": 500,
    "evaluation_episodes": 10,
}


@pytest.fixture
def make_job(tmp_path):
    def make_job(seconds, **changes):
        options = {
            "command": ("-c", SCRIPT, str(seconds)),
            "control": Control.create(tmp_path / "attempts"),
            "log": tmp_path / "log",
            "device": "cpu",
            "cpus": 2,
            "directory": tmp_path,
            "variables": {"ASMPG_COMPILE_CACHE": "off"},
        }
        return RemoteJob(**(options | changes))

    return make_job


def wait_for(condition):
    until = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_a_job_has_the_threads_and_the_variables_it_was_given(make_job, tmp_path):
    job = make_job(0)
    assert not job.control.started()
    assert job() == 0
    assert job.control.started()
    found = json.loads((tmp_path / "log").read_text())
    assert {found[name] for name in ("NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")} == {"2"}
    assert found["JAX_PLATFORMS"] == "cpu"
    assert found["ASMPG_COMPILE_CACHE"] == "off"


def test_jobs_on_a_gpu_leave_memory_to_their_neighbours(monkeypatch):
    assert worker_environment("gpu", 1)["XLA_PYTHON_CLIENT_PREALLOCATE"] == "false"
    assert "multi_thread_eigen=false" in worker_environment("cpu", 1)["XLA_FLAGS"]
    monkeypatch.setenv("NPROC", "1")
    assert available_cores() == 1


@pytest.mark.parametrize(("request_", "code"), [("interrupt", 3), ("kill", -9), (None, 3)])
def test_a_job_does_what_is_asked_of_it(make_job, tmp_path, request_, code):
    """Without a file that asks, its session is over: it exits as if interrupted."""
    job = make_job(60)
    found = []
    thread = threading.Thread(target=lambda: found.append(job()))
    thread.start()
    wait_for(lambda: (tmp_path / "log").exists() and (tmp_path / "log").read_text().endswith("\n"))
    job.control.ask(request_) if request_ else job.control.remove()
    thread.join(60)
    assert found == [code]


def test_a_job_of_a_session_that_is_over_does_not_start(make_job, tmp_path):
    job = make_job(60)
    job.control.remove()
    assert job() == LOST
    assert not (tmp_path / "log").exists()


def test_a_probe_finds_what_is_wrong(make_job, tmp_path):
    token = tmp_path / "token"
    token.write_text("secret")
    fine = make_job(0)
    assert Probe(tmp_path, token, "secret", fine)() == ""
    assert "does not see the folder" in Probe(tmp_path, token, "other", fine)()
    assert "does not see the folder" in Probe(tmp_path, tmp_path / "none", "secret", fine)()
    assert (
        f"has asmpg {asmpg.__version__}, not 9.9" in Probe(tmp_path, token, "secret", fine, "9.9")()
    )
    broken = make_job(0, command=("-c", "import nowhere"))
    fault = Probe(tmp_path, token, "secret", broken)()
    assert fault.endswith("cannot run the jobs: ModuleNotFoundError: No module named 'nowhere'")


def run(folder, executor, **options):
    return Runner(folder, executor, StudyProgress(quiet=True), **options).run()


def learned(folder):
    """What a run leaves, but for the seconds it took."""
    run = folder.run_path(folder.study.jobs()[0])
    rows = [line.rpartition(",")[0] for line in (run / "metrics.csv").read_text().splitlines()]
    return rows, (run / "best.json").read_text()


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    """The study on this machine."""
    folder = prepare(tmp_path_factory.mktemp("local"), study(**TINY))
    assert run(folder, LocalExecutor("cpu", slots=1)) == []
    return learned(folder)


def test_a_process_pool_runs_a_study(tmp_path, unbroken):
    folder = prepare(tmp_path, study(**TINY))
    # A process that has started JAX should not fork.
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=spawn) as pool:
        executor = FuturesExecutor(pool)
        assert executor.slots == 1
        assert run(folder, executor) == []
    assert learned(folder) == unbroken
    assert list((tmp_path / "attempts").iterdir()) == []


@pytest.fixture
def signals():
    """The handlers of signals are as before, afterwards."""
    numbers = (signal.SIGUSR2, signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
    before = {number: signal.getsignal(number) for number in numbers}
    yield numbers
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("place", range(4))
def test_every_signal_to_make_room_saves_and_requeues(make_job, tmp_path, signals, place):
    pytest.importorskip("submitit")
    job = SubmititJob(**vars_of(make_job(60)))
    again = []
    signal.signal(signal.SIGUSR2, lambda *_: again.append(job.checkpoint()))

    def preempt():
        wait_for(lambda: (tmp_path / "log").exists() and "\n" in (tmp_path / "log").read_text())
        os.kill(os.getpid(), signals[place])

    threading.Thread(target=preempt).start()
    assert job() == 3
    [submission] = again
    assert submission.function == job
    assert submission.function._status is None


def test_a_job_that_is_stopped_on_purpose_is_not_requeued(make_job):
    pytest.importorskip("submitit")
    job = SubmititJob(**vars_of(make_job(0)))
    assert job() == 0
    job.control.ask("interrupt")
    assert job.checkpoint() is None


def vars_of(job):
    return {field.name: getattr(job, field.name) for field in dataclasses.fields(job)}


def test_a_batch_job_that_must_make_room_resumes(tmp_path, unbroken):
    pytest.importorskip("submitit")
    folder = prepare(tmp_path, study(**TINY))
    executor = make_executor("slurm", ExecutorSettings(options={"cluster": "local"}))
    checkpoints = folder.run_path(folder.study.jobs()[0]) / "checkpoints"
    signalled = []

    def preempt():
        wait_for(lambda: any(checkpoints.glob("*/last.npz")))
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                command = (process / "cmdline").read_bytes()
                if b"submitit.core._submit" in command and bytes(tmp_path) in command:
                    signalled.append(int(process.name))
        os.kill(max(signalled), signal.SIGTERM)

    thread = threading.Thread(target=preempt)
    thread.start()
    assert run(folder, executor, retries=0) == []
    thread.join()
    logs = (tmp_path / "attempts" / "submitit").glob("*_log.*")
    assert any("Requeued job" in log.read_text() for log in logs)
    assert learned(folder) == unbroken


# It leaves its logs open.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_submitits_debug_executor_runs_a_job_here(tmp_path, unbroken):
    pytest.importorskip("submitit")
    folder = prepare(tmp_path, study(**TINY))
    executor = make_executor("slurm", ExecutorSettings(options={"cluster": "debug"}))
    assert run(folder, executor) == []
    assert learned(folder) == unbroken


class BrokenPool(concurrent.futures.Executor):
    def submit(self, *_, **__):
        raise BrokenProcessPool("a process died")


def test_a_broken_pool_is_reported_or_replaced(tmp_path):
    folder = prepare(tmp_path, study(**TINY))
    with pytest.raises(asmpg.TrainingError, match="no more jobs: a process died; what is done is"):
        run(folder, FuturesExecutor(BrokenPool()))
    pools = [BrokenPool(), concurrent.futures.ThreadPoolExecutor(1)]
    executor = FuturesExecutor(lambda: pools.pop(0))
    launched = executor.launch(lambda: "done", "job")
    assert (launched.result(), pools) == ("done", [])
    with pytest.raises(ValueError, match=r"pool must be a concurrent\.futures\.Executor"):
        FuturesExecutor(lambda: 3)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ModuleNotFoundError("No module named 'asmpg'"), "No module named 'asmpg'"),
        (
            RuntimeError("task failed:\n  at x\nOSError: no disk\n----\nSee the logs"),
            "OSError: no disk",
        ),
        (RuntimeError("The node died. Look at the dashboard."), "RuntimeError: The node died"),
    ],
)
def test_what_a_worker_raised_is_said_in_one_line(tmp_path, error, reason):
    class Failing(concurrent.futures.Executor):
        def submit(self, *_, **__):
            future = concurrent.futures.Future()
            future.set_exception(error)
            return future

    folder = prepare(tmp_path, study(**TINY))
    with pytest.raises(ValueError, match=f"the workers cannot run the study: .*{reason}$"):
        run(folder, FuturesExecutor(Failing()))
    handle = FuturesExecutor(Failing()).submit(tmp_path, "job", tmp_path / "log")
    assert handle.poll() == LOST
    assert (tmp_path / "log").read_text().endswith(f"{reason}\n")
    assert [file.name for file in (tmp_path / "attempts").iterdir()] == []


def test_what_workers_lack_is_found_before_jobs_are_queued(tmp_path, monkeypatch):
    (tmp_path / "with_module").mkdir()
    (tmp_path / "with_module" / "only_here.py").touch()
    monkeypatch.syspath_prepend(tmp_path / "with_module")
    importlib.import_module("only_here")
    folder = prepare(tmp_path / "out", study(**TINY, imports=["only_here"]))
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        executor = FuturesExecutor(pool)
        with pytest.raises(ValueError, match=r"cannot run the study: .* named 'only_here'"):
            run(folder, executor)
    assert not (folder.path / "runs").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--cpus", "0"], "cpus must be an integer"),
        (["--gpus", "1"], "gpus cannot be used with executor 'local', got 1.0"),
        (["--memory", "-1"], "memory must be"),
        (["--address", "auto"], "address cannot be used with executor 'local', got 'auto'"),
        (["--executor-option", "time=3"], "options cannot be used with executor 'local'"),
        (["--executor-option", "time"], "--executor-option must be NAME=VALUE, got 'time'"),
        (["--device", "cpu", "--gpus", "1"], "gpus must be 0 with device 'cpu', got 1.0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(options, message, capsys, tmp_path):
    with pytest.raises(SystemExit):
        cli.main(["study", "quick", "--out", str(tmp_path / "out"), *options])
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("name", "package"), [("ray", "ray"), ("slurm", "submitit")])
def test_an_extra_that_is_missing_is_named(name, package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"needs {package}: pip install 'asmpg\[{name}\]'"):
        make_executor(name, ExecutorSettings())


def test_a_cluster_that_is_not_there_is_one_line(tmp_path):
    pytest.importorskip("ray")
    with pytest.raises(ValueError, match=r"no Ray cluster at address '127\.0\.0\.1:1': .*refused"):
        make_executor("ray", ExecutorSettings(address="127.0.0.1:1"))


def test_slurm_that_is_not_there_is_one_line(tmp_path, monkeypatch):
    pytest.importorskip("submitit")
    monkeypatch.setenv("PATH", str(tmp_path))
    folder = prepare(tmp_path / "out", study(**TINY))
    with pytest.raises(ValueError, match=r"SLURM cannot be used: .*srun"):
        run(folder, make_executor("slurm", ExecutorSettings()))
    misspelt = ExecutorSettings(options={"partitoin": "gpu", "cluster": "debug"})
    with pytest.raises(ValueError, match=r"SLURM cannot be used: .*partitoin"):
        run(folder, make_executor("slurm", misspelt))
