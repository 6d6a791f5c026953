"""What an environment looks like from the outside, and how its observations are read."""

import abc
import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Shaped
from numpy.typing import ArrayLike

from asmpg._support.checks import check_integer, check_number
from asmpg.environments import ActionSpace, Box, Discrete, Environment, Space
from asmpg.interop._writers import ActionWriter, writer_from_dict, writer_of

#: Up to so many combinations of symbols are one symbol; more are written out as a real vector.
MOST_SYMBOLS = 500
#: So many symbols, or actions, are believed when a file says so.
MOST_VALUES = 1_000_000


class ObservationReader(abc.ABC):
    """Turns observations as the environment gives them into elements of `space`."""

    @property
    @abc.abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The shape of one observation, unread."""

    @property
    @abc.abstractmethod
    def space(self) -> Space:
        """What it is read as."""

    @abc.abstractmethod
    def read(self, batch: Shaped[np.ndarray, "n *shape"]) -> Shaped[np.ndarray, "n *observation"]:
        """Read a batch; a `ValueError` for what lies outside."""

    def read_any(self, observation: ArrayLike) -> np.ndarray:
        """Read a single observation or a batch of them."""
        given = np.asarray(observation)
        if given.shape == self.shape:
            return np.asarray(self.read(given[None])[0])
        if given.shape[1:] != self.shape or given.ndim == 0:
            raise ValueError(
                f"observation must have shape {self.shape}, or be a batch of such, got {given}"
            )
        return self.read(given)

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {"reader": type(self).__name__, **dataclasses.asdict(self)}  # pyright: ignore[reportArgumentType]


@dataclasses.dataclass(frozen=True)
class SymbolReader(ObservationReader):
    """The integers from `start` on: symbol `o - start`."""

    n: int
    start: int = 0

    @property
    def shape(self) -> tuple[int, ...]:
        """A scalar."""
        return ()

    @property
    def space(self) -> Discrete:
        """`n` symbols."""
        return Discrete(self.n)

    def read(self, batch: Shaped[np.ndarray, " n"]) -> Shaped[np.ndarray, " n"]:
        """Subtract `start`."""
        if batch.dtype.kind not in "iu":
            raise ValueError(f"observation must be an integer, got {batch}")
        symbols = batch.astype(np.int64) - self.start
        _check_symbols(symbols, self.n, batch)
        return symbols.astype(np.int32)


@dataclasses.dataclass(frozen=True)
class SymbolsReader(ObservationReader):
    """Several integers: one symbol for each combination if those are few, else ones and zeros.

    Part `i` has `sizes[i]` values from `start[i]` on. A part of two values needs one bit only.
    """

    sizes: tuple[int, ...]
    start: tuple[int, ...]
    parts: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the array of integers."""
        return self.parts

    @property
    def finite(self) -> bool:
        """Whether each combination is a symbol."""
        return math.prod(self.sizes) <= MOST_SYMBOLS

    @property
    def space(self) -> Space:
        """A symbol, or a vector of zeros and ones."""
        if self.finite:
            return Discrete(math.prod(self.sizes))
        bits = sum(1 if size == 2 else size for size in self.sizes)
        return Box((0.0,) * bits, (1.0,) * bits)

    def read(self, batch: Shaped[np.ndarray, "n *shape"]) -> Shaped[np.ndarray, "n *observation"]:
        """Number the combinations in row-major order, or write them out."""
        if batch.dtype.kind not in "iub":
            raise ValueError(f"observation must hold integers, got {batch}")
        flat = batch.reshape(len(batch), -1).astype(np.int64) - np.asarray(self.start, np.int64)
        _check_symbols(flat, np.asarray(self.sizes), batch)
        if self.finite:
            steps = np.cumprod((1, *self.sizes[:0:-1]))[::-1]
            return (flat @ steps).astype(np.int32)
        columns = [
            flat[:, [i]] if size == 2 else np.eye(size)[flat[:, i]]
            for i, size in enumerate(self.sizes)
        ]
        return np.concatenate(columns, axis=1).astype(np.float32)


@dataclasses.dataclass(frozen=True)
class VectorReader(ObservationReader):
    """Real numbers in an array of any shape, flattened."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    axes: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the array."""
        return self.axes

    @property
    def space(self) -> Box:
        """A vector."""
        return Box(self.low, self.high)

    def read(self, batch: Shaped[np.ndarray, "n *shape"]) -> Shaped[np.ndarray, "n size"]:
        """Flatten. Numbers must be finite; the bounds are not enforced."""
        if batch.dtype.kind not in "iufb":
            raise ValueError(f"observation must hold real numbers, got {batch}")
        flat = batch.reshape(len(batch), -1).astype(np.float32)
        finite = np.isfinite(flat).all(axis=1)
        if not finite.all():
            raise ValueError(f"observation must be finite, got {batch[int(np.argmin(finite))]}")
        return flat


def reader_of(space: Space) -> ObservationReader:
    """The reader that changes nothing."""
    if isinstance(space, Discrete):
        return SymbolReader(space.n)
    return VectorReader(space.low, space.high, space.shape)


def reader_from_dict(stored: Mapping[str, Any]) -> ObservationReader:
    """The opposite of `to_dict`."""
    kinds = {kind.__name__: kind for kind in (SymbolReader, SymbolsReader, VectorReader)}
    fields: dict[str, Any] = {
        key: tuple(v) if isinstance(v, list | tuple) else v for key, v in stored.items()
    }
    name = fields.pop("reader", None)
    if name not in kinds:
        raise ValueError(f"reader must be one of {', '.join(kinds)}, got {name!r}")
    reader = kinds[name](**fields)
    _check_stored(reader)
    return reader


def _check_stored(reader: ObservationReader) -> None:
    """A `ValueError` if what a file says of a reader is not consistent."""
    match reader:
        case SymbolReader():
            check_integer("n", reader.n, low=1, high=MOST_VALUES)
            _check_integers("start", (reader.start,))
        case SymbolsReader():
            for name in ("sizes", "start", "parts"):
                _check_integers(name, getattr(reader, name))
            if min(reader.sizes, default=0) < 1 or sum(reader.sizes) > MOST_VALUES:
                raise ValueError(f"sizes must be from 1 to {MOST_VALUES} together")
            _check_shape(reader.parts, len(reader.sizes), len(reader.start))
        case VectorReader():
            for name in ("low", "high"):
                for bound in _checked_tuple(name, getattr(reader, name)):
                    check_number(name, bound)
            _check_integers("axes", reader.axes)
            _check_shape(reader.axes, len(reader.low), len(reader.high))
            Box(reader.low, reader.high)
        case _:
            pass


def _checked_tuple(name: str, values: Any) -> tuple[Any, ...]:
    if not isinstance(values, tuple):
        raise ValueError(f"{name} must be a list, got {values!r}")
    return values


def _check_integers(name: str, values: Any) -> None:
    for value in _checked_tuple(name, values):
        check_integer(name, value, low=-(2**31), high=2**31 - 1)


def _check_shape(shape: tuple[int, ...], *sizes: int) -> None:
    if min(shape, default=1) < 1 or any(size != math.prod(shape) for size in sizes):
        raise ValueError(f"an observation of shape {shape} cannot have {sizes} components")


def _check_symbols(symbols: np.ndarray, sizes: int | np.ndarray, given: np.ndarray) -> None:
    inside = (symbols >= 0) & (symbols < sizes)
    if not inside.all():
        wrong = given[int(np.argmin(inside.reshape(len(inside), -1).all(axis=1)))]
        raise ValueError(f"observation must be an element of the declared space, got {wrong}")


@dataclasses.dataclass(frozen=True)
class Interface:
    """Name, spaces and time limit of an environment.

    `on_host` says where it is stepped: by Gymnasium, or compiled. `by_name` says whether its name
    and options are enough to make it again; otherwise it was given in Python.
    """

    name: str
    reader: ObservationReader
    writer: ActionWriter
    max_steps: int
    on_host: bool = False
    by_name: bool = True
    #: Whether it says which actions are allowed.
    masked: bool = False

    @classmethod
    def of(cls, environment: Environment[Any], *, by_name: bool = False) -> "Interface":
        """That of a compiled environment."""
        return cls(
            environment.name,
            reader_of(environment.observation_space),
            writer_of(environment.action_space),
            environment.max_steps,
            by_name=by_name,
            masked=environment.masked,
        )

    @property
    def observation_space(self) -> Space:
        """What observations are read as."""
        return self.reader.space

    @property
    def action_space(self) -> ActionSpace:
        """What policies choose from."""
        return self.writer.space

    @property
    def num_actions(self) -> int:
        """The number of actions; a `ValueError` where they are not one of `n`."""
        space = self.action_space
        if not isinstance(space, Discrete):
            raise ValueError(f"actions of {self.name} must be Discrete here, got {space}")
        return space.n

    @property
    def num_observations(self) -> int | None:
        """The number of symbols, or `None` for real observations."""
        space = self.observation_space
        return space.n if isinstance(space, Discrete) else None

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return fields | {"reader": self.reader.to_dict(), "writer": self.writer.to_dict()}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "Interface":
        """The opposite of `to_dict`."""
        try:
            name = stored["name"]
            parts = {
                "reader": reader_from_dict(stored["reader"]),
                "writer": writer_from_dict(stored["writer"]),
            }
            interface = cls(**{**stored, **parts})
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"interface cannot be read: {error}") from None
        if not isinstance(name, str):
            raise ValueError(f"name of the interface must be text, got {name!r}")
        check_integer("max_steps", interface.max_steps, low=1, high=2**31 - 1)
        for name in ("on_host", "by_name", "masked"):
            if not isinstance(getattr(interface, name), bool):
                raise ValueError(f"{name} must be true or false, got {getattr(interface, name)!r}")
        return interface
