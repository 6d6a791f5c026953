"""Studies as TOML files: those that come with the package, and those of users."""

import re
import tomllib
from importlib import resources
from pathlib import Path

from asmpg.study._read_study import check_study, read_study
from asmpg.study._study import Study, WrongKeyError


def shipped_studies() -> list[str]:
    """The names of the studies that come with the package."""
    files = resources.files("asmpg.study").joinpath("studies").iterdir()
    return sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml"))


def study_text(name: str) -> str:
    """The text of a shipped study, or of the TOML file at the path `name`."""
    if name in shipped_studies():
        file = resources.files("asmpg.study").joinpath("studies", f"{name}.toml")
        return file.read_text(encoding="utf-8")
    if not Path(name).is_file():
        known = ", ".join(shipped_studies())
        raise ValueError(f"study must be one of {known}, or a TOML file, got {name!r}")
    return Path(name).read_text(encoding="utf-8")


def load_study(name: str) -> Study:
    """The study called `name`, or in the file `name`; a `ValueError` names the line that is wrong.

    >>> load_study("paper").environments
    """
    text = study_text(name)
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{name} is not a TOML file: {error}") from None
    except RecursionError:
        raise ValueError(f"{name} is nested too deeply") from None
    try:
        study = read_study(tables, name=Path(name).stem)
        check_study(study)
    except WrongKeyError as error:
        line = _line_of(text, error.key)
        place = f"{name}, line {line}" if line else name
        raise ValueError(f"{place}: {error}") from None
    return study


def _line_of(text: str, key: tuple[str, ...]) -> int | None:
    """Where `key` stands, or the nearest table around it; `None` if it does not.

    Good enough for the files of people; `tomllib` tells no places.
    """
    best, found, table = 0, None, ()
    for number, line in enumerate(text.splitlines(), start=1):
        header = re.match(r"\s*\[([^\[\]]+)\]", line)
        assignment = re.match(r"\s*([\w.\"'-]+)\s*=", line)
        if header:
            here = table = _parts(header[1])
        elif assignment:
            here = (*table, *_parts(assignment[1]))
        else:
            continue
        shared = len(here) if key[: len(here)] == here else 0
        if shared > best:
            best, found = shared, number
    return found


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip(" \"'") for part in dotted.split("."))
