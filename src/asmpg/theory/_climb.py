"""Gradient ascent from many starts at once: the adversary of the bounds."""

from collections.abc import Callable
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int

Point = TypeVar("Point")
#: A number for a point, given some data. Equal ones are compiled once: make them values.
Objective = Callable[..., Float[Array, ""]]
_OPTIMISER = optax.adam(0.3)


def climb(
    objective: Objective, starts: Point, *, steps: int, given: Any = ()
) -> tuple[Float[np.ndarray, " starts"], Point]:
    """Adam uphill from every start: what `objective(point, *given)` reaches, and where.

    Every leaf of `starts` and of `given` has the starts as its first axis.
    """
    values, points = _ascend(objective, starts, given, jnp.asarray(steps))
    return np.asarray(values), points


@eqx.filter_jit
def _ascend(
    objective: Objective, points: Point, given: Any, steps: Int[Array, ""]
) -> tuple[Float[Array, " starts"], Point]:
    descent = jax.vmap(jax.grad(lambda point, given: -objective(point, *given)))

    def step(_: Int[Array, ""], carry: tuple[Point, optax.OptState]) -> Any:
        points, state = carry
        updates, state = _OPTIMISER.update(descent(points, given), state)
        return jax.tree.map(jnp.add, points, updates), state

    first: Any = (points, _OPTIMISER.init(eqx.filter(points, True)))
    points, _ = jax.lax.fori_loop(0, steps, step, first)
    return jax.vmap(lambda point, given: objective(point, *given))(points, given), points


def random_starts(example: Point, *, starts: int, seed: int) -> Point:
    """Independent normal numbers in place of every leaf of `example`."""
    generator = np.random.default_rng(seed)
    return jax.tree.map(
        lambda leaf: jnp.asarray(generator.normal(size=(starts, *np.shape(leaf)))), example
    )


def curvature(
    function: Callable[[Float[Array, " d"]], Float[Array, ""]],
    point: Float[Array, " d"],
    direction: Float[Array, " d"],
) -> Float[Array, ""]:
    """`v' H v / v' v`, with `H` the Hessian of `function` at `point` and `v` the direction.

    Its maximum over `v` is the largest eigenvalue: climbing in point and direction together needs
    no Hessian.
    """
    unit = direction / jnp.linalg.norm(direction)

    def slope(point: Float[Array, " d"]) -> Float[Array, ""]:
        return jax.jvp(function, (point,), (unit,))[1]

    return jax.jvp(slope, (point,), (unit,))[1]


def spectral_norm(function: Objective, point: Float[np.ndarray, " d"], *given: Any) -> float:
    """`|H|_2`, from the whole Hessian of `function(point, *given)` in `point`."""
    hessian = np.asarray(_hessian(function, jnp.asarray(point), given))
    return float(np.abs(np.linalg.eigvalsh(hessian)).max())


@eqx.filter_jit
def _hessian(function: Objective, point: Float[Array, " d"], given: Any) -> Float[Array, "d d"]:
    return jax.hessian(lambda point: function(point, *given))(point)
