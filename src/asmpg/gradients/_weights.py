"""What the scores are weighted by: returns, baselines, advantages; and the log-barrier's weight."""

from typing import Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from asmpg.experience import Experience
from asmpg.policies import Number, linear_recurrence

BarrierSchedule = Literal["constant", "linear"]
#: What the mean and the deviation that returns are standardised by are taken over.
Standardise = Literal["none", "batch", "episode"]
STANDARDISE: tuple[Standardise, ...] = ("none", "batch", "episode")
StepReduction = Literal["episode-sum", "episode-mean", "batch-mean"]
STEP_REDUCTIONS: tuple[StepReduction, ...] = ("episode-sum", "episode-mean", "batch-mean")


def reward_to_go(episodes: Experience, *, discount: Number) -> Float[Array, "T N"]:
    """`W_t = sum_{t' >= t} discount^(t'-1) r_t'`, the weight of the score at `t`.

    Mind the power: it counts from the start of the episode, as in Algorithm 2, so that the sum of
    weighted scores is unbiased for the gradient of the discounted return. With `discount = 1` this
    is `R_{t:H}` of Algorithm 1.
    """
    rewards = jnp.where(episodes.valid, episodes.rewards, 0.0)
    discounting = discount ** jnp.arange(rewards.shape[0], dtype=rewards.dtype)
    return jax.lax.cumsum(discounting[:, None] * rewards, axis=0, reverse=True)


def return_to_go(episodes: Experience, *, discount: Number) -> Float[Array, "T N"]:
    """`G_t = sum_{t' >= t} discount^(t'-t) r_t'`: what a critic predicts.

    This is `W_t / discount^(t-1)`, without dividing by a power that may be too small for a float.
    """
    rewards = jnp.where(episodes.valid, episodes.rewards, 0.0)

    def step(
        following: Float[Array, " N"], reward: Float[Array, " N"]
    ) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
        total = reward + discount * following
        return total, total

    return jax.lax.scan(step, jnp.zeros_like(rewards[0]), rewards, reverse=True)[1]


def leave_one_out(weights: Float[Array, "T N"], running: Bool[Array, "T N"]) -> Float[Array, "T N"]:
    """`b_t` of an episode: the mean of `W_t` over the other episodes still running at `t`.

    0 where there is none. Other episodes know nothing of this one's `(S_t, A_t)`, so `W_t - b_t`
    leaves the estimator unbiased.
    """
    running_weights = jnp.where(running, weights, 0.0)
    others = running.sum(axis=1, keepdims=True) - running
    total = running_weights.sum(axis=1, keepdims=True) - running_weights
    return jnp.where(others > 0, total / jnp.maximum(others, 1), 0.0)


def discounting(episodes: Experience, *, discount: Number) -> Float[Array, "T 1"]:
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


def standardised(
    weights: Float[Array, "T N"],
    running: Bool[Array, "T N"],
    first: Bool[Array, "T N"],
    *,
    over: Literal["batch", "episode"],
) -> Float[Array, "T N"]:
    """`(W - mean) / (deviation + epsilon)`, over the running steps of the batch or of each episode.

    Episodes begin where `first`, one or more in a column. `epsilon` is that of single precision.
    The mean is no baseline that leaves the estimator unbiased: it depends on what was drawn. So
    does the deviation.
    """
    length, number = weights.shape
    episode = jnp.zeros((length, number), jnp.int32)
    if over == "episode":
        begun = jnp.cumsum(first, axis=0, dtype=jnp.int32)
        episode = jnp.arange(number) * length + jnp.maximum(begun - 1, 0)

    def sums(values: Float[Array, "T N"]) -> Float[Array, " TN"]:
        return jax.ops.segment_sum(values.ravel(), episode.ravel(), num_segments=values.size)

    def mean(values: Float[Array, "T N"]) -> Float[Array, "T N"]:
        total = sums(jnp.where(running, values, 0.0))
        return (total / jnp.maximum(sums(running.astype(values.dtype)), 1))[episode]

    centred = weights - mean(weights)
    deviation = jnp.sqrt(mean(jnp.square(centred)))
    return centred / (deviation + jnp.finfo(jnp.float32).eps)


def reduced_over_steps(
    weights: Float[Array, "T N"], episodes: Experience, *, reduction: StepReduction
) -> Float[Array, "T N"]:
    """Weights with which the sum over steps, averaged over whole episodes, becomes another average.

    That is the mean over the steps of each episode, averaged over episodes, or the mean over all
    steps of the batch. Both are biased: what steps count for depends on how long episodes last.
    """
    if reduction == "episode-mean":
        return weights / jnp.maximum(episodes.lengths, 1)
    if reduction == "batch-mean":
        return weights * (weights.shape[1] / jnp.maximum(episodes.valid.sum(), 1))
    return weights


def barrier_at(
    first: Number,
    progress: Number,
    *,
    schedule: BarrierSchedule,
    fade: Number,
) -> Number:
    """The coefficient after the share `progress` of a run.

    That is `first`, or a line from there to 0 at the share `fade`.

    The barrier adds a term to the objective. The estimate stays unbiased for the gradient of the
    sum; it is that of the return alone only where the coefficient is 0.
    """
    if schedule == "constant":
        return first
    return first * jnp.maximum(0.0, 1.0 - progress / fade)


def generalised_advantages(
    rewards: Float[Array, "T N"],
    values: Float[Array, "T N"],
    next_values: Float[Array, "T N"],
    terminated: Bool[Array, "T N"],
    ended: Bool[Array, "T N"],
    *,
    discount: Number,
    gae_lambda: Number,
    parallel: bool = False,
) -> Float[Array, "T N"]:
    """GAE (Schulman et al., 2016): `A_t = delta_t + discount lambda A_{t+1}` within an episode.

    `delta_t = r_t + discount V(next) - V_t`, with no `V(next)` where the episode terminated.
    `next_values` are those of the observations that really came next: where an episode was cut off
    by a time limit, that is its own last observation, not the first of the episode after it.
    `ended` says where the next row is of another episode, for either reason. If `parallel`, there
    is no loop over the rows but a parallel scan.
    """
    errors = rewards + discount * jnp.where(terminated, 0.0, next_values) - values
    if parallel:
        keep = jnp.where(ended, 0.0, discount * gae_lambda).astype(errors.dtype)
        return linear_recurrence(jnp.zeros_like(errors[0]), keep, errors, reverse=True)

    def step(
        following: Float[Array, " N"], row: tuple[Array, Array]
    ) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
        error, ended = row
        advantage = error + discount * gae_lambda * jnp.where(ended, 0.0, following)
        return advantage, advantage

    return jax.lax.scan(step, jnp.zeros_like(errors[0]), (errors, ended), reverse=True)[1]
