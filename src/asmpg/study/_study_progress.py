"""The progress of a study for people: live in a terminal, plain lines elsewhere."""

import time
from collections.abc import Sequence

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from asmpg._clock import clock
from asmpg.study._job_state import JobState, seconds_left, share_done

#: Seconds between two lines where there is no terminal.
_PAUSE = 30.0


class StudyProgress:
    """How much is done, how long the rest will take, what runs, and what went wrong."""

    def __init__(self, console: Console | None = None, *, quiet: bool = False):
        """Show it on `console`, by default the terminal of standard error."""
        self._console = console or Console(stderr=True)
        self._quiet = quiet
        self._live: Live | None = None

    def start(self, states: Sequence[JobState], slots: int) -> None:
        """Begin to show `states`, `slots` of which run at a time."""
        self._states, self._slots = states, slots
        self._began = self._told = time.monotonic()
        if self._console.is_terminal and not self._quiet:
            self._live = Live(
                console=self._console, get_renderable=self._render, refresh_per_second=4
            )
            self._live.start()
        self.say(self._status())

    def show(self) -> None:
        """Tell how things stand, if it is time to."""
        if self._live is None and time.monotonic() - self._told > _PAUSE:
            self.say(self._status())

    def finished(self, state: JobState) -> None:
        """A job is done."""
        if self._live is None:
            self.say(f"{state.job.name} done in {clock(state.seconds)}; {self._status()}")

    def say(self, line: str) -> None:
        """Print a line, above the live display if there is one."""
        self._told = time.monotonic()
        if not self._quiet:
            self._console.print(line, highlight=False, markup=False, soft_wrap=True)

    def end(self) -> None:
        """Leave the last picture on the screen."""
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
