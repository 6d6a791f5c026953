"""Studies from TOML files, checked before anything runs."""

import dataclasses
import importlib
import os
import re
import sys
import tomllib
from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from asmpg._support.files import check_depth, one_line, read_text
from asmpg.interop import is_on_host
from asmpg.methods import PRESETS
from asmpg.studies._study import Entry, Study, WrongKeyError
from asmpg.studies._study_tables import read_imports, read_study
from asmpg.training import build_program

Made = TypeVar("Made")


def shipped_studies() -> list[str]:
    """The names of the studies that come with the package."""
    files = resources.files("asmpg.studies").joinpath("files").iterdir()
    return sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml"))


def study_text(name: str) -> str:
    """The text of a shipped study, or of the TOML file at the path `name`."""
    if name in shipped_studies():
        file = resources.files("asmpg.studies").joinpath("files", f"{name}.toml")
        return file.read_text(encoding="utf-8")
    if not Path(name).is_file():
        known = ", ".join(shipped_studies())
        raise ValueError(f"study must be one of {known}, or a TOML file, got {name!r}")
    return read_text(Path(name))


def load_study(name: str) -> Study:
    """The study called `name`, or in the file `name`; a `ValueError` names the line that is wrong.

    The modules that the file names in `imports` are imported.

    >>> load_study("paper").environments
    """
    return parse_study(study_text(name), name=name, check=check_study, trust=True)


def parse_study(
    text: str, *, name: str, check: Callable[[Study], None], trust: bool = False
) -> Study:
    """The study in `text`, which is in the file `name`, if `check` does not raise."""

    def read(tables: Mapping[str, Any]) -> Study:
        study = read_study(tables, name=Path(name).stem)
        check(study)
        return study

    return parse_tables(text, read, name=name, trust=trust)


def parse_tables(
    text: str, read: Callable[[Mapping[str, Any]], Made], *, name: str, trust: bool = False
) -> Made:
    """What `read` makes of the tables in `text`, which is in the file `name`.

    The modules that the tables name in `imports` are imported. Where that or `read` raises a
    `WrongKeyError`, a `ValueError` names the line.
    """
    try:
        tables = tomllib.loads(text)
        check_depth(tables)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deep" if isinstance(error, RecursionError) else one_line(error)
        raise ValueError(f"{name} is not a TOML file: {reason}") from None
    try:
        import_modules(tables, trust=trust)
        return read(tables)
    except WrongKeyError as error:
        line = _line_of(text, error.key)
        where = f"{name}, line {line}" if line else name
        raise ValueError(f"{where}: {one_line(error)}") from None


def check_study(study: Study) -> None:
    """Build every entry in every environment, so that no job fails for a wrong option.

    A `WrongKeyError` names the one that is wrong.
    """
    for environment in study.environments:
        if is_on_host(environment):
            _check_host(study, environment)
        for entry in study.entries:
            table_key = ("entries", entry.name, "options")
            accepted = [field.name for field in dataclasses.fields(PRESETS[entry.method].method)]
            for option in entry.options:
                if option not in accepted:
                    raise WrongKeyError(
                        (*table_key, option),
                        f"is not an option of {entry.method}; accepted: {', '.join(accepted)}",
                    )
            try:
                config = study.config(environment, entry, study.seeds)
                config.to_dict()
                build_program(config, config.resolve())
            except (ValueError, TypeError) as error:
                raise _wrong_option(study, environment, entry, error) from None


def import_modules(tables: Mapping[str, Any], *, trust: bool) -> None:
    """Import the modules that `tables` name in `imports`, for the names that they register.

    They are looked for in the current directory as well, as in workers, which `python -m` starts.
    Without `trust`, a module that was not imported yet is a `WrongKeyError`.
    """
    for module in read_imports(tables):
        if module in sys.modules:
            continue
        if not trust:
            raise WrongKeyError(
                ("imports",),
                f"would import the module {module!r}, whatever it does; allow it with trust=True, "
                "or --trust on the command line",
            )
        here = os.getcwd()
        sys.path.append(here)
        try:
            importlib.import_module(module)
        except (Exception, SystemExit) as error:
            reason = f"{type(error).__name__}: {error}"
            message = f"names {module!r}, which cannot be imported: {reason}"
            raise WrongKeyError(("imports",), message) from error
        finally:
            sys.path.remove(here)


def _check_host(study: Study, environment: str) -> None:
    """A `WrongKeyError` if Gymnasium does not know the id, or its spaces do not fit."""
    try:
        study.config(environment, study.entries[0], study.seeds).resolve()
    except (ValueError, TypeError) as error:
        raise WrongKeyError(("environments",), f"has {environment}: {error}") from None


def _wrong_option(study: Study, environment: str, entry: Entry, error: Exception) -> WrongKeyError:
    """The option that the message names, or else the table that it belongs to."""
    message = str(error)
    tables = {
        ("environment_options", environment): study.environment_options.get(environment, {}),
        ("entries", entry.name, "options"): entry.options,
    }
    for table_key, options in tables.items():
        for option in options:
            if re.match(rf"{re.escape(option)}\b", message):
                return WrongKeyError((*table_key, option), f"in {environment}: {message}")
    if f"options of {environment}" in message:
        return WrongKeyError(("environment_options", environment), f"in {environment}: {message}")
    return WrongKeyError(("entries", entry.name), f"in {environment}: {message}")


def _line_of(text: str, key: tuple[str, ...]) -> int | None:
    """The line of `key`, or of the nearest table around it; `None` if there is none.

    Good enough for files written by hand; `tomllib` does not report line numbers.
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
