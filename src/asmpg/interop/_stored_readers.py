"""Readers from files, which are not believed before they are checked."""

import math
from collections.abc import Mapping
from typing import Any

from asmpg._support.checks import check_integer, check_number, shown
from asmpg.environments import Box
from asmpg.interop._array_readers import IntegerReader, SymbolReader, SymbolsReader, VectorReader
from asmpg.interop._composite_reader import CompositeReader
from asmpg.interop._readers import ObservationReader

#: So many symbols, components or actions are believed when a file says so.
MOST_VALUES = 1_000_000
#: Parts may have parts of their own, so many levels deep.
_MOST_LEVELS = 8


def reader_from_dict(stored: Mapping[str, Any]) -> ObservationReader:
    """The opposite of `to_dict`; a `ValueError` for what no reader can be."""
    reader = _built(stored, _MOST_LEVELS)
    check_reader(reader)
    return reader


def _built(stored: Any, levels: int) -> ObservationReader:
    kinds = {
        kind.__name__: kind for kind in (SymbolReader, SymbolsReader, VectorReader, CompositeReader)
    }
    if not isinstance(stored, Mapping):
        raise ValueError(f"reader must be an object, got {shown(stored)}")
    fields: dict[str, Any] = {
        key: tuple(v) if isinstance(v, list | tuple) else v for key, v in stored.items()
    }
    name = fields.pop("reader", None)
    if name not in kinds:
        raise ValueError(f"reader must be one of {', '.join(kinds)}, got {shown(name)}")
    if kinds[name] is CompositeReader:
        _check_levels(levels)
        parts = _checked_tuple("parts", fields.get("parts"))
        fields["parts"] = tuple(_built(part, levels - 1) for part in parts)
    return kinds[name](**fields)


def check_reader(reader: ObservationReader) -> None:
    """A `ValueError` if `reader` is not consistent, or too large or too deep to be saved."""
    _check_part(reader, _MOST_LEVELS)
    leaves = [leaf.reader for leaf in reader.leaves]
    components = sum(
        sum(map(len, leaf.ranges or ()))
        if isinstance(leaf, IntegerReader)
        else math.prod(leaf.shape)
        for leaf in leaves
    )
    if components > MOST_VALUES:
        raise ValueError(
            f"observations must have at most {MOST_VALUES:,} values, got {components:,}"
        )


def _check_part(reader: ObservationReader, levels: int) -> None:
    match reader:
        case SymbolReader():
            check_integer("n", reader.n, low=1, high=MOST_VALUES)
            _check_integers("start", (reader.start,))
        case SymbolsReader():
            for name in ("sizes", "start", "parts"):
                _check_integers(name, getattr(reader, name))
            if min(reader.sizes, default=0) < 1:
                raise ValueError(f"sizes must be 1 or more, got {shown(reader.sizes)}")
            _check_shape(reader.parts, len(reader.sizes), len(reader.start))
        case VectorReader():
            for name in ("low", "high"):
                for bound in _checked_tuple(name, getattr(reader, name)):
                    check_number(name, bound)
            _check_integers("axes", reader.axes)
            _check_shape(reader.axes, len(reader.low), len(reader.high))
            Box(reader.low, reader.high)
        case CompositeReader():
            _check_levels(levels)
            _check_keys(reader.keys, len(reader.parts))
            keys = range(len(reader.parts)) if reader.keys is None else reader.keys
            for key, part in zip(keys, reader.parts, strict=True):
                try:
                    _check_part(part, levels - 1)
                except ValueError as error:
                    raise ValueError(f"part {key!r}: {error}") from None
        case _:
            pass


def _check_levels(levels: int) -> None:
    if levels == 0:
        raise ValueError(f"parts must be nested at most {_MOST_LEVELS} levels deep")


def _check_keys(keys: Any, count: int) -> None:
    if count == 0:
        raise ValueError("parts must be one or more, got none")
    if keys is None:
        return
    for key in _checked_tuple("keys", keys):
        if not isinstance(key, str | int) or isinstance(key, bool):
            raise ValueError(f"keys must be text or integers, got {shown(key)}")
    if len({*keys}) != count or len(keys) != count:
        raise ValueError(f"keys must be {count} different ones, got {shown(keys)}")


def _checked_tuple(name: str, values: Any) -> tuple[Any, ...]:
    if not isinstance(values, tuple):
        raise ValueError(f"{name} must be a list, got {shown(values)}")
    return values


def _check_integers(name: str, values: Any) -> None:
    for value in _checked_tuple(name, values):
        check_integer(name, value, low=-(2**31), high=2**31 - 1)


def _check_shape(shape: tuple[int, ...], *sizes: int) -> None:
    if min(shape, default=1) < 1 or any(size != math.prod(shape) for size in sizes):
        raise ValueError(f"an observation of shape {shape} cannot have {sizes} components")
