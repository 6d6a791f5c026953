"""What observations and actions may be: symbols, or a real vector in a box."""

import dataclasses
import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from asmpg._support.checks import check_integer


@dataclasses.dataclass(frozen=True)
class Discrete:
    """The integers `0, ..., n - 1`."""

    n: int

    def __post_init__(self):
        check_integer("n", self.n, low=1)

    @property
    def shape(self) -> tuple[int, ...]:
        return ()

    def sample(self, key: Key[Array, ""]) -> Array:
        return jax.random.randint(key, (), 0, self.n)

    def contains(self, value: object) -> bool:
        array = np.asarray(value)
        return bool(array.shape == () and array.dtype.kind in "iu" and 0 <= array < self.n)

    def __str__(self) -> str:
        return f"Discrete({self.n})"


@dataclasses.dataclass(frozen=True)
class MultiDiscrete:
    """Several integers, the `i`-th from 0 to `sizes[i] - 1`."""

    sizes: tuple[int, ...]

    def __post_init__(self):
        if not self.sizes:
            raise ValueError("sizes must have at least one number, got none")
        for size in self.sizes:
            check_integer("sizes", size, low=1)

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.sizes),)

    def sample(self, key: Key[Array, ""]) -> Array:
        return jax.random.randint(key, self.shape, 0, jnp.asarray(self.sizes))

    @property
    def combinations(self) -> tuple[str, ...]:
        """A name for each combination of parts, the last one varying fastest."""
        every = itertools.product(*map(range, self.sizes))
        return tuple(",".join(map(str, parts)) for parts in every)

    def contains(self, value: object) -> bool:
        array = np.asarray(value)
        return bool(
            array.shape == self.shape
            and array.dtype.kind in "iu"
            and np.all((array >= 0) & (array < np.asarray(self.sizes)))
        )

    def __str__(self) -> str:
        return f"MultiDiscrete({', '.join(map(str, self.sizes))})"


@dataclasses.dataclass(frozen=True)
class Box:
    """Real vectors between `low` and `high`, component by component."""

    low: tuple[float, ...]
    high: tuple[float, ...]

    def __post_init__(self):
        if len(self.low) != len(self.high) or not self.low:
            raise ValueError(
                "low and high must have the same number of components, at least one, "
                f"got {len(self.low)} and {len(self.high)}"
            )
        for low, high in zip(self.low, self.high, strict=True):
            if not (np.isfinite(low) and np.isfinite(high) and low <= high):
                raise ValueError(f"low must be finite and at most high, got {low} and {high}")

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.low),)

    def sample(self, key: Key[Array, ""]) -> Array:
        low, high = jnp.asarray(self.low), jnp.asarray(self.high)
        return jax.random.uniform(key, self.shape, minval=low, maxval=high)

    def contains(self, value: object) -> bool:
        array = np.asarray(value)
        return bool(
            array.shape == self.shape
            and array.dtype.kind in "fiu"
            and np.all(array >= np.asarray(self.low, array.dtype))
            and np.all(array <= np.asarray(self.high, array.dtype))
        )

    def __str__(self) -> str:
        parts = [f"[{low:g}, {high:g}]" for low, high in zip(self.low, self.high, strict=True)]
        return " × ".join(parts)


#: Of observations.
Space = Discrete | Box
ActionSpace = Discrete | MultiDiscrete | Box
