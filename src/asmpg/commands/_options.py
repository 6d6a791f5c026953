"""Options that commands read: `--seeds`, `--environments`, and `--option NAME=VALUE`."""

import json
from collections.abc import Iterable
from typing import Any

from asmpg.runs import default_seeds


def read_seeds(text: str) -> tuple[int, ...]:
    """`10` is a number of seeds, `1952,5235` (or `1952,`) are the seeds themselves."""
    accepted = "seeds must be a number of seeds, or the seeds separated by commas"
    try:
        numbers = [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise ValueError(f"{accepted}, got {text!r}") from None
    if "," in text:
        return tuple(numbers)
    if not numbers:
        raise ValueError(f"{accepted}, got {text!r}")
    return default_seeds(numbers[0])


def read_names(option: str, text: str | None) -> list[str] | None:
    """`a,b*` as the names or patterns `a` and `b*`; `None` if nothing was given."""
    if text is None:
        return None
    names = [part.strip() for part in text.split(",") if part.strip()]
    if not names:
        raise ValueError(f"{option} must be names separated by commas, got {text!r}")
    return names


def read_options(name: str, given: Iterable[str]) -> dict[str, Any]:
    """`["start=zeros", "head_width=20"]` as a dictionary; values are JSON, or else text.

    `name` is the name of the command-line option, for error messages.
    """
    options = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not (key and equals):
            raise ValueError(f"--{name} must be NAME=VALUE, got {text!r}")
        try:
            options[key] = json.loads(value)
        except json.JSONDecodeError:
            options[key] = value
        except (RecursionError, ValueError):
            # ValueError: an integer of more digits than Python will read.
            raise ValueError(f"--{name} {key} is nested too deeply, or too long a number") from None
    return options
