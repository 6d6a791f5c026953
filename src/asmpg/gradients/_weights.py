"""The weights of the scores in the policy gradient."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from asmpg.gradients._episodes import Episodes


def reward_to_go(episodes: Episodes, *, discount: float) -> Float[Array, "T N"]:
    """`W_t = sum_{t' >= t} discount^(t'-1) r_t'`, the weight of the score at `t`.

    Mind the power: it counts from the start of the episode, as in Algorithm 2, so that the sum of
    weighted scores is unbiased for the gradient of the discounted return. With `discount = 1` this
    is `R_{t:H}` of Algorithm 1.
    """
    rewards = jnp.where(episodes.running, episodes.rewards, 0.0)
    discounting = discount ** jnp.arange(rewards.shape[0], dtype=rewards.dtype)
    return jax.lax.cumsum(discounting[:, None] * rewards, axis=0, reverse=True)


def return_to_go(episodes: Episodes, *, discount: float) -> Float[Array, "T N"]:
    """`G_t = sum_{t' >= t} discount^(t'-t) r_t'`: what a critic predicts.

    This is `W_t / discount^(t-1)`, without dividing by a power that may be too small for a float.
    """
    rewards = jnp.where(episodes.running, episodes.rewards, 0.0)

    def step(
        following: Float[Array, " N"], reward: Float[Array, " N"]
    ) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
        total = reward + discount * following
        return total, total

    return jax.lax.scan(step, jnp.zeros_like(rewards[0]), rewards, reverse=True)[1]
