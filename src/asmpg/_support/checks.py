"""Argument checks whose messages name the argument, what was given and what is accepted."""

import dataclasses
import functools
import math
import reprlib
import types
import typing
from collections.abc import Sequence
from typing import Any

#: Steps, episodes and updates are counted in 32 bits.
MOST_INTEGER = 2**31 - 1
#: Sizes that nobody means: what is larger is refused before anything is allocated.
MOST_STATES = 10_000
MOST_WIDTH = 65_536

_repr = reprlib.Repr()
_repr.maxlevel, _repr.maxstring, _repr.maxother, _repr.maxlong = 4, 120, 120, 40
_repr.maxtuple = _repr.maxlist = _repr.maxdict = 20


def shown(value: object) -> str:
    """`repr(value)`, shortened where it is long or deeply nested."""
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 1_000:
        return f"an integer of {value.bit_length():,} bits"
    return _repr.repr(value)


def check_integer(name: str, value: object, *, low: int, high: int | None = None) -> int:
    """Return `value` if it is an integer in `[low, high]`, else raise a `ValueError`.

    Without `high` it is what 32 bits can hold.
    """
    most = MOST_INTEGER if high is None else high
    accepted = f"an integer in [{low}, {most}]"
    if isinstance(value, int) and not isinstance(value, bool):
        if low <= value <= most:
            return value
        if high is None and value < low:
            accepted = f"an integer of at least {low}"
    elif high is None:
        accepted = f"an integer of at least {low}"
    raise ValueError(f"{name} must be {accepted}, got {shown(value)}")


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
    if not _is_number(value):
        raise ValueError(f"{name} must be {accepted}, got {shown(value)}")
    number = float(typing.cast(float, value))
    if not low <= number <= high:
        raise ValueError(f"{name} must be {accepted}, got {number:g}")
    return number


def check_one_of(name: str, value: object, accepted: Sequence[str]) -> str:
    """Return `value` if it is among `accepted`, else raise a `ValueError`."""
    if value not in accepted:
        raise ValueError(f"{name} must be one of {', '.join(accepted)}, got {shown(value)}")
    return str(value)


def check_fields(instance: Any) -> None:
    """Raise a `ValueError` where a field of a dataclass is not of the type that it is annotated by.

    Checked are booleans, integers, finite numbers, text, `Literal`s, tuples of one kind of these,
    and unions; other annotations are not looked at. Ranges are the business of the class.
    """
    for name, kind in _field_types(type(instance)).items():
        value = getattr(instance, name)
        if not _fits(value, kind):
            raise ValueError(f"{name} must be {_described(kind)}, got {shown(value)}")


@functools.cache
def _field_types(kind: type) -> dict[str, Any]:
    try:
        hints = typing.get_type_hints(kind)
    except NameError:
        # An annotation in quotes, of a class from outside, whose names are not to be had.
        return {}
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= MOST_INTEGER


def _fits(value: object, kind: Any) -> bool:
    arguments, origin = typing.get_args(kind), typing.get_origin(kind)
    if origin in (types.UnionType, typing.Union):
        return any(_fits(value, each) for each in arguments)
    if origin is typing.Literal:
        return isinstance(value, str) and value in arguments
    if origin is tuple and arguments[1:] == (...,):
        return isinstance(value, tuple) and all(_fits(each, arguments[0]) for each in value)
    checks = {int: _is_integer, float: _is_number}
    if kind in checks:
        return checks[kind](value)
    return isinstance(value, kind) if kind in (bool, str, types.NoneType) else True


def _described(kind: Any) -> str:
    arguments, origin = typing.get_args(kind), typing.get_origin(kind)
    if origin in (types.UnionType, typing.Union):
        return " or ".join(map(_described, arguments))
    if origin is typing.Literal:
        return f"one of {', '.join(map(str, arguments))}"
    if origin is tuple:
        return f"a list, each of it {_described(arguments[0])}"
    words = {
        bool: "true or false",
        int: "an integer of at most 32 bits",
        float: "a finite number",
        str: "text",
        types.NoneType: "None",
    }
    return words.get(kind, str(kind))
