"""The runner: jobs to an executor, an eye on each, and an account of what went wrong."""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from asmpg._support.errors import CheckpointError
from asmpg._support.machine import machine, versions
from asmpg.environments import Box, make
from asmpg.studies._progress import JobState, StudyProgress
from asmpg.studies._study import Job
from asmpg.studies._study_folder import StudyFolder, write_text
from asmpg.studies.executors import Executor

#: Seconds between two looks at the jobs, and between two records of the session.
_LOOK, _RECORD = 0.25, 10.0
#: Seconds a job may take to leave when asked to.
_FAREWELL = 30.0
#: The exit status of a worker for which another attempt would end alike.
_HOPELESS = 2


class Runner:
    """Runs what is missing of a study.

    A job that does not advance for `patience` seconds is killed. One that was killed, or died, is
    tried again from its checkpoints, `retries` times at most; then it has failed, and the others go
    on. Everything lasting is in the study's folder, so that the runner itself may die at any time.
    """

    def __init__(
        self,
        folder: StudyFolder,
        executor: Executor,
        progress: StudyProgress,
        *,
        patience: float = 600.0,
        retries: int = 2,
    ):
        """See how far each job is."""
        self._folder = folder
        self._executor = executor
        self._progress = progress
        self._patience = patience
        self._retries = retries
        self.states = [self._look_up(job) for job in folder.study.jobs()]
        self._queue = longest_first([s for s in self.states if s.status == "waiting"])
        self._began = time.time()
        self._record_path = _new_record(folder.path / "sessions")
        self._recorded = 0.0
        # On which device, each run says for itself.
        self._made_with = {name: made for name, made in versions().items() if name != "device"}

    def run(self) -> list[JobState]:
        """Run to the end; gives the jobs that failed. Ctrl-C stops in good order."""
        if not self._queue:
            return []
        began = time.monotonic()
        self._progress.start(self.states, self._executor.slots)
        try:
            while self._queue or self._running():
                self._look()
                self._progress.show()
                self._record(time.monotonic() - began)
                time.sleep(_LOOK)
        finally:
            self._stop()
            self._record(time.monotonic() - began, now=True)
            self._progress.end()
        return [state for state in self.states if state.status == "failed"]

    def _look_up(self, job: Job) -> JobState:
        done = self._folder.evaluations(job)
        try:
            status = "finished" if self._folder.finished(job) else "waiting"
        except CheckpointError:
            # The worker will meet it too, and say so in its log.
            status = "waiting"
        return JobState(job, status, evaluations=done, evaluations_before=done)

    def _running(self) -> list[JobState]:
        return [state for state in self.states if state.status == "running"]

    def _look(self) -> None:
        """Take note of what running jobs did, and fill free places."""
        for state in self._running():
            self._follow(state)
        while self._queue and len(self._running()) < self._executor.slots:
            self._submit(self._queue.pop(0))

    def _submit(self, state: JobState) -> None:
        job = state.job
        state.attempts += 1
        state.status, state.started = "running", False
        state.began = state.advanced = time.monotonic()
        log = self._folder.log_path(job)
        try:
            state.handle = self._executor.submit(self._folder.path, job.name, log)
        except OSError as error:
            self._retry(state, f"could not be started: {error}", hopeless=False)

    def _follow(self, state: JobState) -> None:
        assert state.handle is not None
        now = time.monotonic()
        done = self._folder.evaluations(state.job)
        if done > state.evaluations and not state.started:
            state.started = True
            state.startup += now - state.began
        if done != state.evaluations:
            state.evaluations, state.advanced = done, now
        code = state.handle.poll()
        if code == 0 and self._folder.finished(state.job):
            self._leave(state, "finished")
        elif code is not None:
            self._retry(state, self._last_words(state.job, code), hopeless=code == _HOPELESS)
        elif now - state.advanced > self._patience:
            state.handle.kill()
            self._retry(state, f"did not advance for {self._patience:g} seconds", hopeless=False)

    def _retry(self, state: JobState, trouble: str, *, hopeless: bool) -> None:
        state.troubles.append(trouble)
        again = not hopeless and state.attempts <= self._retries
        self._leave(state, "waiting" if again else "failed")
        if again:
            self._queue.insert(0, state)
            self._progress.say(f"{state.job.name}: {trouble}; trying again")
        else:
            self._progress.say(f"{state.job.name} failed: {trouble}")

    def _leave(self, state: JobState, status: Any) -> None:
        state.seconds = state.spent(time.monotonic())
        state.status = status
        state.handle = None
        if status == "finished":
            self._progress.finished(state)

    def _last_words(self, job: Job, code: int) -> str:
        log = self._folder.log_path(job)
        lines = log.read_text(errors="replace").split("\n") if log.exists() else []
        words = next((line.strip() for line in reversed(lines) if line.strip()), "")
        how = f"was killed by signal {-code}" if code < 0 else f"ended with status {code}"
        return f"{how}: {words}" if words and code > 0 else how

    def _stop(self) -> None:
        """Let jobs that still run write down what they have; end those that do not."""
        running = [state for state in self._running() if state.handle is not None]
        for state in running:
            assert state.handle is not None
            state.handle.interrupt()
        until = time.monotonic() + _FAREWELL
        for state in running:
            assert state.handle is not None
            while state.handle.poll() is None and time.monotonic() < until:
                time.sleep(_LOOK)
            state.handle.kill()
            self._leave(state, "waiting")

    def _record(self, seconds: float, *, now: bool = False) -> None:
        if seconds - self._recorded < _RECORD and self._recorded and not now:
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

    Of jobs with as many steps, those with real observations take longest: their networks cannot be
    put into tables.
    """

    def real(state: JobState) -> bool:
        config = state.job.config
        environment = make(config.environment, **config.environment_options)
        return isinstance(environment.observation_space, Box)

    return sorted(states, key=lambda state: (state.work, real(state)), reverse=True)


def _new_record(folder: Path) -> Path:
    numbers = [int(file.stem) for file in folder.glob("*.json") if file.stem.isdigit()]
    return folder / f"{max(numbers, default=0) + 1:04}.json"
