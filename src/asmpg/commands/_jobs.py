"""Shared by the commands that run jobs: where jobs run, and how failures are reported."""

import concurrent.futures
import dataclasses
from collections.abc import Sequence
from typing import Any

from asmpg._support.checks import check_integer, check_number
from asmpg._support.errors import TrainingError
from asmpg._support.words import counted
from asmpg.commands._options import read_options
from asmpg.studies import JobFolder, JobState, Runner, StudyProgress
from asmpg.studies.executors import Executor, ExecutorSettings, FuturesExecutor, make_executor

#: Where jobs run: an executor, any pool, or a name.
Where = Executor | concurrent.futures.Executor | str


@dataclasses.dataclass(frozen=True)
class JobOptions:
    """Where jobs run, and what to do about failures."""

    executor: Where
    settings: ExecutorSettings
    patience: float
    retries: int
    quiet: bool

    def __post_init__(self):
        check_number("patience", self.patience, low=1)
        check_integer("retries", self.retries, low=0)
        if isinstance(self.executor, Executor) and self.settings != ExecutorSettings():
            raise ValueError(
                "jobs, device and the like go with the name of an executor or with a pool"
            )

    @classmethod
    def taken_from(cls, options: dict[str, Any]) -> "JobOptions":
        """Take the job options out of the `options` of a command line."""
        names = {field.name for field in dataclasses.fields(ExecutorSettings)} - {"options"}
        settings = ExecutorSettings(
            options=read_options("executor-option", options.pop("executor_option")),
            **{name: options.pop(name) for name in names},
        )
        own = [field.name for field in dataclasses.fields(cls) if field.name != "settings"]
        return cls(settings=settings, **{name: options.pop(name) for name in own})

    def make_executor(self) -> Executor:
        if isinstance(self.executor, str):
            return make_executor(self.executor, self.settings)
        if isinstance(self.executor, concurrent.futures.Executor):
            return FuturesExecutor(self.executor, self.settings)
        return self.executor

    def run(
        self, folder: JobFolder[Any], executor: Executor, *, heading: str = ""
    ) -> list[JobState]:
        """Run the missing jobs in `folder`; return those that failed."""
        progress = StudyProgress(quiet=self.quiet)
        if heading:
            progress.say(heading)
        runner = Runner(folder, executor, progress, patience=self.patience, retries=self.retries)
        try:
            return runner.run()
        except KeyboardInterrupt:
            raise KeyboardInterrupt("stopped; resume with the same command") from None


def raise_failures(folder: JobFolder[Any], failed: Sequence[JobState]) -> None:
    """Raise a `TrainingError` that lists all failed jobs, and why they failed, if there are any."""
    if not failed:
        return
    lines = [
        f"  {state.job.name}, after {counted(state.attempts, 'attempt')}: {state.troubles[-1]}"
        f" (see {folder.log_path(state.job)})"
        for state in failed
    ]
    head = f"{len(failed)} of {len(folder.jobs())} jobs failed; the same command retries them:"
    raise TrainingError("\n".join([head, *lines]))
