"""What all engines share: jobs are sent as objects and watched through the study's folder.

An engine only has to launch a call somewhere, as `concurrent.futures.Executor.submit` does. All
else goes through files in `attempts/`, since no two engines interrupt a job in the same way.
"""

import abc
import os
import re
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from asmpg._support.files import one_line
from asmpg._support.machine import Device
from asmpg._support.remote import LOST, Control, Probe, RemoteJob
from asmpg.studies.executors._executor import Executor, Handle, worker_command
from asmpg.studies.executors._settings import ExecutorSettings

#: Seconds that a job which is to be killed may take to notice.
_KILL_SECONDS = 15.0


@runtime_checkable
class Launched(Protocol):
    """A call that an engine has taken on; `concurrent.futures.Future` is one."""

    def done(self) -> bool: ...

    def result(self) -> Any: ...

    def cancel(self) -> Any: ...


class RemoteHandle(Handle):
    """A job that an engine has taken on."""

    def __init__(self, launched: Launched, control: Control, log: Path):
        self._launched = launched
        self._control = control
        self._log = log
        self._status: int | None = None

    def poll(self) -> int | None:
        if self._status is None and self._launched.done():
            try:
                self._end(self._launched.result())
            except Exception as error:  # Whatever engines raise when they lose a job.
                with open(self._log, "a", encoding="utf-8") as file:
                    print(_reason(error), file=file)
                self._end(LOST)
        return self._status

    def waiting(self) -> bool:
        return self._status is None and not self._control.started()

    def interrupt(self) -> None:
        if self._status is None:
            self._control.ask("interrupt")
            if self.waiting():
                self._launched.cancel()
                self._end(130)

    def kill(self) -> None:
        if self.poll() is not None:
            return
        self._control.ask("kill")
        until = time.monotonic() + _KILL_SECONDS
        while self.poll() is None:
            if time.monotonic() > until or self.waiting():
                self._launched.cancel()
                self._end(LOST)
                return
            time.sleep(0.1)

    def _end(self, status: int) -> None:
        self._status = status
        self._control.remove()


class RemoteExecutor(Executor):
    """Sends jobs to an engine, on machines that share the folder of the study."""

    poll_seconds = 1.0
    #: The class of the jobs that the engine takes.
    _job: type[RemoteJob] = RemoteJob

    def __init__(self, settings: ExecutorSettings, slots: int):
        self.slots = settings.jobs or slots
        self._device: Device = settings.remote_device
        self._cpus = settings.cpus or 1

    @abc.abstractmethod
    def launch(self, task: Callable[[], Any], name: str) -> Launched:
        """Have `task` called by a worker."""

    def launch_probes(self, probe: Probe) -> Sequence[Launched]:
        """Have `probe` called by some worker, or by one on each machine."""
        return [self.launch(probe, "probe")]

    def check(self, folder: Path, say: Callable[[str], None]) -> None:
        attempts = folder.absolute() / "attempts"
        attempts.mkdir(exist_ok=True)
        for file in attempts.iterdir():
            if file.is_file():
                # A job of an earlier session, which exits for want of it.
                file.unlink(missing_ok=True)
        token = attempts / "probe"
        token.write_text(uuid.uuid4().hex)
        command = worker_command(folder.absolute(), *(["--gpu"] * (self._device == "gpu")))
        job = self._make_job(command, Control(token), attempts)
        probe = Probe(folder.absolute(), token, token.read_text(), job)
        say("Asking the workers whether they can run the study")
        launched: Sequence[Launched] = ()
        try:
            launched = self.launch_probes(probe)
            for each in launched:
                while not each.done():
                    time.sleep(0.2)
                if fault := _outcome(each):
                    raise ValueError(f"the workers cannot run the study: {fault}")
        finally:
            for each in launched:
                if not each.done():
                    each.cancel()
            token.unlink(missing_ok=True)

    def submit(self, folder: Path, job: str, log: Path) -> Handle:
        folder, log = folder.absolute(), log.absolute()
        control = Control.create(folder / "attempts")
        try:
            launched = self.launch(
                self._make_job(worker_command(folder, job), control, log), name=job
            )
        except BaseException:
            control.remove()
            raise
        return RemoteHandle(launched, control, log)

    def _make_job(self, command: Sequence[str], control: Control, log: Path) -> RemoteJob:
        # The interpreter is that of the worker.
        return self._job(
            command=tuple(command[1:]),
            control=control,
            log=log,
            device=self._device,
            cpus=self._cpus,
            directory=Path.cwd(),
            variables={name: v for name, v in os.environ.items() if name.startswith("ASMPG_")},
        )


def _outcome(probe: Launched) -> str:
    try:
        return probe.result()
    except Exception as error:  # A worker without the package fails to unpickle the probe.
        return _reason(error)


def _reason(error: Exception) -> str:
    """What was raised in the first place, without the traces and the advice of engines."""
    lines = [line.strip() for line in str(error).splitlines()]
    raised = [line for line in lines if re.match(r"[\w.]+Error: ", line)]
    words = raised[-1] if raised else f"{type(error).__name__}: {one_line(error)}"
    return words.split(". ")[0]
