"""Numbers, times and lists as text."""

from collections.abc import Sequence


def clock(seconds: float) -> str:
    """Hours, minutes and seconds."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}"


def counted(number: int, word: str) -> str:
    """`1 seed`, `3 seeds`, `10,000 steps`."""
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


def rounded(value: float) -> str:
    """Three digits, with a minus sign of proper length."""
    return f"{value:.3g}".replace("-", "−")


def short_number(value: float) -> str:
    """`200_000` as `200k`."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def percent(share: float) -> str:
    """`0.95` as `95 %`, with a space at which lines do not break."""
    return f"{100 * share:.0f}\N{NO-BREAK SPACE}%".replace("-", "−")


def listed(names: Sequence[str]) -> str:
    """`a, b and c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
