"""The runner: submits jobs to an executor, watches them, and records what went wrong."""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from asmpg._support.errors import CheckpointError
from asmpg._support.machine import machine, versions
from asmpg._support.remote import LOST
from asmpg.environments import Box
from asmpg.studies._job_folder import JobFolder, Task, write_text
from asmpg.studies._progress import JobState, Status, StudyProgress
from asmpg.studies.executors import Executor

#: Seconds between two records of the session.
_RECORD_SECONDS = 10.0
#: Seconds that an interrupted job may take to exit.
_EXIT_SECONDS = 30.0
#: The exit status of a worker whose next attempt would fail in the same way.
_NO_RETRY = 2
#: How often a job may be lost with its machine.
_MOST_LOSSES = 20


class Runner:
    """Runs what is missing of a study, or of another folder with jobs.

    A job that makes no progress for `patience` seconds is killed. One that was killed, or died, is
    retried from its checkpoints, `retries` times at most; then it has failed, and the others
    continue. Attempts that were lost with their machine do not count. All state is in the
    folder, so that the runner itself may die at any time.
    """

    def __init__(
        self,
        folder: JobFolder[Any],
        executor: Executor,
        progress: StudyProgress,
        *,
        patience: float = 600.0,
        retries: int = 2,
    ):
        self._folder = folder
        self._executor = executor
        self._progress = progress
        self._patience = patience
        self._retries = retries
        self.states = [self._initial_state(job) for job in folder.jobs()]
        self._queue = longest_first([s for s in self.states if s.status == "waiting"])
        self._began = time.time()
        self._record_path = _new_record(folder.path / "sessions")
        self._recorded = 0.0
        # Each run records its own device.
        self._made_with = {name: made for name, made in versions().items() if name != "device"}

    def run(self) -> list[JobState]:
        """Run to the end; gives the jobs that failed. On Ctrl-C, jobs save their progress."""
        if not self._queue:
            return []
        self._executor.check(self._folder.path, self._progress.say)
        began = time.monotonic()
        self._progress.start(self.states, self._executor.slots)
        try:
            while self._queue or self._running():
                self._poll()
                self._progress.show()
                self._record(time.monotonic() - began)
                time.sleep(self._executor.poll_seconds)
        finally:
            self._stop()
            self._record(time.monotonic() - began, now=True)
            self._progress.end()
        return [state for state in self.states if state.status == "failed"]

    def _initial_state(self, job: Task) -> JobState:
        done = self._folder.evaluations(job)
        try:
            status = "finished" if self._folder.finished(job) else "waiting"
        except CheckpointError:
            # The worker will fail on it too, and say so in its log.
            status = "waiting"
        return JobState(job, status, evaluations=done, evaluations_before=done)

    def _running(self) -> list[JobState]:
        return [state for state in self.states if state.status == "running"]

    def _poll(self) -> None:
        """Update the running jobs, and submit as many as there are free slots."""
        for state in self._running():
            self._update(state)
        while self._queue and len(self._running()) < self._executor.slots:
            self._submit(self._queue.pop(0))

    def _submit(self, state: JobState) -> None:
        job = state.job
        state.attempts += 1
        state.status, state.started = "running", False
        state.began = state.advanced = time.monotonic()
        log = self._folder.log_path(job)
        try:
            log.parent.mkdir(parents=True, exist_ok=True)
            state.handle = self._executor.submit(self._folder.path, job.name, log)
        except OSError as error:
            self._retry(state, f"could not be started: {error}")

    def _update(self, state: JobState) -> None:
        assert state.handle is not None
        now = time.monotonic()
        code = state.handle.poll()
        if code is None and state.handle.waiting():
            state.began = state.advanced = now
            return
        done = self._folder.evaluations(state.job)
        if done > state.evaluations and not state.started:
            state.started = True
            state.startup += now - state.began
        if done != state.evaluations:
            state.evaluations, state.advanced = done, now
        if code == 0 and self._folder.finished(state.job):
            self._end_attempt(state, "finished")
        elif code is not None:
            state.losses += code == LOST
            self._retry(state, self._reason(state.job, code), possible=code != _NO_RETRY)
        elif now - state.advanced > self._patience:
            state.handle.kill()
            self._retry(state, f"made no progress for {self._patience:g} seconds")

    def _retry(self, state: JobState, reason: str, *, possible: bool = True) -> None:
        state.troubles.append(reason)
        own = state.attempts - state.losses
        again = possible and own <= self._retries and state.losses <= _MOST_LOSSES
        self._end_attempt(state, "waiting" if again else "failed")
        if again:
            self._queue.insert(0, state)
            self._progress.say(f"{state.job.name}: {reason}; retrying")
        else:
            self._progress.say(f"{state.job.name} failed: {reason}")

    def _end_attempt(self, state: JobState, status: Status) -> None:
        state.seconds = state.spent(time.monotonic())
        state.status = status
        state.handle = None
        if status == "finished":
            self._progress.finished(state)

    def _reason(self, job: Task, code: int) -> str:
        """How the job ended, with the last line of its log."""
        log = self._folder.log_path(job)
        lines = log.read_text(errors="replace").split("\n") if log.exists() else []
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        how = f"was killed by signal {-code}" if code < 0 else f"exited with status {code}"
        how = "was lost" if code == LOST else how
        return f"{how}: {last}" if last and code > 0 else how

    def _stop(self) -> None:
        """Let running jobs save their progress; kill those that take too long."""
        running = [state for state in self._running() if state.handle is not None]
        for state in running:
            assert state.handle is not None
            state.handle.interrupt()
        until = time.monotonic() + _EXIT_SECONDS
        for state in running:
            assert state.handle is not None
            while state.handle.poll() is None and time.monotonic() < until:
                time.sleep(min(0.25, self._executor.poll_seconds))
            state.handle.kill()
            self._end_attempt(state, "waiting")

    def _record(self, seconds: float, *, now: bool = False) -> None:
        if seconds - self._recorded < _RECORD_SECONDS and self._recorded and not now:
            return
        self._recorded = seconds
        record = {
            "began": time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(self._began)),
            "wall_seconds": round(seconds, 1),
            "jobs_at_a_time": self._executor.slots,
            "machine": machine(),
            "made_with": self._made_with,
            "jobs": {
                state.job.name: {
                    "status": state.status,
                    "seconds": round(state.spent(time.monotonic()), 1),
                    "attempts": state.attempts,
                    "troubles": state.troubles,
                }
                for state in self.states
                if state.attempts
            },
        }
        write_text(self._record_path, json.dumps(record, indent=2, ensure_ascii=False) + "\n")


def longest_first(states: Sequence[JobState]) -> list[JobState]:
    """The order that leaves no core idle at the end.

    Of jobs with the same number of steps, those stepped on the host take longest, then those with
    continuous observations: their networks cannot be replaced by tables.
    """

    def effort(state: JobState) -> tuple[float, bool, bool]:
        interface = state.job.config.resolve().interface
        return state.job.work, interface.on_host, isinstance(interface.observation_space, Box)

    return sorted(states, key=effort, reverse=True)


def _new_record(folder: Path) -> Path:
    numbers = [int(file.stem) for file in folder.glob("*.json") if file.stem.isdigit()]
    return folder / f"{max(numbers, default=0) + 1:04}.json"
