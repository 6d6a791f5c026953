"""What an option may be: one of some values, or a number in a range."""

import abc
import dataclasses
from typing import Any

import numpy as np


class Dimension(abc.ABC):
    """The values of one option that a sweep tries."""

    @abc.abstractmethod
    def draw(self, generator: np.random.Generator) -> Any:
        """One of the values, at random."""

    @abc.abstractmethod
    def grid(self) -> list[Any]:
        """The values that a grid tries."""

    @property
    @abc.abstractmethod
    def examples(self) -> tuple[Any, ...]:
        """Values by which one sees whether the others are accepted: all, or both ends."""


@dataclasses.dataclass(frozen=True)
class Choice(Dimension):
    """One of `values`, each as likely as the others."""

    values: tuple[Any, ...]

    def draw(self, generator: np.random.Generator) -> Any:
        return self.values[int(generator.integers(len(self.values)))]

    def grid(self) -> list[Any]:
        return list(self.values)

    @property
    def examples(self) -> tuple[Any, ...]:
        return self.values


@dataclasses.dataclass(frozen=True)
class Range(Dimension):
    """A number from `low` to `high`, both included, uniform or uniform in its logarithm.

    A grid has so many `points` of it.
    """

    low: float
    high: float
    log: bool = False
    integer: bool = False
    points: int = 5

    def draw(self, generator: np.random.Generator) -> int | float:
        if self.integer and not self.log:
            return int(generator.integers(int(self.low), int(self.high), endpoint=True))
        # Integers are rounded: half a unit beyond the ends, so that these are not rarer.
        margin = 0.5 if self.integer else 0.0
        return self.number(self._between(self.low - margin, self.high + margin, generator.random()))

    def grid(self) -> list[Any]:
        shares = np.linspace(0.0, 1.0, self.points)
        numbers = [self.number(self._between(self.low, self.high, share)) for share in shares]
        return list(dict.fromkeys(numbers))

    @property
    def examples(self) -> tuple[Any, ...]:
        return (self.number(self.low), self.number(self.high))

    def _between(self, low: float, high: float, share: float) -> float:
        if self.log:
            return float(np.exp(np.log(low) + share * (np.log(high) - np.log(low))))
        return low + share * (high - low)

    def number(self, value: float) -> int | float:
        """`value` within the ends, in digits that a command line can repeat."""
        near = round(value) if self.integer else float(f"{value:.6g}")
        inside = min(max(near, self.low), self.high)
        return int(inside) if self.integer else inside
