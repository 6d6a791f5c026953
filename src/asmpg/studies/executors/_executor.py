"""The interface of an executor. Subclass it to run studies on your own machines."""

import abc
import sys
from collections.abc import Callable
from pathlib import Path


class Handle(abc.ABC):
    """A job that was submitted."""

    @abc.abstractmethod
    def poll(self) -> int | None:
        """The exit status once the job is over, `None` before.

        75 means that the job was lost through no fault of its own, for example with its machine.
        """

    def waiting(self) -> bool:
        """Whether the job is queued and has not started, so that no progress is expected."""
        return False

    @abc.abstractmethod
    def interrupt(self) -> None:
        """Ask the job to save its progress and exit, as Ctrl-C does."""

    @abc.abstractmethod
    def kill(self) -> None:
        """End the job now, and return when it is over."""


class Executor(abc.ABC):
    """Runs `worker_command(folder, job)` on some machine that can access the study's folder.

    An executor only starts and stops processes; retries, timeouts and progress are up to the
    runner, which reads everything else from the folder.
    """

    #: How many jobs are submitted at a time.
    slots: int
    #: Seconds between two polls of all jobs.
    poll_seconds: float = 0.25

    def check(self, folder: Path, say: Callable[[str], None]) -> None:
        """Called before the first job; raise a `ValueError` if the study in `folder` cannot run.

        `say` shows a line to the user.
        """
        del folder, say

    @abc.abstractmethod
    def submit(self, folder: Path, job: str, log: Path) -> Handle:
        """Start the job called `job` of the study in `folder`; its output is appended to `log`.

        The folder of `log` exists. An `OSError` counts as a failed attempt.
        """

    def hold_lock(self, descriptor: int) -> None:
        """Called before the first job, with the open file that locks the study's folder.

        Workers that inherit it keep the folder locked until the last of them has exited, even if
        the process that started them is killed. Executors that cannot pass it on ignore it.
        """
        del descriptor


def worker_command(folder: Path, *arguments: str) -> list[str]:
    """The command line that runs one job of the study in `folder`: `arguments` are its name."""
    return [sys.executable, "-m", "asmpg.studies.worker", str(folder), *arguments]
