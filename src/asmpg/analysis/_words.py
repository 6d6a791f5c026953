"""Numbers and lists as people read them."""

from collections.abc import Sequence

from asmpg.analysis.statistics import Interval


def number(value: float) -> str:
    """Three digits, with a minus sign of proper length."""
    return f"{value:.3g}".replace("-", "−")


def interval_text(interval: Interval) -> str:
    """`0.21 [0.2, 0.22]`."""
    return f"{number(interval.value)} [{number(interval.low)}, {number(interval.high)}]"


def percent(share: float) -> str:
    """`0.95` as `95 %`, which no line break parts."""
    return f"{100 * share:.0f}\N{NO-BREAK SPACE}%".replace("-", "−")


def listed(names: Sequence[str]) -> str:
    """`a, b and c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
