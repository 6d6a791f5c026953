"""Actions as policies choose them, written as the environment takes them."""

import abc
import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Shaped

from asmpg._support.checks import check_integer, check_number
from asmpg.environments import ActionSpace, Box, Discrete, MultiDiscrete

#: So many actions, or values of parts, are believed when a file says so.
_MOST_VALUES = 1_000_000


class ActionWriter(abc.ABC):
    """Turns elements of `space` into actions of the environment."""

    @property
    @abc.abstractmethod
    def space(self) -> ActionSpace:
        """What is written."""

    @abc.abstractmethod
    def write(self, batch: Shaped[np.ndarray, "n *action"]) -> Shaped[np.ndarray, "n *written"]:
        """Write a batch."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {"writer": type(self).__name__, **dataclasses.asdict(self)}  # pyright: ignore[reportArgumentType]


@dataclasses.dataclass(frozen=True)
class IntegerWriter(ActionWriter):
    """The integers from `start` on."""

    n: int
    start: int = 0

    @property
    def space(self) -> Discrete:
        return Discrete(self.n)

    def write(self, batch: Shaped[np.ndarray, " n"]) -> Shaped[np.ndarray, " n"]:
        """Add `start`."""
        return np.asarray(batch, np.int64) + self.start


@dataclasses.dataclass(frozen=True)
class IntegersWriter(ActionWriter):
    """Several integers in an array: part `i` has `sizes[i]` values from `start[i]` on."""

    sizes: tuple[int, ...]
    start: tuple[int, ...]
    axes: tuple[int, ...]
    dtype: str = "int64"

    @property
    def space(self) -> MultiDiscrete:
        return MultiDiscrete(self.sizes)

    def write(self, batch: Shaped[np.ndarray, "n parts"]) -> Shaped[np.ndarray, "n *written"]:
        """Add `start`, in the shape of the array."""
        written = np.asarray(batch, np.int64) + np.asarray(self.start, np.int64)
        return written.reshape(len(batch), *self.axes).astype(self.dtype)


@dataclasses.dataclass(frozen=True)
class VectorWriter(ActionWriter):
    """Real numbers in an array of any shape."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    axes: tuple[int, ...]
    dtype: str = "float32"

    @property
    def space(self) -> Box:
        return Box(self.low, self.high)

    def write(self, batch: Shaped[np.ndarray, "n size"]) -> Shaped[np.ndarray, "n *written"]:
        """In the shape of the array; rounding must not lead past the bounds."""
        low, high = (np.asarray(bound, self.dtype) for bound in (self.low, self.high))
        return np.clip(np.asarray(batch).astype(self.dtype), low, high).reshape(-1, *self.axes)


def writer_of(space: ActionSpace) -> ActionWriter:
    """The writer that changes nothing."""
    match space:
        case Discrete():
            return IntegerWriter(space.n)
        case MultiDiscrete():
            return IntegersWriter(space.sizes, (0,) * len(space.sizes), space.shape, "int32")
        case Box():
            return VectorWriter(space.low, space.high, space.shape)


def mask_size(space: ActionSpace) -> int:
    """The length of an action mask; a `ValueError` where there can be none."""
    match space:
        case Discrete():
            return space.n
        case MultiDiscrete():
            return sum(space.sizes)
        case Box():
            raise ValueError(f"masked actions must be Discrete or MultiDiscrete, got {space}")


def part_edges(space: ActionSpace) -> list[int]:
    """Where in an action mask the parts of an action begin, but for the first."""
    sizes = space.sizes if isinstance(space, MultiDiscrete) else ()
    return np.cumsum(sizes, dtype=int)[:-1].tolist()


def writer_from_dict(stored: Mapping[str, Any]) -> ActionWriter:
    """The opposite of `to_dict`."""
    kinds = {kind.__name__: kind for kind in (IntegerWriter, IntegersWriter, VectorWriter)}
    fields: dict[str, Any] = {
        key: tuple(v) if isinstance(v, list | tuple) else v for key, v in stored.items()
    }
    name = fields.pop("writer", None)
    if name not in kinds:
        raise ValueError(f"writer must be one of {', '.join(kinds)}, got {name!r}")
    writer = kinds[name](**fields)
    _check_stored(writer)
    return writer


def _check_stored(writer: ActionWriter) -> None:
    """A `ValueError` if what a file says of a writer is not consistent."""
    match writer:
        case IntegerWriter():
            check_integer("n", writer.n, low=1, high=_MOST_VALUES)
            _check_integers("start", (writer.start,))
        case IntegersWriter():
            for name in ("sizes", "start", "axes"):
                _check_integers(name, getattr(writer, name))
            if min(writer.sizes, default=0) < 1 or sum(writer.sizes) > _MOST_VALUES:
                raise ValueError(f"sizes must be from 1 to {_MOST_VALUES} together")
            _check_shape(writer.axes, len(writer.sizes), len(writer.start))
            _check_dtype(writer.dtype, "iu")
        case VectorWriter():
            for name in ("low", "high"):
                for bound in getattr(writer, name):
                    check_number(name, bound)
            _check_integers("axes", writer.axes)
            _check_shape(writer.axes, len(writer.low), len(writer.high))
            _check_dtype(writer.dtype, "f")
            Box(writer.low, writer.high)
        case _:
            pass


def _check_integers(name: str, values: Any) -> None:
    if not isinstance(values, tuple):
        raise ValueError(f"{name} must be a list, got {values!r}")
    for value in values:
        check_integer(name, value, low=-(2**31), high=2**31 - 1)


def _check_shape(shape: tuple[int, ...], *sizes: int) -> None:
    if min(shape, default=1) < 1 or any(size != math.prod(shape) for size in sizes):
        raise ValueError(f"an action of shape {shape} cannot have {sizes} components")


def _check_dtype(given: Any, kinds: str) -> None:
    try:
        fits = isinstance(given, str) and np.dtype(given).kind in kinds
    except TypeError:
        fits = False
    if not fits:
        raise ValueError(f"dtype must be the name of a type of numbers, got {given!r}")
