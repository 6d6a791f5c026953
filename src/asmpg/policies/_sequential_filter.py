"""The filter as a loop over time, with as little in the loop as there can be.

Its gradient is written by hand: what `jax.grad` would make of the loop keeps every number in
between, and most of the time would go into that.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from asmpg.policies._parallel_filter import TINY, before_each


@jax.custom_vjp
def beliefs_by_steps(
    start: Float[Array, "N S"],
    first: Bool[Array, "T N"],
    moves: Float[Array, "T N S S"],
    likelihood: Float[Array, "T N S"],
) -> tuple[Float[Array, "T N S"], Float[Array, "T N S"]]:
    """The beliefs `n_t = c_{t-1} M_t` before each action, and `c_t = n_t l_t / z_t` after it.

    `M_t` are the `moves`, `l_t` the `likelihood` of the action in every agent state, `c_0` is
    `start`, and `z_t` makes it a distribution. Where `first`, an episode starts, and `c_{t-1}` is
    uniform instead: what came before is forgotten, by the gradient as well.
    """
    return _forward(start, first, moves, likelihood)[0]


def _forward(
    start: Float[Array, "N S"],
    first: Bool[Array, "T N"],
    moves: Float[Array, "T N S S"],
    likelihood: Float[Array, "T N S"],
) -> tuple[tuple[Float[Array, "T N S"], Float[Array, "T N S"]], tuple[Any, ...]]:
    def step(
        belief: Float[Array, "N S"], row: tuple[Array, Array, Array]
    ) -> tuple[Float[Array, "N S"], tuple[Float[Array, "N S"], Float[Array, "N S"]]]:
        first, move, likelihood = row
        before = jnp.where(first[:, None], 1 / belief.shape[-1], belief)
        now = jnp.einsum("ni,nis->ns", before, move)
        mass = now * likelihood + TINY
        after = mass / mass.sum(axis=-1, keepdims=True)
        return after, (now, after)

    _, (now, after) = jax.lax.scan(step, start, (first, moves, likelihood))
    return (now, after), (start, first, moves, likelihood, now, after)


def _backward(
    kept: tuple[Any, ...], slopes: tuple[Float[Array, "T N S"], Float[Array, "T N S"]]
) -> tuple[Array | None, ...]:
    """The slopes of all arguments.

    Let `a_t` be the slope of all that follows from `c_t`, and `u_t(s) = a_t(s) - sum_j c_t(j)
    a_t(j)`. That of `n_t` is `u_t l_t / z_t` and what is asked of it directly, and the next `a` is
    `M_t` times that, and what is asked of `c_{t-1}` directly.
    """
    start, first, moves, likelihood, now, after = kept
    of_now, of_after = slopes
    mass = jnp.sum(now * likelihood + TINY, axis=-1, keepdims=True)
    rate = likelihood / mass

    def step(
        later: Float[Array, "N S"], row: tuple[Array, ...]
    ) -> tuple[Float[Array, "N S"], Float[Array, "N S"]]:
        first, move, rate, after, of_now, of_after = row
        slope = of_after + later
        centred = slope - jnp.sum(after * slope, axis=-1, keepdims=True)
        earlier = jnp.einsum("nis,ns->ni", move, of_now + rate * centred)
        return jnp.where(first[:, None], 0, earlier), centred

    rows = (first, moves, rate, after, of_now, of_after)
    of_start, centred = jax.lax.scan(step, jnp.zeros_like(start), rows, reverse=True)
    of_mass = of_now + rate * centred
    before = before_each(start, first, after)
    of_moves = before[..., :, None] * of_mass[..., None, :]
    return of_start, None, of_moves, now * centred / mass


beliefs_by_steps.defvjp(_forward, _backward)
