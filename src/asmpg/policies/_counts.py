"""Counts of what was seen beside the hidden agent state: what they become for a network."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from asmpg.policies._kernel_tables import AgentMemory, counted
from asmpg.policies._networks import Encoding, Layers, apply_layers, linear_layers, zero_last

#: Counts are divided by this, to be of the order of 1.
_USUAL_COUNT = 8.0


def no_counts(encoding: Encoding, batch: tuple[int, ...]) -> Int[Array, "*batch A1 O"]:
    """At the start of an episode: a row without an action, then one for each action."""
    assert encoding.num_observations is not None
    return jnp.zeros((*batch, 1 + encoding.num_actions, encoding.num_observations), jnp.int32)


def counts_size(encoding: Encoding) -> int:
    """How many counts there are: of observations, and of their pairs with the action before."""
    assert encoding.num_observations is not None
    return (1 + encoding.num_actions) * encoding.num_observations


def count_layers(encoding: Encoding, width: int, key: Key[Array, ""]) -> Layers:
    """A network of the current observation and all counts, with a logit for each action; zero."""
    inputs = encoding.observation_size + counts_size(encoding)
    return zero_last(linear_layers(key, inputs, width, width, encoding.head.size))


def by_counts(
    layers: Layers, encoding: Encoding, past: AgentMemory, observation: Int[Array, "*batch"]
) -> Float[Array, "*batch A"]:
    """What the counts up to `O_t`, itself included, add to the logits of the actions."""
    assert past.window is not None
    assert past.window.counts is not None
    dtype = jnp.result_type(*jax.tree.leaves(layers))
    before = past.window.counts
    counts = (before + counted(past, observation, before.shape[-2:])).astype(dtype) / _USUAL_COUNT
    of_pairs = counts[..., 1:, :].reshape(*observation.shape, -1)
    shown = [encoding.observation(observation, dtype), counts.sum(axis=-2), of_pairs]
    return apply_layers(layers, jnp.concatenate(shown, axis=-1))


def counts_along(
    start: Int[Array, "N A1 O"], past: AgentMemory, observations: Int[Array, "T N"]
) -> Int[Array, "T N A1 O"]:
    """The counts before each of `T` steps, from those before the first; of its own episode only."""
    ones = counted(past, observations, start.shape[-2:])
    total = start + jnp.cumsum(ones, axis=0) - ones
    # The row where the episode began: what was counted before it belongs to others.
    began = jnp.arange(len(ones))[:, None] - past.time
    others = jnp.take_along_axis(total, jnp.maximum(began, 0)[..., None, None], axis=0)
    return total - jnp.where((began >= 0)[..., None, None], others, 0)
