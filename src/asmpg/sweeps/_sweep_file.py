"""Sweeps from TOML files, checked key by key before anything runs."""

import dataclasses
import importlib.util
import typing
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from asmpg._support.checks import check_integer, check_number, check_one_of
from asmpg._support.files import read_text
from asmpg.methods import PRESETS
from asmpg.studies import (
    WrongKeyError,
    check_keys,
    check_study,
    checked,
    parse_tables,
    read_study,
    read_table,
)
from asmpg.sweeps._dimensions import Choice, Dimension, Range
from asmpg.sweeps._sweep import How, Objective, Sweep

#: Seeds of sweeps begin here: unlike the paper's, and unlike those that follow them.
_FIRST_SEED = 20_000
_SEEDS = 3
#: What nobody means.
_MOST_TRIALS = 100_000
_SHARED = (
    *("name", "description", "imports", "environments", "environment_options", "steps"),
    *("evaluate_every", "evaluation_episodes", "greedy"),
)
_OWN = (
    *("method", "seeds", "options", "how", "trials", "objective", "rungs", "keep"),
    *("abreast", "batch", "sampler_seed", "ranges"),
)
_SCALES = ("linear", "log")
_CHOICE_KEYS, _RANGE_KEYS = ("values",), ("low", "high", "scale", "integer", "points")
#: What the one entry of a sweep is called among the tables of a study.
_ENTRY = "sweep"


def load_sweep(path: str | Path) -> Sweep:
    """The sweep in a file; a `ValueError` names the line that is wrong.

    The modules that the file names in `imports` are imported.
    """
    if not Path(path).is_file():
        raise ValueError(f"sweep must be a TOML file, got {str(path)!r}")
    return parse_sweep(read_text(Path(path)), name=str(path), check=True, trust=True)


def parse_sweep(text: str, *, name: str, check: bool = False, trust: bool = False) -> Sweep:
    """The sweep in `text`, which is in the file `name`; with `check`, all options are tried."""

    def read(tables: Mapping[str, Any]) -> Sweep:
        sweep = read_sweep(tables, name=Path(name).stem)
        if check:
            check_sweep(sweep)
        return sweep

    return parse_tables(text, read, name=name, trust=trust)


def read_sweep(tables: Mapping[str, Any], *, name: str) -> Sweep:
    """The sweep in `tables`, or a `WrongKeyError`; it is called `name` unless they name it."""
    check_keys((), tables, (*_SHARED, *_OWN))
    method = checked(("method",), check_one_of, tables.get("method", "asm-ppo"), tuple(PRESETS))
    fixed, dimensions = _options(tables)
    preset = PRESETS[method]
    shared: dict[str, Any] = {"steps": preset.steps, "evaluate_every": preset.evaluate_every}
    shared |= {key: tables[key] for key in _SHARED if key in tables}
    shared["seeds"] = _seeds(tables)
    shared["entries"] = {_ENTRY: {"method": method, "options": fixed}}
    with _own_keys():
        study = read_study(shared, name=name)
    own: dict[str, Any] = {}
    for key, most in (("trials", _MOST_TRIALS), ("abreast", None), ("batch", None)):
        if key in tables:
            own[key] = checked((key,), check_integer, tables[key], low=1, high=most)
    for key, kind in (("how", How), ("objective", Objective)):
        if key in tables:
            own[key] = checked((key,), check_one_of, tables[key], typing.get_args(kind))
    if "sampler_seed" in tables:
        own["sampler_seed"] = checked(
            ("sampler_seed",), check_integer, tables["sampler_seed"], low=0
        )
    own |= _stopping(tables, study.steps)
    own["batch"] = own.get("batch", own.get("abreast", Sweep.abreast))
    if own.get("how") == "grid":
        if "trials" in tables:
            raise WrongKeyError(("trials",), "is that of the grid: leave it out")
        own["trials"] = _grid_size(dimensions)
    ranges = _ranges(tables, study.environments)
    return Sweep(study=study, dimensions=dimensions, ranges=ranges, **own)


def check_sweep(sweep: Sweep) -> None:
    """Build the method with every value of every option; a `WrongKeyError` names a wrong one.

    A value that is refused alone may be fine with the first values of the others.
    """
    if sweep.how == "optuna" and importlib.util.find_spec("optuna") is None:
        raise WrongKeyError(("how",), "is optuna, which is missing: pip install 'asmpg[optuna]'")
    first = {name: each.examples[0] for name, each in sweep.dimensions.items()}
    for name, dimension in sweep.dimensions.items():
        for value in dimension.examples:
            with _own_keys():
                try:
                    check_study(_with_options(sweep, {name: value}))
                except WrongKeyError:
                    check_study(_with_options(sweep, {**first, name: value}))


def _with_options(sweep: Sweep, options: Mapping[str, Any]) -> Any:
    entry = dataclasses.replace(sweep.entry, options={**sweep.entry.options, **options})
    return dataclasses.replace(sweep.study, entries=(entry,))


@contextmanager
def _own_keys() -> Iterator[None]:
    """Name keys as they are in the file of a sweep."""
    try:
        yield
    except WrongKeyError as error:
        if error.key[:2] != ("entries", _ENTRY):
            raise
        raise WrongKeyError(error.key[2:] or ("options",), error.message) from None


def _options(tables: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Dimension]]:
    """The options that are the same in all trials, and those that are swept."""
    given = read_table(("options",), tables.get("options", {}))
    fixed = {name: value for name, value in given.items() if not isinstance(value, Mapping)}
    swept = {name: _dimension(name, own) for name, own in given.items() if name not in fixed}
    if not swept:
        example = "say [options.learning_rate]"
        raise WrongKeyError(("options",), f"must have a table for each option to sweep, {example}")
    return fixed, swept


def _dimension(name: str, table: Mapping[str, Any]) -> Dimension:
    key = ("options", name)
    if "values" in table:
        check_keys(key, table, _CHOICE_KEYS)
        values = table["values"]
        if not isinstance(values, list) or not values:
            raise WrongKeyError((*key, "values"), f"must be a list of values, got {values!r}")
        if any(value in values[:place] for place, value in enumerate(values)):
            raise WrongKeyError((*key, "values"), f"must be different, got {values!r}")
        return Choice(tuple(values))
    check_keys(key, table, (*_CHOICE_KEYS, *_RANGE_KEYS))
    for end in ("low", "high"):
        if end not in table:
            raise WrongKeyError(key, f"must have values = [...], or low and high; it has no {end}")
    low = checked((*key, "low"), check_number, table["low"])
    high = checked((*key, "high"), check_number, table["high"])
    if low >= high:
        raise WrongKeyError((*key, "high"), f"must be above low, {low:g}, got {high:g}")
    scale = checked((*key, "scale"), check_one_of, table.get("scale", "linear"), _SCALES)
    if scale == "log" and low <= 0:
        raise WrongKeyError((*key, "low"), f"must be above 0 on a log scale, got {low:g}")
    whole = all(isinstance(table[end], int) for end in ("low", "high"))
    integer = table.get("integer", whole)
    if not isinstance(integer, bool):
        raise WrongKeyError((*key, "integer"), f"must be true or false, got {integer!r}")
    if integer and not whole:
        raise WrongKeyError(key, f"must have integers as low and high, got {low:g} and {high:g}")
    points = checked((*key, "points"), check_integer, table.get("points", 5), low=2, high=1000)
    return Range(low, high, scale == "log", integer, points)


def _grid_size(dimensions: Mapping[str, Dimension]) -> int:
    size = 1
    for dimension in dimensions.values():
        size *= len(dimension.grid())
    if size > _MOST_TRIALS:
        raise WrongKeyError(("how",), f"is a grid of {size:,} trials; at most {_MOST_TRIALS:,}")
    return size


def _stopping(tables: Mapping[str, Any], steps: int) -> dict[str, Any]:
    own: dict[str, Any] = {}
    if "rungs" in tables:
        rungs = tables["rungs"]
        if not isinstance(rungs, list):
            raise WrongKeyError(("rungs",), f"must be a list of steps, got {rungs!r}")
        for rung in rungs:
            checked(("rungs",), check_integer, rung, low=1, high=steps - 1)
        if sorted(set(rungs)) != rungs:
            raise WrongKeyError(("rungs",), f"must be in ascending order, got {rungs!r}")
        own["rungs"] = tuple(rungs)
    if "keep" in tables:
        own["keep"] = checked(("keep",), check_number, tables["keep"], low=0, high=1)
        if own["keep"] in (0, 1):
            raise WrongKeyError(("keep",), f"must be a share between 0 and 1, got {own['keep']:g}")
    return own


def _seeds(tables: Mapping[str, Any]) -> list[int]:
    given = tables.get("seeds", _SEEDS)
    if isinstance(given, list):
        return given
    accepted = "must be a number of seeds or a list of different ones"
    if not isinstance(given, int) or isinstance(given, bool) or not 1 <= given <= _MOST_TRIALS:
        raise WrongKeyError(("seeds",), f"{accepted}, got {given!r}")
    return list(range(_FIRST_SEED, _FIRST_SEED + given))


def _ranges(
    tables: Mapping[str, Any], environments: tuple[str, ...]
) -> dict[str, tuple[float, float]]:
    given = read_table(("ranges",), tables.get("ranges", {}))
    check_keys(("ranges",), given, environments)
    ranges = {}
    for name, pair in given.items():
        key = ("ranges", name)
        if not isinstance(pair, list) or len(pair) != 2:
            raise WrongKeyError(key, f"must be two scores, [low, high], got {pair!r}")
        low, high = (checked(key, check_number, end) for end in pair)
        if low >= high:
            raise WrongKeyError(key, f"must have its lower score first, got {pair!r}")
        ranges[name] = (low, high)
    missing = [name for name in environments if name not in ranges]
    if missing and (ranges or len(environments) > 1):
        raise WrongKeyError(
            ("ranges",),
            "must say which scores count as 0 and as 1 in each of several environments, say "
            f'"{missing[0]}" = [0.0, 1.0]; asmpg envs shows what is reached there',
        )
    return ranges
