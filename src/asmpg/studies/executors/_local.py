"""Processes on this machine."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from asmpg._support.machine import Device
from asmpg.studies.executors._executor import Executor, Handle

#: One thread a process: the cores are all in use.
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class LocalHandle(Handle):
    """A process and the core it has to itself, if any."""

    def __init__(self, process: "subprocess.Popen[bytes]", core: int | None):
        """`process` leads a session of its own."""
        self.process = process
        self.core = core

    def poll(self) -> int | None:
        """Ask the process."""
        code = self.process.poll()
        if code is not None and self.process.stdin is not None:
            self.process.stdin.close()
        return code

    def interrupt(self) -> None:
        """As Ctrl-C does."""
        if self.poll() is None:
            self.process.send_signal(signal.SIGINT)

    def kill(self) -> None:
        """SIGKILL, for the process and all it started."""
        if self.poll() is None:
            if hasattr(os, "killpg"):
                os.killpg(self.process.pid, signal.SIGKILL)
            else:
                self.process.kill()
            self.process.wait()
            self.poll()


class LocalExecutor(Executor):
    """Fresh interpreters: on CPUs one for each core, pinned to it, with one thread.

    On a GPU there is one at a time, with its seeds abreast, unless `slots` asks for more. Workers
    leave with the process that started them, however it ends: they watch a pipe from it. Whatever
    descriptors are in `hold` stay open in them until then.
    """

    def __init__(self, device: Device, slots: int | None = None, *, hold: tuple[int, ...] = ()):
        """`slots` is the number of jobs at a time."""
        self._cores = _cores() if device == "cpu" else []
        self.slots = slots or max(1, len(self._cores))
        self._device: Device = device
        self._hold = hold
        self._handles: list[LocalHandle] = []

    def submit(self, folder: Path, job: str, log: Path) -> Handle:
        """Start a process."""
        self._handles = [handle for handle in self._handles if handle.poll() is None]
        core = self._free_core()
        command = [sys.executable, "-m", "asmpg.studies.worker", str(folder), job, "--with-parent"]
        log.parent.mkdir(parents=True, exist_ok=True)
        with open(log, "ab") as file:
            process = subprocess.Popen(
                command if core is None else [*command, f"--core={core}"],
                stdin=subprocess.PIPE,
                stdout=file,
                stderr=subprocess.STDOUT,
                env=_environment(self._device),
                start_new_session=True,
                pass_fds=self._hold,
            )
        handle = LocalHandle(process, core)
        self._handles.append(handle)
        return handle

    def _free_core(self) -> int | None:
        """A core without a job; `None`, any will do, where jobs must share."""
        if self.slots > len(self._cores):
            return None
        taken = {handle.core for handle in self._handles}
        return next((core for core in self._cores if core not in taken), None)


def _cores() -> list[int]:
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def _environment(device: Device) -> dict[str, str]:
    environment = dict(os.environ)
    flags = environment.get("XLA_FLAGS", "")
    if device == "cpu":
        flags += " --xla_cpu_multi_thread_eigen=false"
        environment |= {"JAX_PLATFORMS": "cpu", **_ONE_THREAD}
    else:
        flags += " --xla_gpu_deterministic_ops=true"
        environment["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    return environment | {"XLA_FLAGS": flags.strip(), "PYTHONUNBUFFERED": "1"}
