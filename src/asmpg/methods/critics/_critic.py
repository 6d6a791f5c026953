"""Critics: the value of a history, used in training only."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from asmpg.experience import Segment
from asmpg.methods.critics._value import MemoryValue, ReturnScale, rescale_output
from asmpg.policies import ActionLaws, Encoding, HistoryEncoder, Layers, apply_layers, linear_layers


class Values(eqx.Module):
    """Values along a segment, in units of the scale: of each history, and of what really came next.

    `memory` is what the critic itself remembers at the end.
    """

    now: Float[Array, "T N"]
    following: Float[Array, "T N"]
    memory: Float[Array, "N d"]


class Critic(eqx.Module):
    """Estimates the return to come, in units of a `ReturnScale`, by a network."""

    @abc.abstractmethod
    def start(self, num_environments: int) -> Float[Array, "N d"]:
        """What is remembered before anything was seen."""

    @abc.abstractmethod
    def values(self, memory: Float[Array, "N d"], segment: Segment, laws: ActionLaws) -> Values:
        """The values along a segment."""

    @abc.abstractmethod
    def rescaled(self, before: ReturnScale, after: ReturnScale) -> "Critic":
        """The same values in units of another scale."""


class RecurrentCritic(Critic):
    """`V(o_1:t, a_1:t-1)`: a tanh layer on a recurrent memory, and on the policy's if wanted."""

    encoder: HistoryEncoder
    layers: Layers
    memory_size: int = eqx.field(static=True)

    def __init__(
        self,
        *,
        width: int,
        memory_size: int,
        encoding: Encoding,
        key: Key[Array, ""],
    ):
        """`width` is that of the recurrent memory and of the layer on top.

        `memory_size` is the length of the policy's memory, or 0 to do without it.
        """
        encoder_key, layers_key = jax.random.split(key)
        self.encoder = HistoryEncoder(width=width, encoding=encoding, key=encoder_key)
        self.layers = linear_layers(layers_key, width + memory_size, width, 1)
        self.memory_size = memory_size

    def start(self, num_environments: int) -> Float[Array, "N d"]:
        """Zeros."""
        return jnp.zeros((num_environments, self.encoder.width))

    def values(self, memory: Float[Array, "N d"], segment: Segment, laws: ActionLaws) -> Values:
        """Follow the segment; the value of what came next is a look one step ahead."""
        past = segment.past
        hidden = self.encoder.along(memory, segment.observations, past.action, past.first)
        never = jnp.zeros_like(segment.ended)
        ahead = self.encoder.step(hidden, segment.next_observations, segment.actions, never)
        return Values(
            self._output(hidden, laws.before), self._output(ahead, laws.after), hidden[-1]
        )

    def rescaled(self, before: ReturnScale, after: ReturnScale) -> "RecurrentCritic":
        """The same values in units of another scale."""
        layers = rescale_output(self.layers, before, after)
        return eqx.tree_at(lambda critic: critic.layers, self, layers)

    def _output(
        self, hidden: Float[Array, "*batch d"], remembered: Float[Array, "*batch m"]
    ) -> Float[Array, "*batch"]:
        remembered = jax.lax.stop_gradient(remembered[..., : self.memory_size])
        inputs = jnp.concatenate([hidden, remembered], axis=-1)
        return apply_layers(self.layers, inputs)[..., 0]


class MemoryCritic(Critic):
    """`V(c_{t-1}, a_{t-1}, o_t)`: reads the memory of the policy, and has none itself."""

    value: MemoryValue

    def start(self, num_environments: int) -> Float[Array, "N d"]:
        """It remembers nothing."""
        return jnp.zeros((num_environments, 0))

    def values(self, memory: Float[Array, "N d"], segment: Segment, laws: ActionLaws) -> Values:
        """Each from the memory of the policy at that step."""
        past = segment.past
        now = self.value(laws.before, past.action, past.first, segment.observations)
        never = jnp.zeros_like(segment.ended)
        following = self.value(laws.after, segment.actions, never, segment.next_observations)
        return Values(now, following, memory)

    def rescaled(self, before: ReturnScale, after: ReturnScale) -> "MemoryCritic":
        """The same values in units of another scale."""
        layers = rescale_output(self.value.layers, before, after)
        return MemoryCritic(eqx.tree_at(lambda value: value.layers, self.value, layers))
