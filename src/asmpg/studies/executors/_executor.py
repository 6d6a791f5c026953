"""The contract of an executor. Subclass it to run studies on your own machines."""

import abc
import sys
from collections.abc import Callable
from pathlib import Path


class Handle(abc.ABC):
    """A job that was submitted."""

    @abc.abstractmethod
    def poll(self) -> int | None:
        """The exit status once the job is over, `None` before.

        75 says that the job was lost through no fault of its own, with its machine for example.
        """

    def waiting(self) -> bool:
        """Whether the job is queued somewhere and has not started: then nobody expects progress."""
        return False

    @abc.abstractmethod
    def interrupt(self) -> None:
        """Ask the job to save its progress and exit, as Ctrl-C does."""

    @abc.abstractmethod
    def kill(self) -> None:
        """End the job now, and return when it is over."""


class Executor(abc.ABC):
    """Runs `worker_command(folder, job)` on some machine that sees the study's folder.

    An executor only starts and stops processes: retries, timeouts and progress are the runner's,
    which reads everything else from the folder.
    """

    #: How many jobs are submitted at a time.
    slots: int
    #: Seconds between two polls of all jobs.
    poll_seconds: float = 0.25

    def check(self, folder: Path, say: Callable[[str], None]) -> None:
        """Before the first job: a `ValueError` if jobs of the study in `folder` could not run.

        `say` shows a line to the user.
        """
        del folder, say

    @abc.abstractmethod
    def submit(self, folder: Path, job: str, log: Path) -> Handle:
        """Start the job called `job` of the study in `folder`; its output is appended to `log`.

        The folder of `log` exists. An `OSError` counts as a failed attempt.
        """

    def hold_lock(self, descriptor: int) -> None:
        """Before the first job: the open file that locks the study's folder.

        Workers that inherit it keep the folder locked until the last of them has exited, even if
        the process that started them is killed. Executors that cannot hand it on ignore it.
        """
        del descriptor


def worker_command(folder: Path, *arguments: str) -> list[str]:
    """The command line that runs one job of the study in `folder`: `arguments` are its name."""
    return [sys.executable, "-m", "asmpg.studies.worker", str(folder), *arguments]
