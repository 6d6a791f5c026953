"""How observations are read: as one of a few symbols, or as a real vector."""

import abc
import dataclasses
import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int, Shaped

from asmpg.environments import Box, Discrete, Space

#: Up to so many combinations of symbols are one symbol; more are written out as a real vector.
MOST_SYMBOLS = 500


class ObservationReader(abc.ABC):
    """Turns observations as the environment gives them into elements of `space`.

    An observation is an array, or a structure of several. If they hold integers only, in at most
    `MOST_SYMBOLS` combinations, each combination is a symbol. Otherwise they are written out as one
    real vector, in which an integer is one-hot; one bit is enough for two values.
    """

    @property
    @abc.abstractmethod
    def leaves(self) -> tuple["Leaf", ...]:
        """The arrays that an observation consists of."""

    @abc.abstractmethod
    def arrays(self, observation: Any, path: str = "") -> list[np.ndarray]:
        """Those of an observation or of a batch, in the order of `leaves`; `path` leads to it."""

    @abc.abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""

    @property
    def finite(self) -> bool:
        """Whether observations are read as symbols."""
        return self._combinations is not None and self._combinations <= MOST_SYMBOLS

    @property
    def space(self) -> Space:
        """What observations are read as."""
        if self.finite:
            assert self._combinations is not None
            return Discrete(self._combinations)
        bounds = [leaf.reader.bounds for leaf in self.leaves]
        low, high = (tuple(itertools.chain(*side)) for side in zip(*bounds, strict=True))
        return Box(low, high)

    @property
    def names(self) -> tuple[str, ...]:
        """What to call each symbol, `card=3 suit=0`, or each component, `position[1]`."""
        if not self.finite:
            return tuple(name for leaf in self.leaves for name in leaf.components)
        choices = [words for leaf in self.leaves for words in leaf.values]
        return tuple(map(" ".join, itertools.product(*choices)))

    def read(self, batch: Any) -> Shaped[np.ndarray, "n *observation"]:
        """Read a batch; a `ValueError` for what lies outside."""
        return self._read(self.arrays(batch))

    def read_any(self, observation: Any) -> np.ndarray:
        """Read a single observation or a batch of them."""
        arrays = self.arrays(observation)
        if self._single(arrays):
            return np.asarray(self._read([array[None] for array in arrays])[0])
        return self._read(arrays)

    def _single(self, arrays: Sequence[np.ndarray]) -> bool:
        pairs = zip(arrays, self.leaves, strict=True)
        return all(array.shape == leaf.reader.shape for array, leaf in pairs)

    def _read(self, arrays: Sequence[np.ndarray]) -> Shaped[np.ndarray, "n *observation"]:
        self._check_batch(arrays)
        pairs = list(zip(self.leaves, arrays, strict=True))
        if self.finite:
            columns = [leaf.reader.integers(array, leaf.path) for leaf, array in pairs]
            integers = columns[0] if len(columns) == 1 else np.concatenate(columns, axis=1)
            symbols = integers[:, 0] if integers.shape[1] == 1 else integers @ self._steps
            return symbols.astype(np.int32)
        columns = [leaf.reader.numbers(array, leaf.path) for leaf, array in pairs]
        return columns[0] if len(columns) == 1 else np.concatenate(columns, axis=1)

    def _check_batch(self, arrays: Sequence[np.ndarray]) -> None:
        counts: list[int | None] = []
        for (path, reader), array in zip(self.leaves, arrays, strict=True):
            shape, single = reader.shape, array.shape == reader.shape
            if not single and (array.ndim == 0 or array.shape[1:] != shape):
                raise ValueError(
                    f"{title_of(path)} must have shape {shape}, or be a batch of such, got {array}"
                )
            counts.append(None if single else len(array))
        if None in counts or counts.count(counts[0]) < len(counts):
            given = ", ".join(
                f"{leaf.path or 'it'} is {'single' if count is None else f'a batch of {count}'}"
                for leaf, count in zip(self.leaves, counts, strict=True)
            )
            raise ValueError(f"observation must be a batch, of one size in all parts, but {given}")

    @functools.cached_property
    def _combinations(self) -> int | None:
        """How many there are; `None` where an array holds real numbers."""
        ranges = [leaf.reader.ranges for leaf in self.leaves]
        if None in ranges:
            return None
        return math.prod(len(values) for part in ranges for values in part or ())

    @functools.cached_property
    def _steps(self) -> Int[np.ndarray, " parts"]:
        """By how much a symbol changes with each integer: row-major order."""
        sizes = [len(values) for leaf in self.leaves for values in leaf.reader.ranges or ()]
        return np.cumprod((1, *sizes[:0:-1]))[::-1]


class ArrayReader(ObservationReader):
    """Reads observations that are a single array, of the shape `shape`."""

    @property
    @abc.abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The shape of one observation, unread."""

    @property
    @abc.abstractmethod
    def ranges(self) -> tuple[range, ...] | None:
        """The values of each of its integers; `None` if it holds real numbers."""

    @property
    @abc.abstractmethod
    def bounds(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """The bounds of the components, written out as a real vector."""

    @abc.abstractmethod
    def integers(self, batch: np.ndarray, path: str) -> Int[np.ndarray, "n parts"]:
        """The integers, counted from 0; `path` leads to the array."""

    @abc.abstractmethod
    def numbers(self, batch: np.ndarray, path: str) -> Float[np.ndarray, "n size"]:
        """Written out as a real vector."""

    @property
    def leaves(self) -> tuple["Leaf", ...]:
        return (Leaf("", self),)

    def arrays(self, observation: Any, path: str = "") -> list[np.ndarray]:
        try:
            return [np.asarray(observation)]
        except ValueError:
            raise ValueError(f"{title_of(path)} must be an array, got {observation}") from None

    def to_dict(self) -> dict[str, Any]:
        return {"reader": type(self).__name__, **dataclasses.asdict(self)}  # pyright: ignore[reportArgumentType]


class Leaf(NamedTuple):
    """An array of an observation: the path to it, `robot.position`, and its reader."""

    path: str
    reader: ArrayReader

    @property
    def values(self) -> list[list[str]]:
        """A name for each value of each integer."""
        ranges = self.reader.ranges or ()
        return [
            [f"{entry}={value}" if entry else str(value) for value in values]
            for entry, values in zip(self._entries, ranges, strict=True)
        ]

    @property
    def components(self) -> list[str]:
        """A name for each component of the real vector."""
        if self.reader.ranges is None:
            return [entry or "0" for entry in self._entries]
        return [word for words in self.values for word in words[len(words) == 2 :]]

    @property
    def _entries(self) -> list[str]:
        """A name for each entry of the array."""
        if not self.reader.shape:
            return [self.path]
        indices = (",".join(map(str, index)) for index in np.ndindex(*self.reader.shape))
        return [f"{self.path}[{index}]" if self.path else index for index in indices]


def title_of(path: str) -> str:
    """What errors call the part that `path` leads to."""
    return f"part {path!r} of the observation" if path else "observation"
