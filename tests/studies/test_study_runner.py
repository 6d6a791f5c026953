"""The runner: order, watchdog, retries, failures, and studies that are killed and started again."""

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
from rich.console import Console

import asmpg
from asmpg import cli
from asmpg.analysis import collect, summarise, write_tables
from asmpg.exact import Yardstick, Yardsticks
from asmpg.runs import RunFolder
from asmpg.studies import (
    JobState,
    Runner,
    StudyFolder,
    StudyProgress,
    longest_first,
    read_study,
    seconds_left,
    share_done,
    study_lock,
)
from asmpg.studies.executors import (
    Executor,
    ExecutorSettings,
    Handle,
    LocalExecutor,
    make_executor,
)
from studies import TINY, make_up, prepare, spread_out, study

#: Starts the study in argv[1], and reports nothing.
RUN = """
import sys
from pathlib import Path
from asmpg.studies import Runner, StudyFolder, StudyProgress, study_lock
from asmpg.studies.executors import LocalExecutor

with study_lock(Path(sys.argv[1])) as lock:
    executor = LocalExecutor("cpu")
    executor.hold_lock(lock)
    sys.exit(bool(Runner(StudyFolder(sys.argv[1]), executor, StudyProgress()).run()))
"""


class ScriptedFolder(StudyFolder):
    """A folder whose jobs are as far as the test says."""

    def __init__(self, path):
        super().__init__(path)
        self.done, self.counts = set(), {}

    def finished(self, job):
        return job.name in self.done

    def evaluations(self, job):
        return self.counts.get(job.name, 0)


class ScriptedHandle(Handle):
    def __init__(self, codes):
        self.codes = codes
        self.killed = self.interrupted = False

    def poll(self):
        return self.codes.pop(0) if len(self.codes) > 1 else self.codes[0]

    def interrupt(self):
        self.interrupted = True
        self.codes[:] = [130]

    def kill(self):
        self.killed = True


class ScriptedExecutor(Executor):
    """Attempt number n at a job ends with the n-th of its codes: 0 unless the test says other."""

    slots = 2

    def __init__(self, folder, codes):
        self.folder, self.codes = folder, codes
        self.submitted, self.handles, self.most = [], {}, 0

    def submit(self, folder, job, log):
        self.submitted.append(job)
        attempt = self.submitted.count(job) - 1
        code = self.codes.get(job, [0])[attempt]
        if isinstance(code, BaseException):
            raise code
        if code == 0:
            self.folder.done.add(job)
        elif code is not None:
            log.parent.mkdir(parents=True, exist_ok=True)
            log.write_text(f"Traceback\nError: attempt {attempt}\n\n")
        self.handles[job] = ScriptedHandle([None, code])
        return self.handles[job]


def run(tmp_path, codes, **options):
    """Run three jobs with these exit codes; gives the failures, the executor and what was said."""
    small = study(environments=["CheeseMaze"])
    prepare(tmp_path, small)
    folder = ScriptedFolder(tmp_path)
    executor = ScriptedExecutor(folder, {f"CheeseMaze/{name}": own for name, own in codes.items()})
    said = io.StringIO()
    progress = StudyProgress(Console(file=said, width=200))
    failed = Runner(folder, executor, progress, **options).run()
    return failed, executor, said.getvalue()


@pytest.fixture(autouse=True)
def _look_often(monkeypatch):
    monkeypatch.setattr(Executor, "poll_seconds", 0.01)


def test_everything_goes_well(tmp_path):
    failed, executor, said = run(tmp_path, {})
    assert failed == []
    assert sorted(executor.submitted) == [
        f"CheeseMaze/{name}" for name in ("ais-kl", "asmpg", "mine")
    ]
    assert "3 of 3 jobs, 100%" in said
    record = json.loads((tmp_path / "sessions" / "0001.json").read_text())
    assert {job["status"] for job in record["jobs"].values()} == {"finished"}
    assert record["machine"]["cores"] >= 1


def test_a_job_that_dies_is_tried_again_and_that_is_told(tmp_path):
    failed, executor, said = run(tmp_path, {"mine": [-9, 1, 0]})
    assert failed == []
    assert executor.submitted.count("CheeseMaze/mine") == 3
    assert "CheeseMaze/mine: was killed by signal 9; retrying" in said
    assert "CheeseMaze/mine: exited with status 1: Error: attempt 1; retrying" in said
    [session] = StudyFolder(tmp_path).sessions()
    assert session["jobs"]["CheeseMaze/mine"]["attempts"] == 3
    assert len(session["jobs"]["CheeseMaze/mine"]["troubles"]) == 2


def test_a_job_that_keeps_dying_has_failed_and_the_others_go_on(tmp_path):
    failed, executor, said = run(tmp_path, {"asmpg": [1, 1, 1]})
    assert [state.job.name for state in failed] == ["CheeseMaze/asmpg"]
    assert failed[0].attempts == 3
    assert "CheeseMaze/asmpg failed: exited with status 1: Error: attempt 2" in said
    assert {"CheeseMaze/mine", "CheeseMaze/ais-kl"} <= executor.folder.done


def test_what_cannot_get_better_is_not_tried_again(tmp_path):
    failed, executor, _ = run(tmp_path, {"asmpg": [2]})
    assert len(failed) == 1
    assert executor.submitted.count("CheeseMaze/asmpg") == 1
    failed, executor, _ = run(tmp_path, {"asmpg": [1]}, retries=0)
    assert len(failed) == 1


def test_a_job_that_cannot_be_started_is_tried_again(tmp_path):
    failed, _, said = run(tmp_path, {"asmpg": [OSError("no memory"), 0]})
    assert failed == []
    assert "could not be started: no memory; retrying" in said


def test_a_job_that_does_not_advance_is_killed_and_tried_again(tmp_path):
    failed, executor, said = run(tmp_path, {"asmpg": [None, 0]}, patience=0.2)
    assert failed == []
    assert executor.submitted.count("CheeseMaze/asmpg") == 2
    assert "CheeseMaze/asmpg: made no progress for 0.2 seconds; retrying" in said


def test_a_job_that_is_lost_with_its_machine_does_not_use_up_its_retries(tmp_path):
    failed, executor, said = run(tmp_path, {"asmpg": [75, 75, 75, 0]}, retries=0)
    assert failed == []
    assert executor.submitted.count("CheeseMaze/asmpg") == 4
    assert "CheeseMaze/asmpg: was lost: Error: attempt 2; retrying" in said
    failed, _, _ = run(tmp_path, {"asmpg": [75] * 30}, retries=0)
    assert [state.losses for state in failed] == [21]


def test_a_job_that_waits_in_a_queue_is_not_expected_to_advance(tmp_path, monkeypatch):
    began = time.monotonic()
    monkeypatch.setattr(ScriptedHandle, "waiting", lambda _: time.monotonic() - began < 1)
    failed, executor, said = run(tmp_path, {"asmpg": [None, 0]}, patience=0.2)
    assert failed == []
    assert said.count("made no progress") == executor.submitted.count("CheeseMaze/asmpg") - 1 == 1
    assert time.monotonic() - began > 1


def test_a_job_that_advances_may_take_its_time(tmp_path, monkeypatch):
    began = time.monotonic()

    def grow(folder, job):
        if time.monotonic() - began > 1:
            folder.done.add(job.name)
            return 11
        return int((time.monotonic() - began) * 20)

    def poll(handle):
        return 0 if time.monotonic() - began > 1 else None

    monkeypatch.setattr(ScriptedFolder, "evaluations", grow)
    monkeypatch.setattr(ScriptedHandle, "poll", poll)
    failed, executor, _ = run(tmp_path, {"asmpg": [None]}, patience=0.5)
    assert failed == []
    assert executor.submitted.count("CheeseMaze/asmpg") == 1


def test_an_interrupt_lets_jobs_leave_in_good_order(tmp_path, monkeypatch):
    def interrupted(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(StudyProgress, "show", interrupted)
    handles = []
    monkeypatch.setattr(ScriptedHandle, "kill", lambda handle: handles.append(handle))
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, {"asmpg": [None], "ais-kl": [None]})
    assert [handle.interrupted for handle in handles] == [True, True]
    record = json.loads((tmp_path / "sessions" / "0001.json").read_text())
    assert {job["status"] for job in record["jobs"].values()} == {"waiting"}


def test_the_longest_jobs_come_first():
    entries = {"asmpg": {}, "ais-kl": {"steps": 5000}}
    environments = ["CheeseMaze", "VelocityOnlyCartPole"]
    jobs = study(entries=entries, environments=environments).jobs()
    names = [state.job.name for state in longest_first([JobState(job) for job in jobs])]
    assert names[0] == "VelocityOnlyCartPole/ais-kl"
    assert names[-1] == "CheeseMaze/asmpg"


def test_the_time_left_goes_by_the_speed_so_far():
    entries = {"asmpg": {}, "ais-kl": {}}
    states = [JobState(job) for job in study(entries=entries).jobs()]
    assert seconds_left(states, 0.0, 2) is None
    for state in states[:2]:
        state.status, state.attempts, state.started, state.startup = "finished", 1, True, 4.0
    states[0].seconds, states[1].seconds = 10.0, 30.0
    assert share_done(states) == pytest.approx(2 / 6)
    assert seconds_left(states, 0.0, 1) == pytest.approx(2 * 10 + 2 * 30)
    assert seconds_left(states, 0.0, 2) == pytest.approx(40)
    # Two jobs with a start of 4 s and 26 s of training: one is starting, one half done.
    states[3].status, states[3].attempts, states[3].began = "running", 1, 99.0
    assert seconds_left(states, 100.0, 100) == pytest.approx(30)
    states[5].status, states[5].attempts, states[5].began = "running", 1, 83.0
    states[5].started, states[5].startup = True, 4.0
    states[5].evaluations = states[5].job.evaluations // 2
    assert seconds_left(states, 100.0, 1) == pytest.approx(2 * 10 + 3 + 26 + 13)


def test_an_update_that_spans_evaluations_counts_for_all_of_them(tmp_path):
    folder = make_up(prepare(tmp_path, study()), spread_out)
    job = folder.study.jobs()[0]
    state = JobState(job, evaluations=folder.evaluations(job))
    assert (state.share, state.job.evaluations) == (1.0, 4 * 11)
    # Two seeds after their first update, and a line that is being written.
    path = folder.run_path(job) / "metrics.csv"
    heading = path.read_text().splitlines()[0]
    path.write_text(f"{heading}\n1952,0,0\n1952,512,0\n5235,0,0\n5235,512,0\n8234,51")
    assert folder.evaluations(job) == 2 * 6
    path.unlink()
    assert folder.evaluations(job) == 0


def test_two_runners_do_not_meet(tmp_path, monkeypatch):
    monkeypatch.setattr("asmpg.studies._job_folder._EXIT_SECONDS", 0.2)
    with study_lock(tmp_path), pytest.raises(ValueError, match="in use by another"):  # noqa: SIM117
        with study_lock(tmp_path):
            pass
    with study_lock(tmp_path):
        pass


@pytest.fixture
def yardsticks(monkeypatch):
    """Yardsticks without the seconds they take."""
    kinds = (Yardstick(0.5, 0.9, value) for value in (0.01, 0.1, 0.12, 0.23, 0.25))
    values = Yardsticks(*kinds)
    monkeypatch.setattr("asmpg.exact.yardsticks", lambda *_, **__: values, raising=False)


def prepare_text(path, text):
    prepare(path, read_study(tomllib.loads(text), name="tiny"), text)


def start(path, text):
    """Start a study in a process of its own."""
    prepare_text(path, text)
    return subprocess.Popen([sys.executable, "-c", RUN, str(path)], stderr=subprocess.DEVNULL)


def tables(path, out):
    results = collect(StudyFolder(path))
    return [file.read_text() for file in write_tables(results, summarise(results), out)]


@pytest.mark.usefixtures("yardsticks")
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs Linux")
def test_a_killed_study_does_only_what_is_missing_and_ends_alike(tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    text = re.sub("100_000", "30_000", TINY.partition("[entries.three]")[0])
    process = start(killed, text)
    _wait(lambda: any(killed.glob("runs/*/*/checkpoints/*/last.npz")))
    process.send_signal(signal.SIGKILL)
    process.wait()
    _wait(lambda: not _workers(killed))
    folder = StudyFolder(killed)
    assert not all(map(folder.finished, folder.study.jobs()))
    began = {job.name: folder.finished(job) for job in folder.study.jobs()}
    prepare_text(whole, text)
    for path in (killed, whole):
        assert (
            Runner(StudyFolder(path), LocalExecutor("cpu"), StudyProgress(quiet=True)).run() == []
        )
    session = folder.sessions()[-1]
    assert session["jobs"].keys() == {name for name, finished in began.items() if not finished}
    for job in folder.study.jobs():
        one, other = (StudyFolder(path).best_path(job).read_bytes() for path in (killed, whole))
        assert one == other
    assert tables(killed, tmp_path / "a") == tables(whole, tmp_path / "b")
    assert len(tables(whole, tmp_path / "b")[0].splitlines()) == 1 + 2


def _wait(condition):
    until = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def _workers(path):
    """The processes that work on the study in `path`."""
    found = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if b"asmpg.studies.worker" in (text := process.read_bytes()) and bytes(path) in text:
                found.append(process)
    return found


@pytest.mark.usefixtures("yardsticks")
def test_a_failed_job_is_listed_and_the_rest_reported(tmp_path, capsys, monkeypatch):
    path, out = tmp_path / "tiny.toml", tmp_path / "out"
    path.write_text(re.sub("100_000", "1_000", TINY))
    spoiled = out / "runs" / "CheeseMaze" / "three" / "config.json"
    real, submit = LocalExecutor.submit, []

    def spoil(executor, folder, job, log):
        if job.endswith("three"):
            spoiled.parent.mkdir(parents=True, exist_ok=True)
            spoiled.write_text("{}")
        submit.append(job)
        return real(executor, folder, job, log)

    monkeypatch.setattr(LocalExecutor, "submit", spoil)
    with pytest.raises(SystemExit) as stopped:
        cli.main(["study", str(path), "--out", str(out), "--jobs", "1"])
    assert stopped.value.code == 1
    assert sorted(submit) == ["CheeseMaze/three", "CheeseMaze/two"]
    output = capsys.readouterr()
    assert "1 of 2 jobs failed; the same command retries them" in output.err
    assert "CheeseMaze/three, after 1 attempt: exited with status 2" in output.err
    assert "is damaged" in output.err
    assert "two states" in output.out
    assert "1 of 2 runs are missing" in (out / "report.html").read_text()
    assert RunFolder(out / "runs" / "CheeseMaze" / "two").finished()
    assert "training" in (out / "logs" / "CheeseMaze" / "two.log").read_text()


@pytest.mark.usefixtures("yardsticks")
def test_a_study_runs_on_an_executor_of_the_users(tmp_path, monkeypatch):
    (tmp_path / "tiny.toml").write_text(TINY)
    executor = ScriptedExecutor(None, {})

    def submit(folder, job, log):
        executor.submitted.append(job)
        made = StudyFolder(folder)
        if not (folder / "runs").exists():
            make_up(made, lambda *_: 0.5)
        return ScriptedHandle([0])

    monkeypatch.setattr(executor, "submit", submit)
    monkeypatch.setattr(StudyFolder, "trained", lambda folder, job: folder.best_path(job).exists())
    options = {"seeds": [7, 8], "steps": 1000, "quiet": True}
    out = asmpg.study(tmp_path / "tiny.toml", out=tmp_path / "out", executor=executor, **options)
    assert out == tmp_path / "out"
    assert sorted(executor.submitted) == ["CheeseMaze/three", "CheeseMaze/two"]
    assert "asmpg study study.toml --seeds=7,8, --steps=1000" in (out / "report.html").read_text()
    with pytest.raises(ValueError, match="go with the name of an executor or with a pool"):
        asmpg.study("quick", out=tmp_path / "other", executor=executor, jobs=2)


def test_executors_have_names_for_the_command_line(monkeypatch):
    monkeypatch.setattr("asmpg.studies.executors._registry._factories", {"local": LocalExecutor})
    asmpg.register_executor(
        "scripted", lambda settings: ScriptedExecutor(settings.device, settings.jobs)
    )
    made = make_executor("scripted", ExecutorSettings(device="cpu", jobs=3))
    assert isinstance(made, ScriptedExecutor)
    assert (made.folder, made.codes) == ("cpu", 3)
    with pytest.raises(ValueError, match="executor must be one of local, scripted, got 'other'"):
        make_executor("other", ExecutorSettings())
    with pytest.raises(ValueError, match="already registered"):
        asmpg.register_executor("local", LocalExecutor)
    asmpg.register_executor("wrong", lambda settings: 3)
    with pytest.raises(ValueError, match="must return an Executor, got 3"):
        make_executor("wrong", ExecutorSettings())


def test_a_study_that_is_done_is_not_run_again(tmp_path, monkeypatch):
    folder = make_up(prepare(tmp_path, study()), spread_out)
    monkeypatch.setattr(StudyFolder, "finished", lambda *_: True)
    monkeypatch.setattr(LocalExecutor, "submit", lambda *_: pytest.fail("a job was started"))
    assert Runner(folder, LocalExecutor("cpu"), StudyProgress(quiet=True)).run() == []
    assert folder.sessions() == []
