"""Processes on this machine."""

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from asmpg._support.machine import Device, core_numbers, find_device
from asmpg._support.remote import worker_environment
from asmpg.studies.executors._executor import Executor, Handle, worker_command
from asmpg.studies.executors._settings import ExecutorSettings


class ProcessHandle(Handle):
    """A process on this machine.

    `kill` ends its process group as well, if it leads one: start it with `start_new_session=True`.
    """

    def __init__(self, process: "subprocess.Popen[bytes]", cores: Sequence[int] = ()):
        self.process = process
        #: The cores that it is pinned to, if any.
        self.cores = cores

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
    """Fresh interpreters: on CPUs one per core, pinned to it if all have one, with one thread.

    With `cpus` each has so many cores and threads. On a GPU there is one at a time, with its seeds
    side by side, unless `slots` asks for more. Workers exit with the process that started them,
    however it ends: they watch a pipe from it.
    """

    def __init__(self, device: Device = "cpu", slots: int | None = None, cpus: int | None = None):
        self._cores = core_numbers() if device == "cpu" else []
        self._cpus = cpus or (1 if device == "cpu" else None)
        self.slots = slots or max(1, len(self._cores) // (self._cpus or 1))
        self._device: Device = device
        self._inherited: tuple[int, ...] = ()
        self._handles: list[ProcessHandle] = []

    @classmethod
    def from_settings(cls, settings: ExecutorSettings) -> "LocalExecutor":
        settings.refuse("local", "gpus", "memory", "address", "options")
        device = find_device() if settings.device == "auto" else settings.device
        return cls(device, settings.jobs, settings.cpus)

    def hold_lock(self, descriptor: int) -> None:
        self._inherited = (descriptor,)

    def submit(self, folder: Path, job: str, log: Path) -> Handle:
        self._handles = [handle for handle in self._handles if handle.poll() is None]
        cores = self._free_cores()
        pinned = [f"--cores={','.join(map(str, cores))}"] if cores else []
        with open(log, "ab") as file:
            process = subprocess.Popen(
                worker_command(folder, job, "--with-parent", *pinned),
                stdin=subprocess.PIPE,
                stdout=file,
                stderr=subprocess.STDOUT,
                env=worker_environment(self._device, self._cpus),
                start_new_session=True,
                pass_fds=self._inherited,
            )
        handle = ProcessHandle(process, cores)
        self._handles.append(handle)
        return handle

    def _free_cores(self) -> list[int]:
        """Cores without a job; none, for any cores, unless the slots take up all that there are.

        Where some are left, another study may run beside this one, and would pin to the same ones.
        """
        cpus = self._cpus or 1
        if self.slots * cpus != len(self._cores):
            return []
        taken = {core for handle in self._handles for core in handle.cores}
        return [core for core in self._cores if core not in taken][:cpus]
