"""Policies on recurrent networks, whichever they are: what a finite memory competes with."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, Shaped

from asmpg.policies._actor import Actor, draw
from asmpg.policies._filter import ActionDistributions
from asmpg.policies._history_policy import HistoryPolicy
from asmpg.policies._kernel_tables import AgentMemory
from asmpg.policies._networks import Encoding, Layers, apply_layers


class RecurrentMemory(eqx.Module):
    """The recurrent state, the last action, the number of actions played."""

    hidden: Float[Array, "*batch d"]
    action: Int[Array, "*batch"]
    time: Int[Array, "*batch"]


class RecurrentPolicy(HistoryPolicy):
    """Softmax of a tanh layer on the features that a recurrent network has of the history."""

    layers: eqx.AbstractVar[Layers]

    @abc.abstractmethod
    def step(
        self,
        hidden: Float[Array, "*batch d"],
        observation: Shaped[Array, "*batch_and_observation"],
        previous_action: Int[Array, "*batch"],
        first: Bool[Array, "*batch"],
    ) -> tuple[Float[Array, "*batch d"], Float[Array, "*batch n"]]:
        """Take in `O_t`: the recurrent state, and the features.

        Where `first`, what was remembered and done before is forgotten.
        """

    @abc.abstractmethod
    def along(
        self,
        hidden: Float[Array, "N d"],
        observations: Shaped[Array, "T N *observation"],
        previous_actions: Int[Array, "T N"],
        first: Bool[Array, "T N"],
    ) -> tuple[Float[Array, "T N d"], Float[Array, "T N n"]]:
        """What `step` gives at each of `T` observations."""

    def actor(self, *, greedy: bool = False) -> "RecurrentActor":
        """Acts on the recurrent state."""
        return RecurrentActor(self, greedy)

    def distributions(
        self,
        memory: RecurrentMemory,
        past: AgentMemory,
        observations: Shaped[Array, "T N *observation"],
        actions: Int[Array, "T N"],
    ) -> ActionDistributions:
        """Run the network along the histories; what is remembered are its states."""
        del actions
        after, features = self.along(memory.hidden, observations, past.action, past.first)
        earlier = jnp.concatenate([memory.hidden[None], after[:-1]])
        before = jnp.where(past.first[..., None], 0, earlier)
        return ActionDistributions(self.log_probabilities(features), before, after)

    def log_probabilities(self, features: Float[Array, "*batch n"]) -> Float[Array, "*batch A"]:
        """`log p(a)` after a history with these features."""
        return jax.nn.log_softmax(apply_layers(self.layers, features))


class RecurrentActor(Actor[RecurrentMemory]):
    """Draws actions from the network's distribution."""

    policy: RecurrentPolicy
    greedy: bool = eqx.field(static=True)

    def start(self, key: Key[Array, ""]) -> RecurrentMemory:
        """A state of zeros."""
        del key
        zero = jnp.zeros((), jnp.int32)
        return RecurrentMemory(jnp.zeros(self.policy.memory_size), zero, zero)

    def act(
        self,
        memory: RecurrentMemory,
        observation: Shaped[Array, "*observation"],
        reward: Float[Array, ""],
        uniforms: Float[Array, "2"],
    ) -> RecurrentMemory:
        """Take in the observation and draw an action. Rewards are not looked at."""
        del reward
        first = memory.time == 0
        hidden, features = self.policy.step(memory.hidden, observation, memory.action, first)
        probabilities = jnp.exp(self.policy.log_probabilities(features))
        action = draw(probabilities, uniforms[1], greedy=self.greedy)
        return RecurrentMemory(hidden, action, memory.time + 1)


def history_inputs(
    encoding: Encoding,
    observation: Shaped[Array, "*batch_and_observation"],
    previous_action: Int[Array, "*batch"],
    first: Bool[Array, "*batch"],
    dtype: jnp.dtype,
) -> Float[Array, "*batch n"]:
    """What a network reads at each step: `O_t`, and `A_{t-1}`, zeros where there was none."""
    seen = encoding.observation(observation, dtype)
    action = encoding.action(previous_action, dtype)
    return jnp.concatenate([seen, jnp.where(first[..., None], 0, action)], axis=-1)
