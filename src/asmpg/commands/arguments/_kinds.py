"""Argument types shared by several commands."""

from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import Positional, UseAppendAction, arg


def value(metavar: str) -> Any:
    return arg(metavar=metavar, help_behavior_hint="")


def own(metavar: str, default: str = "the method's") -> Any:
    """An option that is `None` unless given; the help shows `default` as its default."""
    return arg(metavar=metavar, help_behavior_hint=f"(default: {default})")


Run = Annotated[Path, Positional, arg(metavar="RUN")]
Folder = Annotated[Path | None, value("FOLDER")]
Integer = Annotated[int | None, value("INT")]
OwnInteger = Annotated[int | None, own("INT")]
OwnFloat = Annotated[float | None, own("FLOAT")]
SEEDS = value("N|SEED,SEED,...")
Settings = Annotated[tuple[str, ...], UseAppendAction, value("NAME=VALUE")]
Which = Literal["best", "last"]
Quiet = Annotated[bool, arg(help="Do not show progress.")]
NoCompileCache = Annotated[
    bool, arg(help="Do not use the cache of compiled programs in the user's cache folder.")
]
Json = Annotated[bool, arg(name="json", help="Print JSON instead of a table.")]
Trust = Annotated[
    bool, arg(help="Allow importing the module in the run's environment id, module:Name-v0.")
]
