"""Reads the command line with tyro, and reports wrong usage in one line."""

import codecs
import contextlib
import dataclasses
import io
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import tyro

#: What is printed for characters that the terminal, or the file, cannot show.
_PLAIN = {"±": "+/-", "−": "-", "–": "-", "≥": ">=", "≈": "~", "─": "-", "·": "."}

_LONGEST_LINE = 1_000


def plain_output() -> None:
    """Let standard output and error take any text, whatever their encoding."""
    codecs.register_error("asmpg.plain", _plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="asmpg.plain")


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    return "".join(_PLAIN.get(character, "?") for character in text), error.end


def read_command(
    commands: Mapping[str, type], arguments: Sequence[str], *, prog: str, description: str
) -> tuple[str, dict[str, Any]]:
    """The name of the command that `arguments` ask for, and its options.

    Each of the `commands` is a dataclass of its options, and of groups of them. Exits with 2, and
    one line on standard error, if the arguments cannot be understood.
    """
    errors = io.StringIO()
    try:
        with contextlib.redirect_stderr(errors):
            asked = tyro.extras.subcommand_cli_from_dict(
                dict(commands),
                prog=prog,
                description=description,
                args=arguments,
                config=(tyro.conf.FlagCreatePairsOff,),
            )
    except SystemExit as stop:
        if stop.code:
            print(f"{prog}: error: {shortened(_one_line(errors.getvalue()))}", file=sys.stderr)
        raise
    (name,) = (name for name, command in commands.items() if type(asked) is command)
    return name, _flat(asked)


def _flat(asked: Any) -> dict[str, Any]:
    """Options by name, those of groups among the others."""
    options: dict[str, Any] = {}
    for name, value in vars(asked).items():
        options |= _flat(value) if dataclasses.is_dataclass(value) else {name: value}
    return options


def shortened(message: str) -> str:
    """The message without very long lines, and without line breaks that were typed.

    Lines of a list, which begin with two spaces, stay lines.
    """
    lines = re.sub(r"[\r\n]+(?!  )", " ", message).split("\n")
    return "\n".join(
        line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 3]}..." for line in lines
    )


def _one_line(message: str) -> str:
    """The text of tyro's box of several sections: the error, guesses, and where help is."""
    sections: list[list[str]] = [[]]
    for line in message.splitlines():
        text = line.strip("│ ")
        if text and set(text) <= {"─", "-"}:
            sections.append([])
        elif text and not text.startswith(("╭", "╰")):
            sections[-1].append(text)
    # Where boxes cannot be drawn, the title is a section of its own.
    reported = sections if "╭" in message else sections[1:]
    parts = []
    for section in filter(None, reported):
        if section[0].startswith("Perhaps you meant"):
            guesses = [line.split()[0] for line in section if line.startswith("--")]
            parts.append(f"did you mean {' or '.join(guesses)}?")
        elif not section[0].startswith("Argument helptext"):
            parts.append(" ".join(section).rstrip("."))
    return "; ".join(parts)
