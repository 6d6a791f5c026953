"""What may be taken off the weights of the scores, and how they may be scaled."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from asmpg.gradients._episodes import Episodes


def leave_one_out(weights: Float[Array, "T N"], running: Bool[Array, "T N"]) -> Float[Array, "T N"]:
    """`b_t` of an episode: the mean of `W_t` over the other episodes still running at `t`.

    0 where there is none. Other episodes know nothing of this one's `(S_t, A_t)`, so `W_t - b_t`
    leaves the estimator unbiased.
    """
    running_weights = jnp.where(running, weights, 0.0)
    others = running.sum(axis=1, keepdims=True) - running
    total = running_weights.sum(axis=1, keepdims=True) - running_weights
    return jnp.where(others > 0, total / jnp.maximum(others, 1), 0.0)


def discounting(episodes: Episodes, *, discount: float) -> Float[Array, "T 1"]:
    """`discount^(t-1)`: by this much the weights of step `t` are smaller than its return to go."""
    steps = jnp.arange(episodes.rewards.shape[0], dtype=episodes.rewards.dtype)
    return (discount**steps)[:, None]


def normalised(weights: Float[Array, "T N"], running: Bool[Array, "T N"]) -> Float[Array, "T N"]:
    """The weights divided by their root mean square over the running steps of the batch.

    The step then no longer depends on the size of rewards. The divisor is random and depends on
    what was drawn: the direction is that of the estimator, its expectation is not (it is biased).
    """
    squares = jnp.where(running, jnp.square(weights), 0.0)
    scale = jnp.sqrt(squares.sum() / jnp.maximum(running.sum(), 1))
    return weights / jnp.maximum(scale, jnp.finfo(weights.dtype).tiny ** 0.5)
