"""What the runner asks of the place where jobs run."""

import abc
from pathlib import Path


class Handle(abc.ABC):
    """A job that was submitted."""

    @abc.abstractmethod
    def poll(self) -> int | None:
        """The exit status once the job is over, `None` before."""

    @abc.abstractmethod
    def interrupt(self) -> None:
        """Ask the job to write down what it has and to leave."""

    @abc.abstractmethod
    def kill(self) -> None:
        """End the job now, and return when it is over."""


class Executor(abc.ABC):
    """Runs `python -m asmpg.studies.worker FOLDER JOB` somewhere that sees the study's folder."""

    #: How many jobs it takes at a time.
    slots: int

    @abc.abstractmethod
    def submit(self, folder: Path, job: str, log: Path) -> Handle:
        """Start the job called `job` of the study in `folder`; what it says goes to `log`."""
