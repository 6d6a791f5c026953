"""Advantages by a critic that bootstraps: less variance than returns, and biased."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


def generalised_advantages(
    rewards: Float[Array, "T N"],
    values: Float[Array, "T N"],
    next_values: Float[Array, "T N"],
    terminated: Bool[Array, "T N"],
    ended: Bool[Array, "T N"],
    *,
    discount: float,
    trace: float,
) -> Float[Array, "T N"]:
    """GAE (Schulman et al., 2016): `A_t = delta_t + discount trace A_{t+1}` within an episode.

    `delta_t = r_t + discount V(next) - V_t`, with no `V(next)` where the episode terminated.
    `next_values` are those of the observations that really came next: where an episode was cut off
    by a time limit, that is its own last observation, not the first of the episode after it.
    `ended` says where the next row is of another episode, for either reason.
    """
    errors = rewards + discount * jnp.where(terminated, 0.0, next_values) - values

    def step(
        following: Float[Array, " N"], row: tuple[Array, Array]
    ) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
        error, ended = row
        advantage = error + discount * trace * jnp.where(ended, 0.0, following)
        return advantage, advantage

    return jax.lax.scan(step, jnp.zeros_like(errors[0]), (errors, ended), reverse=True)[1]
