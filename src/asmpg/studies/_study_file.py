"""Studies from TOML files, checked key by key before anything runs."""

import dataclasses
import importlib
import os
import re
import sys
import tomllib
import typing
from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from asmpg._support.checks import check_integer, check_one_of
from asmpg._support.files import check_depth, one_line, read_text
from asmpg.environments import is_pomdp_file, registered_names
from asmpg.methods import PRESETS
from asmpg.runs import default_seeds
from asmpg.studies._study import Entry, Scores, Study, WrongKeyError
from asmpg.training import build_program

_NAME = r"[A-Za-z0-9][\w.-]*"
_MODULE = r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*"
_NUMBERS = ("steps", "evaluate_every", "evaluation_episodes")
_STUDY_KEYS = tuple(field.name for field in dataclasses.fields(Study))
_ENTRY_KEYS = tuple(field.name for field in dataclasses.fields(Entry) if field.name != "name")


def read_study(tables: Mapping[str, Any], *, name: str) -> Study:
    """The study in `tables`, or a `WrongKeyError`; it is called `name` unless they name it."""
    _check_keys((), tables, _STUDY_KEYS)
    return Study(
        name=_name(("name",), tables.get("name", name)),
        description=_text(("description",), tables.get("description", "")),
        environments=_environments(tables),
        environment_options=_environment_options(tables),
        entries=_entries(tables),
        seeds=_seeds(tables),
        imports=_imports(tables),
        **_settings((), tables),
    )


def check_study(study: Study) -> None:
    """Build every entry in every environment, so that no job fails for a wrong option.

    A `WrongKeyError` names the one that is wrong.
    """
    for environment in study.environments:
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
    for module in _imports(tables):
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


def _imports(tables: Mapping[str, Any]) -> tuple[str, ...]:
    given = tables.get("imports", ())
    if not isinstance(given, list | tuple):
        raise WrongKeyError(("imports",), f"must be a list of modules, got {given!r}")
    for module in given:
        if not isinstance(module, str) or not re.fullmatch(_MODULE, module):
            raise WrongKeyError(("imports",), f"must be names of modules, got {module!r}")
    return tuple(given)


def _settings(table_key: tuple[str, ...], table: Mapping[str, Any]) -> dict[str, Any]:
    """The keys with a default, of a study or of an entry, that are given."""
    given: dict[str, Any] = {}
    for key in table.keys() & {*_NUMBERS, "seeds_per_job"}:
        given[key] = _checked((*table_key, key), check_integer, table[key], low=1)
    if "greedy" in table:
        if not isinstance(table["greedy"], bool):
            raise WrongKeyError(
                (*table_key, "greedy"), f"must be true or false, got {table['greedy']!r}"
            )
        given["greedy"] = table["greedy"]
    if "scores" in table:
        accepted = typing.get_args(Scores)
        given["scores"] = _checked(("scores",), check_one_of, table["scores"], accepted)
    return given


def _environments(tables: Mapping[str, Any]) -> tuple[str, ...]:
    given = tables.get("environments")
    if not isinstance(given, list | tuple) or not given:
        raise WrongKeyError(("environments",), f"must be a list of names, got {given!r}")
    for name in given:
        if not (isinstance(name, str) and is_pomdp_file(name)):
            _checked(("environments",), check_one_of, name, registered_names())
    if len(set(given)) < len(given):
        raise WrongKeyError(("environments",), f"must be different, got {', '.join(given)}")
    return tuple(given)


def _environment_options(tables: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    key = "environment_options"
    given = _table((key,), tables.get(key, {}))
    _check_keys((key,), given, _environments(tables))
    return {name: _table((key, name), options) for name, options in given.items()}


def _entries(tables: Mapping[str, Any]) -> tuple[Entry, ...]:
    given = _table(("entries",), tables.get("entries", {}))
    if not given:
        raise WrongKeyError(("entries",), "must have at least one table, say [entries.asmpg]")
    entries = tuple(_entry(name, _table(("entries", name), own)) for name, own in given.items())
    labels = [entry.label for entry in entries]
    for entry in entries:
        if labels.count(entry.label) > 1:
            key = ("entries", entry.name, "label")
            raise WrongKeyError(key, f"must be unlike all other labels, got {entry.label!r}")
    return entries


def _entry(name: str, table: Mapping[str, Any]) -> Entry:
    table_key = ("entries", name)
    _check_keys(table_key, table, _ENTRY_KEYS)
    return Entry(
        name=_name(table_key, name),
        label=_text((*table_key, "label"), table.get("label", name)),
        method=_checked(
            (*table_key, "method"), check_one_of, table.get("method", name), tuple(PRESETS)
        ),
        options=_table((*table_key, "options"), table.get("options", {})),
        **_settings(table_key, table),
    )


def _seeds(tables: Mapping[str, Any]) -> tuple[int, ...]:
    given = tables.get("seeds", 10)
    accepted = "must be a number of seeds or a list of different ones"
    if isinstance(given, list | tuple):
        whole = all(isinstance(seed, int) and not isinstance(seed, bool) for seed in given)
        if not given or not whole or len(set(given)) < len(given):
            raise WrongKeyError(("seeds",), f"{accepted}, got {given!r}")
        return tuple(given)
    try:
        return default_seeds(given)
    except ValueError:
        raise WrongKeyError(("seeds",), f"{accepted}, got {given!r}") from None


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


def _check_keys(table_key: tuple[str, ...], table: Mapping[str, Any], accepted: Any) -> None:
    for key in table:
        if key not in accepted:
            raise WrongKeyError((*table_key, key), f"is not known; accepted: {', '.join(accepted)}")


def _checked(key: tuple[str, ...], check: Any, value: Any, *accepted: Any, **limits: Any) -> Any:
    """Run one of `asmpg._support.checks`, and name the key in front of what it says."""
    try:
        return check("", value, *accepted, **limits)
    except ValueError as error:
        raise WrongKeyError(key, str(error).strip()) from None


def _table(key: tuple[str, ...], value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise WrongKeyError(key, f"must be a table, got {value!r}")
    return dict(value)


def _text(key: tuple[str, ...], value: Any) -> str:
    if not isinstance(value, str):
        raise WrongKeyError(key, f"must be text, got {value!r}")
    return value


def _name(key: tuple[str, ...], value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(_NAME, value):
        raise WrongKeyError(key, f"must be letters, digits, '.', '_' and '-', got {value!r}")
    return value


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
    try:
        tables = tomllib.loads(text)
        check_depth(tables)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deep" if isinstance(error, RecursionError) else one_line(error)
        raise ValueError(f"{name} is not a TOML file: {reason}") from None
    try:
        import_modules(tables, trust=trust)
        study = read_study(tables, name=Path(name).stem)
        check(study)
    except WrongKeyError as error:
        line = _line_of(text, error.key)
        where = f"{name}, line {line}" if line else name
        raise ValueError(f"{where}: {one_line(error)}") from None
    return study


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
