"""Counts of what was seen beside the hidden agent state: what they become for a network."""

import equinox as eqx
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


def two_forms(counts: Float[Array, "*batch O"]) -> Float[Array, "*batch 2*O"]:
    """Each count `c` as `c / 8`, which tells many from more, and `c / (1 + c)`, none from one."""
    return jnp.concatenate([counts / _USUAL_COUNT, counts / (1 + counts)], axis=-1)


class CountNetworks(eqx.Module):
    """What counts add to the logits of the actions, by two networks that start at zero.

    One is shown the current observation and all counts, and has a logit for each action. The other
    is shown what came of a single action, and has one logit for it: the same network for each
    action, so that what is learned of one holds for all. There is none where actions are not one
    of a few.
    """

    of_all: Layers
    of_action: Layers | None
    encoding: Encoding

    def __init__(self, encoding: Encoding, width: int, key: Key[Array, ""]):
        assert encoding.num_observations is not None
        inputs = encoding.observation_size + 2 * counts_size(encoding)
        self.of_all = _silent_layers(key, inputs, width, width, encoding.head.size)
        self.of_action = None
        if encoding.num_actions:
            narrow = max(1, width // 2)
            sizes = (2 * encoding.num_observations, narrow, narrow, 1)
            self.of_action = _silent_layers(jax.random.fold_in(key, 1), *sizes)
        self.encoding = encoding

    def __call__(
        self, past: AgentMemory, observation: Int[Array, "*batch"]
    ) -> Float[Array, "*batch A"]:
        """What the counts up to `O_t`, itself included, add."""
        assert past.window is not None
        assert past.window.counts is not None
        dtype = jnp.result_type(*jax.tree.leaves((self.of_all, self.of_action)))
        before = past.window.counts
        counts = (before + counted(past, observation, before.shape[-2:])).astype(dtype)
        of_pairs = two_forms(counts[..., 1:, :])
        flat = of_pairs.reshape(*observation.shape, -1)
        shown = [
            self.encoding.observation(observation, dtype),
            two_forms(counts.sum(axis=-2)),
            flat,
        ]
        logits = apply_layers(self.of_all, jnp.concatenate(shown, axis=-1))
        if self.of_action is None:
            return logits
        return logits + apply_layers(self.of_action, of_pairs)[..., 0]


def _silent_layers(key: Key[Array, ""], *sizes: int) -> Layers:
    # Counts are mostly 0, and PyTorch's weights would make little of them.
    return zero_last(linear_layers(key, *sizes, initial_weights="orthogonal"))


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
