"""The progress of a study: the state of its jobs, an estimate of the time left, a display."""

import dataclasses
import time
from collections.abc import Iterable, Sequence
from typing import Literal

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from asmpg._support.words import clock
from asmpg.studies._job_folder import Task
from asmpg.studies.executors import Handle

Status = Literal["waiting", "running", "finished", "failed"]
#: The speed of a running job is used once this share of it is done.
_MEASURABLE = 0.1


@dataclasses.dataclass
class JobState:
    """The state of a job. Times are in seconds; `seconds` is what earlier attempts took.

    `startup` is the time that all attempts together took until their first evaluation.
    """

    job: Task
    status: Status = "waiting"
    evaluations: int = 0
    #: Those from before this session, which say nothing about its speed.
    evaluations_before: int = 0
    attempts: int = 0
    #: Those attempts that were lost with their machine.
    losses: int = 0
    seconds: float = 0.0
    startup: float = 0.0
    started: bool = False
    #: Why each failed attempt ended.
    troubles: list[str] = dataclasses.field(default_factory=list)
    handle: Handle | None = None
    began: float = 0.0
    advanced: float = 0.0

    @property
    def share(self) -> float:
        """The share of the job that is done."""
        if self.status == "finished":
            return 1.0
        return min(1.0, self.evaluations / self.job.evaluations)

    def spent(self, now: float) -> float:
        """Seconds so far, all attempts of this session together."""
        return self.seconds + (now - self.began if self.status == "running" else 0.0)


def share_done(states: Iterable[JobState]) -> float:
    """The share of all the work that is done."""
    states = list(states)
    done = sum(state.share * state.job.work for state in states)
    return done / sum(state.job.work for state in states)


def seconds_left(states: Sequence[JobState], now: float, slots: int) -> float | None:
    """An estimate from the speed of each entry so far, or else of all; `None` if unknown.

    A job that has not begun to train is expected to take as long to start as the others did.
    """
    spent: dict[str, float] = {}
    done: dict[str, float] = {}
    known = [state for state in states if state.started and state.share >= _MEASURABLE]
    for state in known:
        entry = state.job.entry
        work = (state.share - state.evaluations_before / state.job.evaluations) * state.job.work
        spent[entry] = spent.get(entry, 0.0) + state.spent(now) - state.startup
        done[entry] = done.get(entry, 0.0) + work
    if not sum(done.values()):
        return None
    startup = sum(state.startup for state in known) / sum(state.attempts for state in known)
    overall = sum(spent.values()) / sum(done.values())
    left = []
    for state in states:
        if state.status in ("waiting", "running"):
            entry = state.job.entry
            rate = spent[entry] / done[entry] if done.get(entry) else overall
            left.append((1 - state.share) * state.job.work * rate)
            if state.status == "waiting":
                left[-1] += startup
            elif not state.started:
                left[-1] += max(0.0, startup - (now - state.began))
    return max([sum(left) / slots, *left], default=0.0)


#: Seconds between two lines of output that is not a terminal.
_LINE_SECONDS = 30.0


class StudyProgress:
    """Shows what is done, the time left, what runs, and what went wrong.

    It is shown on `console`, by default standard error: live on a terminal, else line by line.
    """

    def __init__(self, console: Console | None = None, *, quiet: bool = False):
        self._console = console or Console(stderr=True)
        self._quiet = quiet
        self._live: Live | None = None

    def start(self, states: Sequence[JobState], slots: int) -> None:
        """Begin to show `states`, `slots` of which run at a time."""
        self._states, self._slots = states, slots
        self._began = self._last_line = time.monotonic()
        if self._console.is_terminal and not self._quiet:
            self._live = Live(
                console=self._console, get_renderable=self._render, refresh_per_second=4
            )
            self._live.start()
        self.say(self._status())

    def show(self) -> None:
        """Print the status if the last line is some time ago; a live display updates itself."""
        if self._live is None and time.monotonic() - self._last_line > _LINE_SECONDS:
            self.say(self._status())

    def finished(self, state: JobState) -> None:
        """Print that a job is done."""
        if self._live is None:
            self.say(f"{state.job.name} done in {clock(state.seconds)}; {self._status()}")

    def say(self, line: str) -> None:
        """Print a line, above the live display if there is one."""
        self._last_line = time.monotonic()
        if not self._quiet:
            self._console.print(line, highlight=False, markup=False, soft_wrap=True)

    def end(self) -> None:
        """Stop, and leave the last status on the screen."""
        if self._live is not None:
            self._live.stop()
            self._live = None
        else:
            self.say(self._status())

    def _status(self) -> str:
        now = time.monotonic()
        count = [state.status for state in self._states].count
        parts = [
            f"{count('finished')} of {len(self._states)} jobs",
            f"{100 * share_done(self._states):.0f}%",
            f"{clock(now - self._began)} so far",
        ]
        left = seconds_left(self._states, now, self._slots)
        if left is not None and count("running"):
            parts.append(f"about {clock(left)} left")
        if count("failed"):
            parts.append(f"{count('failed')} failed")
        return ", ".join(parts)

    def _render(self) -> Group:
        head = Table.grid(padding=(0, 1))
        head.add_row(
            ProgressBar(total=1.0, completed=share_done(self._states), width=32),
            Text(self._status(), style="bold"),
        )
        table = Table(box=None, padding=(0, 2), show_header=False)
        now = time.monotonic()
        for state in self._states:
            if state.status == "running":
                doing = f"{100 * state.share:.0f}%" if state.evaluations else "compiling"
                table.add_row(state.job.name, doing, clock(state.spent(now)))
        return Group(head, table)
