"""Observations that are one array: a symbol, several integers, or real numbers."""

import dataclasses
import functools

import numpy as np
from jaxtyping import Float, Int

from asmpg.environments import Discrete, Space
from asmpg.interop._readers import ArrayReader, ObservationReader, title_of


class IntegerReader(ArrayReader):
    """Reads an array of integers, each of which has few values."""

    @property
    def bounds(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        _, sizes = self._starts_and_sizes
        width = int(np.where(sizes == 2, 1, sizes).sum())
        return (0.0,) * width, (1.0,) * width

    def numbers(self, batch: np.ndarray, path: str) -> Float[np.ndarray, "n size"]:
        integers, (_, sizes) = self.integers(batch, path), self._starts_and_sizes
        bit = sizes == 2
        widths = np.where(bit, 1, sizes)
        written = np.zeros((len(integers), widths.sum()), np.float32)
        columns = np.cumsum(widths) - widths + np.where(bit, 0, integers)
        written[np.arange(len(integers))[:, None], columns] = np.where(bit, integers, 1)
        return written

    @functools.cached_property
    def _starts_and_sizes(self) -> Int[np.ndarray, "2 parts"]:
        pairs = [(values.start, len(values)) for values in self.ranges or ()]
        return np.asarray(pairs, np.int64).T

    def _inside(self, batch: np.ndarray, path: str) -> Int[np.ndarray, "n parts"]:
        start, sizes = self._starts_and_sizes
        integers = batch.reshape(len(batch), len(sizes)).astype(np.int64) - start
        inside = (integers >= 0) & (integers < sizes)
        if not inside.all():
            wrong = batch[int(np.argmin(inside.all(axis=1)))]
            raise ValueError(
                f"{title_of(path)} must be an element of the declared space, got {wrong}"
            )
        return integers


@dataclasses.dataclass(frozen=True)
class SymbolReader(IntegerReader):
    """The integers from `start` on: symbol `o - start`, however many there are."""

    n: int
    start: int = 0

    @property
    def shape(self) -> tuple[int, ...]:
        return ()

    @property
    def finite(self) -> bool:
        return True

    @property
    def ranges(self) -> tuple[range, ...]:
        return (range(self.start, self.start + self.n),)

    def integers(self, batch: np.ndarray, path: str) -> Int[np.ndarray, "n 1"]:
        if batch.dtype.kind not in "iu":
            raise ValueError(f"{title_of(path)} must be an integer, got {batch}")
        return self._inside(batch, path)


@dataclasses.dataclass(frozen=True)
class SymbolsReader(IntegerReader):
    """An array of integers: number `i` has `sizes[i]` values from `start[i]` on."""

    sizes: tuple[int, ...]
    start: tuple[int, ...]
    parts: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.parts

    @property
    def ranges(self) -> tuple[range, ...]:
        pairs = zip(self.start, self.sizes, strict=True)
        return tuple(range(start, start + size) for start, size in pairs)

    def integers(self, batch: np.ndarray, path: str) -> Int[np.ndarray, "n parts"]:
        if batch.dtype.kind not in "iub":
            raise ValueError(f"{title_of(path)} must hold integers, got {batch}")
        return self._inside(batch, path)


@dataclasses.dataclass(frozen=True)
class VectorReader(ArrayReader):
    """Real numbers in an array of any shape, flattened. The bounds are not enforced."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    axes: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.axes

    @property
    def ranges(self) -> None:
        return None

    @property
    def bounds(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        return self.low, self.high

    def integers(self, batch: np.ndarray, path: str) -> Int[np.ndarray, "n parts"]:
        raise TypeError(f"{title_of(path)} holds real numbers")

    def numbers(self, batch: np.ndarray, path: str) -> Float[np.ndarray, "n size"]:
        if batch.dtype.kind not in "iufb":
            raise ValueError(f"{title_of(path)} must hold real numbers, got {batch}")
        flat = batch.reshape(len(batch), len(self.low)).astype(np.float32)
        finite = np.isfinite(flat)
        if not finite.all():
            wrong = batch[int(np.argmin(finite.all(axis=1)))]
            raise ValueError(f"{title_of(path)} must be finite, got {wrong}")
        return flat


def reader_of(space: Space) -> ObservationReader:
    """The reader that changes nothing."""
    if isinstance(space, Discrete):
        return SymbolReader(space.n)
    return VectorReader(space.low, space.high, space.shape)
