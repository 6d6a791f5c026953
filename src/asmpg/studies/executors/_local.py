"""Processes on this machine."""

import os
import signal
import subprocess
from pathlib import Path

from asmpg._support.machine import Device, core_numbers
from asmpg.studies.executors._executor import Executor, Handle, worker_command

#: One thread per process: all cores are in use.
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class ProcessHandle(Handle):
    """A process on this machine.

    `kill` ends its process group as well, if it leads one: start it with `start_new_session=True`.
    """

    def __init__(self, process: "subprocess.Popen[bytes]", core: int | None = None):
        self.process = process
        #: The core that it is pinned to, if any.
        self.core = core

    def poll(self) -> int | None:
        code = self.process.poll()
        if code is not None and self.process.stdin is not None:
            self.process.stdin.close()
        return code

    def interrupt(self) -> None:
        if self.poll() is None:
            self.process.send_signal(signal.SIGINT)

    def kill(self) -> None:
        if self.poll() is None:
            if hasattr(os, "killpg") and os.getpgid(self.process.pid) == self.process.pid:
                os.killpg(self.process.pid, signal.SIGKILL)
            else:
                self.process.kill()
            self.process.wait()
            self.poll()


class LocalExecutor(Executor):
    """Fresh interpreters: on CPUs one per core, pinned to it, with one thread.

    On a GPU there is one at a time, with its seeds side by side, unless `slots` asks for more.
    Workers exit with the process that started them, however it ends: they watch a pipe from it.
    """

    def __init__(self, device: Device = "cpu", slots: int | None = None):
        self._cores = core_numbers() if device == "cpu" else []
        self.slots = slots or max(1, len(self._cores))
        self._device: Device = device
        self._inherited: tuple[int, ...] = ()
        self._handles: list[ProcessHandle] = []

    def hold_lock(self, descriptor: int) -> None:
        self._inherited = (descriptor,)

    def submit(self, folder: Path, job: str, log: Path) -> Handle:
        self._handles = [handle for handle in self._handles if handle.poll() is None]
        core = self._free_core()
        command = [*worker_command(folder, job), "--with-parent"]
        with open(log, "ab") as file:
            process = subprocess.Popen(
                command if core is None else [*command, f"--core={core}"],
                stdin=subprocess.PIPE,
                stdout=file,
                stderr=subprocess.STDOUT,
                env=_environment(self._device),
                start_new_session=True,
                pass_fds=self._inherited,
            )
        handle = ProcessHandle(process, core)
        self._handles.append(handle)
        return handle

    def _free_core(self) -> int | None:
        """A core without a job; `None`, for any core, if there are more slots than cores."""
        if self.slots > len(self._cores):
            return None
        taken = {handle.core for handle in self._handles}
        return next((core for core in self._cores if core not in taken), None)


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
