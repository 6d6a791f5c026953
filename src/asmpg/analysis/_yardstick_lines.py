"""The yardsticks of an environment in the score that its runs are measured by."""

import dataclasses
from typing import Any

from asmpg import exact
from asmpg.environments import Environment
from asmpg.exact import KIND_MARKS, Yardstick
from asmpg.training import Score

#: Those that are drawn, in ascending order.
LINES = ("random", "memoryless", "history_optimal", "history_bound")


@dataclasses.dataclass(frozen=True)
class Line:
    """The value of a yardstick, and how it is known."""

    value: float
    kind: str

    @property
    def text(self) -> str:
        """The value after `≥` if it is the best of a search, `≤` if a bound, `≈` if approximate."""
        return f"{KIND_MARKS[self.kind]} {self.value:.4g}".replace("-", "−").lstrip()


def yardstick_lines(
    environment: Environment[Any], score: Score, *, discount: float | None = None
) -> dict[str, Line]:
    """The lines by name, without those that cannot be computed.

    The discount is that of the environment, or 0.99, where none is given.
    """
    try:
        values = exact.yardsticks(environment, discount=discount)
    except ValueError:
        return {}
    lines = {}
    for name in (*LINES, "full_state"):
        yardstick: Yardstick | None = getattr(values, name)
        if yardstick is None:
            continue
        value = getattr(yardstick, score.yardstick)
        if value is not None:
            lines[name] = Line(float(value), yardstick.kind)
    return lines


def goal(lines: dict[str, Line]) -> tuple[float, float] | None:
    """Random, and the best a history can do: the range that scores are normalised by.

    The full state stands in where the history optimum is not known; `None` if neither is.
    """
    best = lines.get("history_optimal") or lines.get("full_state")
    if "random" not in lines or best is None or best.value <= lines["random"].value:
        return None
    return lines["random"].value, best.value
