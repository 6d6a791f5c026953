"""Argument checks whose messages name the argument, what was given and what is accepted."""

import math
from collections.abc import Sequence


def check_integer(name: str, value: object, *, low: int, high: int | None = None) -> int:
    """Return `value` if it is an integer in `[low, high]`, else raise a `ValueError`."""
    accepted = f"an integer of at least {low}" if high is None else f"an integer in [{low}, {high}]"
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{name} must be {accepted}, got {value!r}")
    if value < low or (high is not None and value > high):
        raise ValueError(f"{name} must be {accepted}, got {value}")
    return value


def check_number(
    name: str, value: object, *, low: float = -math.inf, high: float = math.inf
) -> float:
    """Return `value` as a float if it is finite and in `[low, high]`, else raise a `ValueError`."""
    if math.isinf(low) and math.isinf(high):
        accepted = "a finite number"
    elif math.isinf(high):
        accepted = f"a number of at least {low:g}"
    elif math.isinf(low):
        accepted = f"a number of at most {high:g}"
    else:
        accepted = f"a number in [{low:g}, {high:g}]"
    if isinstance(value, bool) or not isinstance(value, int | float) or not _finite(value):
        raise ValueError(f"{name} must be {accepted}, got {value!r}")
    if not low <= value <= high:
        raise ValueError(f"{name} must be {accepted}, got {value:g}")
    return float(value)


def _finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # An integer that no float can hold.
        return False


def check_one_of(name: str, value: object, accepted: Sequence[str]) -> str:
    """Return `value` if it is among `accepted`, else raise a `ValueError`."""
    if value not in accepted:
        raise ValueError(f"{name} must be one of {', '.join(accepted)}, got {value!r}")
    return str(value)
