"""Which of Gymnasium's spaces fit, and what to do about the others."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from asmpg.interop._array_readers import SymbolReader, SymbolsReader, VectorReader
from asmpg.interop._composite_reader import CompositeReader, joined, key_path
from asmpg.interop._readers import Leaf, ObservationReader
from asmpg.interop._stored_readers import check_reader
from asmpg.interop._writers import ActionWriter, IntegersWriter, IntegerWriter, VectorWriter

#: Larger arrays of two axes or more are taken for pictures.
_MOST_PIXELS = 256
_SUPPORTED = (
    "Discrete, MultiDiscrete, MultiBinary, Box (a real vector), or a Dict or Tuple of these"
)
_LARGEST = float(np.finfo(np.float32).max)
_WRAPPERS = "gymnasium.wrappers"


class _UnreadableError(ValueError):
    """A space that another one has to take the place of."""


def read_observation_space(space: gymnasium.Space[Any]) -> ObservationReader:
    """How observations of `space` are read; a `ValueError` says what to wrap where they cannot."""
    composite = isinstance(space, spaces.Dict | spaces.Tuple)
    try:
        reader = _reader(space)
    except _UnreadableError as error:
        advice = _advice_on_parts(space) if composite else _advice(space)
        raise ValueError(f"observations must be {_SUPPORTED}, got {error}; {advice}") from None
    if composite:
        check_reader(reader)
    return reader


def read_action_space(space: gymnasium.Space[Any]) -> ActionWriter:
    """How actions of `space` are written; a `ValueError` says what to wrap where they cannot."""
    match space:
        case spaces.Discrete():
            return IntegerWriter(int(space.n), int(space.start))
        case spaces.MultiDiscrete():
            start = tuple(map(int, np.ravel(space.start)))
            sizes = tuple(map(int, np.ravel(space.nvec)))
            return IntegersWriter(_at_least_one(sizes, space), start, space.shape, space.dtype.name)
        case spaces.MultiBinary():
            size = int(np.prod(space.shape))
            sizes = _at_least_one((2,) * size, space)
            return IntegersWriter(sizes, (0,) * size, space.shape, space.dtype.name)
        case spaces.Box() if np.issubdtype(space.dtype, np.floating):
            low, high = (np.ravel(bound).astype(float) for bound in (space.low, space.high))
            _at_least_one(low, space)
            if not (np.isfinite(low).all() and np.isfinite(high).all()):
                raise ValueError(
                    f"actions must have finite bounds, got {_short(space)}; set them with "
                    "gymnasium.wrappers.RescaleAction(env, -1, 1), or with TransformAction"
                )
            if not (low < high).all():
                raise ValueError(f"actions must have low below high, got {_short(space)}")
            bounds = tuple(low.tolist()), tuple(high.tolist())
            return VectorWriter(*bounds, space.shape, space.dtype.name)
        case _:
            raise ValueError(
                "actions must be Discrete, MultiDiscrete, MultiBinary, or a Box of floats, got "
                f"{_short(space)}; wrap the environment in gymnasium.wrappers.TransformAction"
            )


def _at_least_one(parts: Any, space: gymnasium.Space[Any]) -> Any:
    if not len(parts):
        raise ValueError(f"actions must have at least one part, got {_short(space)}")
    return parts


def _reader(space: gymnasium.Space[Any], path: str = "") -> ObservationReader:
    """That of a part, to which `path` leads."""
    shown = f"{_short(space)} as part {path!r}" if path else _short(space)
    if 0 in (space.shape or ()):
        raise ValueError(f"observations must have a component at least, got {shown}")
    match space:
        case spaces.Discrete():
            return SymbolReader(int(space.n), int(space.start))
        case spaces.MultiDiscrete():
            start = tuple(map(int, np.ravel(space.start)))
            return SymbolsReader(tuple(map(int, np.ravel(space.nvec))), start, space.shape)
        case spaces.MultiBinary():
            size = int(np.prod(space.shape))
            return SymbolsReader((2,) * size, (0,) * size, space.shape)
        case spaces.Box():
            if _is_picture(space):
                raise _UnreadableError(
                    f"{shown}, which looks like a picture, and there are no convolutional networks "
                    "here"
                )
            low, high = (
                tuple(np.clip(np.ravel(bound).astype(float), -_LARGEST, _LARGEST).tolist())
                for bound in (space.low, space.high)
            )
            leaf = Leaf(path, VectorReader(low, high, space.shape))
            _check_bounds(leaf)
            return leaf.reader
        case spaces.Dict() | spaces.Tuple():
            parts = _parts(space)
            if not parts:
                raise ValueError(f"observations must have a part at least, got {shown}")
            keys = tuple(parts) if isinstance(space, spaces.Dict) else None
            if not all(isinstance(key, str | int) for key in parts):
                raise ValueError(f"observations must have text or integers as keys, got {shown}")
            return CompositeReader(
                tuple(
                    _reader(part, joined(path, f"[{key}]" if keys is None else key_path(key)))
                    for key, part in parts.items()
                ),
                keys,
            )
        case _:
            raise _UnreadableError(shown)


def _parts(space: Any) -> dict[Any, gymnasium.Space[Any]]:
    return dict(space.spaces if isinstance(space, spaces.Dict) else enumerate(space.spaces))


def _check_bounds(leaf: Leaf) -> None:
    for low, high, name in zip(*leaf.reader.bounds, leaf.components, strict=True):
        if not low <= high:
            raise ValueError(
                "observations must have bounds, the lower one first; component "
                f"{name} has {low:g} and {high:g}"
            )


def _is_picture(space: spaces.Box) -> bool:
    size = int(np.prod(space.shape))
    coloured = len(space.shape) == 3 and space.dtype == np.uint8
    return coloured or (len(space.shape) > 1 and size > _MOST_PIXELS)


def _advice(space: gymnasium.Space[Any]) -> str:
    """What to wrap an environment in whose observations are one array, or no array at all."""
    if isinstance(space, spaces.Box):
        return (
            f"show features instead of pixels, with {_WRAPPERS}.TransformObservation, or if it "
            f"holds features already, wrap the environment in {_WRAPPERS}.FlattenObservation"
        )
    if _flattens(space):
        return f"wrap the environment in {_WRAPPERS}.FlattenObservation"
    return f"make a vector of it with {_WRAPPERS}.TransformObservation"


def _advice_on_parts(space: Any) -> str:
    """Advice that works: Gymnasium cannot flatten every space, MiniGrid's missions for one."""
    parts = _parts(space)
    read = [key for key, part in parts.items() if _reads(part)]
    flat = [key for key, part in parts.items() if _flattens(part)]
    # Gymnasium filters a Dict by text only.
    filters = isinstance(space, spaces.Tuple) or all(isinstance(key, str) for key in parts)
    without = f"{_WRAPPERS}.FilterObservation(env, {{}})".format
    if len(flat) == len(parts):
        advice = f"wrap the environment in {_WRAPPERS}.FlattenObservation"
        return f"{advice}, or leave it out, by {without(read)}" if read and filters else advice
    rest = ", ".join(repr(key) for key in parts if key not in flat)
    if not flat or not filters:
        return (
            f"{rest} cannot be flattened: make a vector of what matters with "
            f"{_WRAPPERS}.TransformObservation"
        )
    wrapped = without(flat) if flat == read else f"{_WRAPPERS}.FlattenObservation({without(flat)})"
    advice = f"{rest} cannot be flattened: leave it out, by {wrapped}"
    if "mission" in parts and "mission" not in flat:
        advice += (
            ", or wrap a MiniGrid environment in minigrid.wrappers.FlatObsWrapper, which keeps it"
        )
    return advice


def _reads(space: gymnasium.Space[Any]) -> bool:
    try:
        _reader(space)
    except ValueError:
        return False
    return True


def _flattens(space: gymnasium.Space[Any]) -> bool:
    try:
        return bool(space.is_np_flattenable)
    except NotImplementedError:
        return False


def _short(space: gymnasium.Space[Any]) -> str:
    text = " ".join(str(space).split())
    return text if len(text) <= 100 else f"{text[:100]}…"
