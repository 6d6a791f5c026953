"""The tables of a study file, checked key by key."""

import dataclasses
import re
import typing
from collections.abc import Mapping
from typing import Any

from asmpg._support.checks import check_integer, check_number, check_one_of
from asmpg.environments import is_pomdp_file, registered_names
from asmpg.interop import is_on_host
from asmpg.methods import PRESETS
from asmpg.runs import default_seeds
from asmpg.studies._study import Claim, Entry, Published, Scores, Study, WrongKeyError

_NAME = r"[A-Za-z0-9][\w.-]*"
#: A Gymnasium id, which becomes a folder: its module belongs into `imports`.
_ID = rf"({_NAME}/)*{_NAME}"
_MODULE = r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*"
_NUMBERS = ("steps", "evaluate_every", "evaluation_episodes")
_STUDY_KEYS = tuple(field.name for field in dataclasses.fields(Study))
_ENTRY_KEYS = tuple(field.name for field in dataclasses.fields(Entry) if field.name != "name")


def read_study(tables: Mapping[str, Any], *, name: str) -> Study:
    """The study in `tables`, or a `WrongKeyError`; it is called `name` unless they name it."""
    check_keys((), tables, _STUDY_KEYS)
    return Study(
        name=_name(("name",), tables.get("name", name)),
        description=_text(("description",), tables.get("description", "")),
        environments=_environments(tables),
        environment_options=_environment_options(tables),
        environment_steps=_environment_steps(tables),
        entries=_entries(tables),
        seeds=_seeds(tables),
        published=_published(tables),
        claims=_claims(tables),
        selection_seeds=_seeds(tables, "selection_seeds", default=()),
        imports=read_imports(tables),
        **_settings((), tables),
    )


def read_imports(tables: Mapping[str, Any]) -> tuple[str, ...]:
    """The modules that `tables` name in `imports`."""
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
        given[key] = checked((*table_key, key), check_integer, table[key], low=1)
    if "greedy" in table:
        if not isinstance(table["greedy"], bool):
            raise WrongKeyError(
                (*table_key, "greedy"), f"must be true or false, got {table['greedy']!r}"
            )
        given["greedy"] = table["greedy"]
    if "scores" in table:
        accepted = typing.get_args(Scores)
        given["scores"] = checked(("scores",), check_one_of, table["scores"], accepted)
    return given


def _environments(tables: Mapping[str, Any]) -> tuple[str, ...]:
    given = tables.get("environments")
    if not isinstance(given, list | tuple) or not given:
        raise WrongKeyError(("environments",), f"must be a list of names, got {given!r}")
    for name in given:
        known = isinstance(name, str) and (
            is_pomdp_file(name) or (re.fullmatch(_ID, name) and is_on_host(name))
        )
        if not known:
            checked(("environments",), check_one_of, name, registered_names())
    if len(set(given)) < len(given):
        raise WrongKeyError(("environments",), f"must be different, got {', '.join(given)}")
    return tuple(given)


def _environment_options(tables: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    key = "environment_options"
    given = read_table((key,), tables.get(key, {}))
    check_keys((key,), given, _environments(tables))
    return {name: read_table((key, name), options) for name, options in given.items()}


def _environment_steps(tables: Mapping[str, Any]) -> dict[str, int]:
    key = "environment_steps"
    given = read_table((key,), tables.get(key, {}))
    check_keys((key,), given, _environments(tables))
    return {
        name: checked((key, name), check_integer, steps, low=1) for name, steps in given.items()
    }


def _published(tables: Mapping[str, Any]) -> tuple[Published, ...]:
    given = read_table(("published",), tables.get("published", {}))
    environments = _environments(tables)
    found = []
    for name, own in given.items():
        table_key = ("published", name)
        table = read_table(table_key, own)
        check_keys(table_key, table, ("label", "source", "values"))
        values = read_table((*table_key, "values"), table.get("values", {}))
        check_keys((*table_key, "values"), values, environments)
        numbers = {
            environment: float(checked((*table_key, "values", environment), check_number, value))
            for environment, value in values.items()
        }
        label, source = (
            _text((*table_key, key), table.get(key, default))
            for key, default in (("label", name), ("source", ""))
        )
        found.append(Published(_name(table_key, name), label, numbers, source))
    return tuple(found)


def _claims(tables: Mapping[str, Any]) -> tuple[Claim, ...]:
    given = read_table(("claims",), tables.get("claims", {}))
    names = tuple(read_table(("entries",), tables.get("entries", {})))
    found = []
    for name, own in given.items():
        table_key = ("claims", name)
        table = read_table(table_key, own)
        check_keys(table_key, table, ("label", "ours", "theirs"))
        ours = checked((*table_key, "ours"), check_one_of, table.get("ours"), names)
        theirs = table.get("theirs")
        if not isinstance(theirs, list | tuple) or not theirs:
            key = (*table_key, "theirs")
            raise WrongKeyError(key, f"must be a list of entries, got {theirs!r}")
        for entry in theirs:
            others = tuple(each for each in names if each != ours)
            checked((*table_key, "theirs"), check_one_of, entry, others)
        label = _text((*table_key, "label"), table.get("label", name))
        found.append(Claim(_name(table_key, name), label, ours, tuple(theirs)))
    return tuple(found)


def _entries(tables: Mapping[str, Any]) -> tuple[Entry, ...]:
    given = read_table(("entries",), tables.get("entries", {}))
    if not given:
        raise WrongKeyError(("entries",), "must have at least one table, say [entries.asmpg]")
    entries = tuple(_entry(name, read_table(("entries", name), own)) for name, own in given.items())
    labels = [entry.label for entry in entries]
    for entry in entries:
        if labels.count(entry.label) > 1:
            key = ("entries", entry.name, "label")
            raise WrongKeyError(key, f"must be unlike all other labels, got {entry.label!r}")
    return entries


def _entry(name: str, table: Mapping[str, Any]) -> Entry:
    table_key = ("entries", name)
    check_keys(table_key, table, _ENTRY_KEYS)
    return Entry(
        name=_name(table_key, name),
        label=_text((*table_key, "label"), table.get("label", name)),
        method=checked(
            (*table_key, "method"), check_one_of, table.get("method", name), tuple(PRESETS)
        ),
        options=read_table((*table_key, "options"), table.get("options", {})),
        **_settings(table_key, table),
    )


def _seeds(
    tables: Mapping[str, Any], key: str = "seeds", *, default: int | tuple[int, ...] = 10
) -> tuple[int, ...]:
    given = tables.get(key, default)
    if given in ((), []) and default == ():
        return ()
    accepted = "must be a number of seeds or a list of different ones"
    if isinstance(given, list | tuple):
        whole = all(isinstance(seed, int) and not isinstance(seed, bool) for seed in given)
        if not given or not whole or len(set(given)) < len(given):
            raise WrongKeyError((key,), f"{accepted}, got {given!r}")
        return tuple(given)
    try:
        return default_seeds(given)
    except ValueError:
        raise WrongKeyError((key,), f"{accepted}, got {given!r}") from None


def check_keys(table_key: tuple[str, ...], table: Mapping[str, Any], accepted: Any) -> None:
    """A `WrongKeyError` if `table` has a key that is not `accepted`."""
    for key in table:
        if key not in accepted:
            raise WrongKeyError((*table_key, key), f"is not known; accepted: {', '.join(accepted)}")


def checked(key: tuple[str, ...], check: Any, value: Any, *accepted: Any, **limits: Any) -> Any:
    """Run one of `asmpg._support.checks`, and name the key in front of what it says."""
    try:
        return check("", value, *accepted, **limits)
    except ValueError as error:
        raise WrongKeyError(key, str(error).strip()) from None


def read_table(key: tuple[str, ...], value: Any) -> dict[str, Any]:
    """`value` if it is a table, else a `WrongKeyError`."""
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
