"""The progress display: live in a terminal, a few plain lines elsewhere."""

import math
import time
from collections import deque
from collections.abc import Mapping

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from asmpg._support.words import clock, counted
from asmpg.runs import Row, RunConfig
from asmpg.training._callbacks import Callback, Score

#: The speed is measured over this many seconds.
_WINDOW = 20.0
#: Seeds that are trained together report together; their steps were taken since the last report.
_TOGETHER = 1.0
#: With more seeds than this, the rest is summed up.
_MOST_SEEDS = 20


class Progress(Callback):
    """Shows the scores of the seeds, steps per second and time left."""

    def __init__(self, console: Console | None = None, *, every_evaluation: bool = False):
        """Show progress on `console`, by default standard error.

        With `every_evaluation`, also print a line with all metrics for each evaluation.
        """
        self._console = console or Console(stderr=True)
        self._every_evaluation = every_evaluation
        self._live: Live | None = None

    def on_start(self, config: RunConfig, score: Score, latest: Mapping[int, Row]) -> None:
        """Show where the run stands."""
        self._config, self._score = config, score
        self._rows: dict[int, Row] = dict(latest)
        self._steps = sum(map(_steps_of, latest.values()))
        self._steps_that_count = sum(map(self._counted, latest.values()))
        self._phase = ""
        self._tenths = self._done_share() * 10 // 1
        self._measured: deque[tuple[float, int]] = deque()
        if self._console.is_terminal:
            self._live = Live(
                console=self._console, get_renderable=self._render, refresh_per_second=4
            )
            self._live.start()

    def on_compile(self) -> None:
        """Say so."""
        self._phase = "compiling"
        self._compiling_since = time.monotonic()
        self._say(f"{self._title()}: compiling")

    def on_compiled(self, seconds: float) -> None:
        """Start the clock."""
        self._phase = "training"
        self._measured.append((time.monotonic(), self._steps))
        self._say(f"{self._title()}: compiled in {seconds:.1f} s, training")

    def on_evaluation(self, seed: int, row: Row) -> None:
        """Take the row in."""
        before = self._rows.get(seed)
        if before is None:
            # Where it begins; nothing was played to get there.
            self._measured.clear()
        else:
            self._steps -= _steps_of(before)
            self._steps_that_count -= self._counted(before)
        self._rows[seed] = row
        self._steps += _steps_of(row)
        self._steps_that_count += self._counted(row)
        now = time.monotonic()
        if len(self._measured) > 1 and now - self._measured[-1][0] < _TOGETHER:
            now, _ = self._measured.pop()
        self._measured.append((now, self._steps))
        while len(self._measured) > 3 and now - self._measured[1][0] > _WINDOW:
            self._measured.popleft()
        if self._every_evaluation:
            self._print(f"{self._title()}: {_all_metrics(row)}")
        tenths = self._done_share() * 10 // 1
        if tenths > self._tenths:
            self._tenths = tenths
            self._say(f"{self._title()}: {self._status()}")

    def on_end(self, error: BaseException | None) -> None:
        """Leave the last state on the screen."""
        self._phase = "stopped" if error else "done"
        if self._live is not None:
            self._live.stop()

    def _say(self, line: str) -> None:
        """Print it, where nothing is shown live."""
        if self._live is None:
            self._print(line)

    def _print(self, line: str) -> None:
        self._console.print(line, highlight=False, soft_wrap=True)

    def _title(self) -> str:
        return f"{self._config.environment_name}, {self._config.method_name}"

    def _latest(self) -> list[Row]:
        # A copy: the display asks from a thread of its own.
        return list(self._rows.values())

    def _counted(self, row: Row) -> int:
        """Steps of a seed, without those by which its last update went too far."""
        return min(self._config.steps, _steps_of(row))

    def _steps_left(self) -> int:
        return self._config.steps * len(self._config.seeds) - self._steps_that_count

    def _done_share(self) -> float:
        return 1 - self._steps_left() / (self._config.steps * len(self._config.seeds))

    def _speed(self) -> float:
        if len(self._measured) < 2:
            return 0.0
        # Others may be about to report together with the last.
        complete = -2 if len(self._measured) > 2 else -1
        (began, first), (ended, last) = self._measured[0], self._measured[complete]
        return (last - first) / max(ended - began, 1e-9)

    def _mean_score(self) -> str:
        scores = [row[self._score.name] for row in self._latest()]
        return f"{sum(scores) / len(scores):.4g}" if scores else "–"

    def _status(self) -> str:
        share = f"{100 * self._done_share():.0f}%"
        if self._phase == "compiling":
            return f"{share}, compiling, {clock(time.monotonic() - self._compiling_since)}"
        speed = self._speed()
        left = (
            f", {clock(self._steps_left() / speed)} left"
            if speed and self._phase == "training"
            else ""
        )
        mean = f" (mean of {len(self._rows)} seeds)" if len(self._rows) > 1 else ""
        return (
            f"{share}, {self._score.label} {self._mean_score()}{mean}, {speed:,.0f} steps/s{left}"
        )

    def _render(self) -> Group:
        head = Table.grid(padding=(0, 1))
        head.add_row(
            Text(self._title(), style="bold"),
            ProgressBar(total=1.0, completed=self._done_share(), width=24),
            Text(self._status()),
        )
        table = Table(box=None, padding=(0, 2))
        for heading in ("seed", "steps", self._score.label):
            table.add_column(heading, justify="right")
        for seed in self._config.seeds[:_MOST_SEEDS]:
            row = self._rows.get(seed)
            cells = (
                ("", "") if row is None else (f"{row['steps']:,}", f"{row[self._score.name]:.4g}")
            )
            table.add_row(str(seed), *cells)
        more = len(self._config.seeds) - _MOST_SEEDS
        return Group(
            head, table, *([Text(f"  and {counted(more, 'more seed')}")] if more > 0 else [])
        )


def _all_metrics(row: Row) -> str:
    measured = [
        f"{name.replace('_', ' ')} {value:.4g}"
        for name, value in row.items()
        if name not in ("seed", "steps") and not math.isnan(value)
    ]
    return f"seed {row['seed']}, {counted(int(row['steps']), 'step')}: {', '.join(measured)}"


def _steps_of(row: Row) -> int:
    return int(row["steps"])
