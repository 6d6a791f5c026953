"""SLURM, through submitit: a batch job for each job, requeued when it has to make room."""

import getpass
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from asmpg._support.files import one_line
from asmpg._support.remote import SubmititJob
from asmpg.studies.executors._remote import Launched, RemoteExecutor
from asmpg.studies.executors._settings import ExecutorSettings

#: How many jobs are in the queue at a time.
_QUEUED = 100
#: Minutes that a job may run before it is requeued, and how often that may happen.
_MINUTES, _REQUEUES = 60, 10_000
#: Seconds between two looks at the queue, and until the result of a job that left it is there.
_LOOK_SECONDS, _RESULT_SECONDS = 15.0, 60.0
#: The states of jobs that will not run again. Those that were preempted may be requeued.
_OVER = {"BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY"}
_OVER |= {"TIMEOUT"}


class SlurmExecutor(RemoteExecutor):
    """Batch jobs. On USR2, TERM, HUP and INT they save their progress, are requeued and resume.

    Options are those of submitit for SLURM: `partition=gpu`, `time=30` (minutes), `account=...`,
    `constraint=...`, `signal_delay_s=120`, `setup=["module load python"]`. The option
    `cluster=local`, or `debug`, runs jobs on this machine, without SLURM.
    """

    _job = SubmititJob

    def __init__(self, settings: ExecutorSettings):
        try:
            import submitit
            from submitit.core.utils import FailedJobError
        except ImportError as error:
            raise ImportError(
                "executor 'slurm' needs submitit: pip install 'asmpg[slurm]'"
            ) from error
        settings.refuse("slurm", "address")
        options = dict(settings.options)
        self._cluster = options.pop("cluster", "slurm")
        self._submitit, self._refusal = submitit, FailedJobError
        self._options = {f"slurm_{name}": value for name, value in options.items()}
        self._options.setdefault("slurm_time", _MINUTES)
        self._options["cpus_per_task"] = settings.cpus or 1
        if settings.remote_gpus:
            if settings.remote_gpus % 1:
                raise ValueError(f"gpus must be a whole number with SLURM, got {settings.gpus}")
            self._options["gpus_per_node"] = int(settings.remote_gpus)
        if settings.memory:
            self._options["slurm_mem"] = f"{max(1, round(settings.memory * 1024))}MB"
        self._engine: Any = None
        self._queue = _Queue() if self._cluster == "slurm" else None
        super().__init__(settings, slots=1 if self._cluster == "debug" else _QUEUED)

    def check(self, folder: Path, say: Callable[[str], None]) -> None:
        self._engine = self._make_engine(folder.absolute() / "attempts" / "submitit")
        super().check(folder, say)

    def launch(self, task: Callable[[], Any], name: str) -> Launched:
        try:
            self._engine.update_parameters(name=f"asmpg:{name}")
            return _Batch(self._engine.submit(task), self._queue)
        except self._refusal as error:
            raise OSError(f"SLURM refused it: {one_line(error)}") from error

    def _make_engine(self, folder: Path) -> Any:
        try:
            engine = self._submitit.AutoExecutor(
                folder, cluster=self._cluster, slurm_max_num_timeout=_REQUEUES
            )
            engine.update_parameters(**self._options)
        except (RuntimeError, ValueError, TypeError, NameError) as error:
            raise ValueError(f"SLURM cannot be used: {one_line(error)}") from error
        return engine


class _Batch:
    """A job of submitit. SLURM's accounting, which it asks, is not kept everywhere."""

    def __init__(self, job: Any, queue: "_Queue | None"):
        self._job, self._queue = job, queue
        self._over: float | None = None

    def done(self) -> bool:
        if self._queue is None:
            return self._job.done()
        if self._job.paths.result_pickle.exists():
            return True
        if not self._queue.over(self._job.job_id):
            self._over = None
        elif self._over is None:
            self._over = time.monotonic()
        return self._over is not None and time.monotonic() - self._over > _RESULT_SECONDS

    def result(self) -> Any:
        if self._queue is not None and not self._job.paths.result_pickle.exists():
            raise RuntimeError(f"SLURM ended job {self._job.job_id}; see {self._job.paths.stderr}")
        return self._job.result()

    def cancel(self) -> None:
        self._job.cancel(check=False)


class _Queue:
    """What `squeue` shows, looked at now and then for all jobs together."""

    def __init__(self):
        self._looked = -float("inf")
        self._states: dict[str, str] | None = None

    def over(self, job: str) -> bool:
        """Whether SLURM has ended the job, or forgotten it; `False` while that is not known."""
        if time.monotonic() - self._looked > _LOOK_SECONDS:
            self._look()
        return self._states is not None and self._states.get(job, "COMPLETED") in _OVER

    def _look(self) -> None:
        self._looked = time.monotonic()
        command = ["squeue", "--noheader", "--states=all", "--format=%i %T"]
        try:
            done = subprocess.run(
                [*command, f"--user={getpass.getuser()}"],
                capture_output=True,
                text=True,
                timeout=_LOOK_SECONDS,
            )
        except (OSError, subprocess.TimeoutExpired):
            self._states = None
            return
        lines = [line.split() for line in done.stdout.splitlines()] if done.returncode == 0 else []
        found = {line[0]: line[1] for line in lines if len(line) == 2}
        self._states = found if done.returncode == 0 else None
