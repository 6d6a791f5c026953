"""A job on another machine: a process that is started there, and watched through a shared folder.

Engines send these objects to their workers, which import this module and nothing heavy: JAX lives
in the process that is started, with the threads and the device it may use, and ends with it.
"""

import contextlib
import dataclasses
import os
import platform
import signal
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path
from types import FrameType
from typing import Any, Literal

from asmpg._support.version import __version__

#: The exit status of a job that was lost through no fault of its own: it may be started again.
LOST = 75
#: Seconds between two looks at the process and at what is asked of it.
_WATCH_SECONDS = 0.5

Request = Literal["run", "interrupt", "kill"]


def worker_environment(device: Literal["cpu", "gpu"], cpus: int | None) -> dict[str, str]:
    """The environment variables of a process that leaves room for others.

    It has `cpus` threads, or as many as there are cores, and takes a GPU's memory as it needs it.
    """
    environment = dict(os.environ)
    flags = environment.get("XLA_FLAGS", "")
    if device == "cpu":
        environment["JAX_PLATFORMS"] = "cpu"
    else:
        environment["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    if device == "cpu" and cpus == 1:
        flags += " --xla_cpu_multi_thread_eigen=false"
    if cpus is not None:
        # XLA goes by NPROC, and so does `asmpg` itself.
        threads = ("NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        environment |= dict.fromkeys(threads, str(cpus))
    return environment | {"XLA_FLAGS": flags.strip(), "PYTHONUNBUFFERED": "1"}


class Control:
    """Two small files: what is asked of a job, and whether it has started.

    The first is there from the beginning, since file systems may be slow to show new files. A job
    whose file is gone belongs to a session that is over: it saves its progress and exits.
    """

    def __init__(self, file: Path):
        self.file = file
        self._started = file.with_suffix(".started")

    @classmethod
    def create(cls, folder: Path) -> "Control":
        folder.mkdir(parents=True, exist_ok=True)
        control = cls(folder / uuid.uuid4().hex)
        control.ask("run")
        return control

    def ask(self, request: Request) -> None:
        self.file.write_text(request)

    def asked(self) -> Request | None:
        with contextlib.suppress(OSError):
            text = self.file.read_text()
            # Between two writes it is empty.
            return "interrupt" if text == "interrupt" else "kill" if text == "kill" else "run"
        return None

    def start(self) -> None:
        self._started.write_text(platform.node())

    def started(self) -> bool:
        return self._started.exists()

    def remove(self) -> None:
        for file in (self.file, self._started):
            file.unlink(missing_ok=True)


@dataclasses.dataclass
class RemoteJob:
    """Called on the machine where it is to run; returns the exit status of the process.

    `command` is what follows the name of the interpreter there. If it is called again, because the
    engine started it again on another machine, the process resumes from its checkpoints.
    """

    command: tuple[str, ...]
    control: Control
    log: Path
    device: Literal["cpu", "gpu"]
    cpus: int
    directory: Path
    #: Environment variables on top of those of the machine.
    variables: dict[str, str]

    def __post_init__(self):
        self._request: Request = "run"
        self._status: int | None = None

    def __call__(self) -> int:
        threading.Thread(target=self._watch, daemon=True).start()
        try:
            # Signals arrive in this thread, whose handlers wait for the other one: no locks here.
            while self._status is None:
                time.sleep(_WATCH_SECONDS / 5)
        finally:
            self._request = "kill"
            while self._status is None:
                time.sleep(_WATCH_SECONDS / 5)
        return self._status

    def _watch(self) -> None:
        status = LOST
        try:
            if self.control.asked() is not None:
                self.control.start()
                status = self._run()
        except OSError as error:
            with contextlib.suppress(OSError), open(self.log, "a") as file:
                print(f"could not be started on {platform.node()}: {error}", file=file)
        finally:
            self._status = status

    def _run(self) -> int:
        with open(self.log, "ab") as log:
            process = subprocess.Popen(
                [sys.executable, *self.command, "--with-parent"],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=worker_environment(self.device, self.cpus) | self.variables,
                cwd=self.directory if self.directory.is_dir() else None,
                start_new_session=True,
            )
        interrupted = False
        with process:
            while True:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    return process.wait(_WATCH_SECONDS)
                asked = self.control.asked() or "interrupt"
                if "kill" in (asked, self._request):
                    os.killpg(process.pid, signal.SIGKILL)
                    return process.wait()
                if "interrupt" in (asked, self._request) and not interrupted:
                    process.send_signal(signal.SIGINT)
                    interrupted = True


class SubmititJob(RemoteJob):
    """A job that is requeued after it was told to make room, and then resumes.

    submitit asks for `checkpoint` on the signal before a time limit, USR2. Preemption comes as
    TERM, other clusters send HUP or INT: they are all taken for that one.
    """

    def __call__(self) -> int:
        name = os.environ.get("SUBMITIT_PREEMPT_SIGNAL", "USR2")
        preempted = getattr(signal, f"SIG{name}")
        # submitit's debug executor runs jobs in its own process, whose signals are not ours.
        if callable(signal.getsignal(preempted)):

            def make_room(number: int, frame: FrameType | None) -> None:
                del number, frame
                signal.raise_signal(preempted)

            for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                signal.signal(number, make_room)
        return super().__call__()

    def checkpoint(self) -> Any:
        """What to run once more; `None` if the job was stopped on purpose."""
        from submitit.helpers import DelayedSubmission

        self._request = "interrupt"
        while self._status is None:
            time.sleep(_WATCH_SECONDS / 5)
        wanted = self.control.asked() == "run" and not _ended_by_slurm()
        return DelayedSubmission(dataclasses.replace(self)) if wanted else None


def _ended_by_slurm() -> bool:
    """Whether SLURM is ending the job of this process: cancelled jobs must not come back.

    It is still running when it is told to make room. Jobs that are preempted without a warning are
    requeued by SLURM, or submitted again by the runner.
    """
    command = ["squeue", "--noheader", "--format=%T", f"--jobs={os.environ.get('SLURM_JOB_ID')}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.stdout.strip() not in ("", "RUNNING")


@dataclasses.dataclass(frozen=True)
class Probe:
    """Called on a machine that is to run jobs; returns why it cannot, or nothing.

    It looks for `token` in a file in the study's folder, compares versions and runs the command of
    `job`, which imports what the jobs need.
    """

    folder: Path
    file: Path
    token: str
    job: RemoteJob
    version: str = __version__

    def __call__(self) -> str:
        host = platform.node()
        try:
            seen = self.file.read_text() == self.token
        except OSError:
            seen = False
        if not seen:
            return f"{host} does not see the folder {self.folder}: it must be on a shared disk"
        try:
            mark = self.file.with_suffix(f".{uuid.uuid4().hex}")
            mark.touch()
            mark.unlink()
        except OSError as error:
            return f"{host} cannot write to the folder {self.folder}: {error.strerror}"
        if self.version != __version__:
            return f"{host} has asmpg {__version__}, not {self.version}"
        done = subprocess.run(
            [sys.executable, *self.job.command],
            capture_output=True,
            text=True,
            env=worker_environment(self.job.device, self.job.cpus) | self.job.variables,
            cwd=self.job.directory if self.job.directory.is_dir() else None,
        )
        lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        fault = lines[-1] if lines else f"exit status {done.returncode}"
        return f"{host} cannot run the jobs: {fault}" if done.returncode else ""


def call(task: Any) -> Any:
    """What engines run: `task`, a job or a probe."""
    return task()
