"""Policies on recurrent networks, whichever they are: what a finite memory competes with."""

import abc

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, Shaped

from asmpg.policies._action_head import ActionHead
from asmpg.policies._actor import Actor, draw_action
from asmpg.policies._filter import ActionDistributions
from asmpg.policies._history_policy import HistoryPolicy
from asmpg.policies._kernel_tables import AgentMemory
from asmpg.policies._networks import Encoding, Layers, apply_layers


class RecurrentMemory(eqx.Module):
    """The recurrent state, the last action, the number of actions played."""

    hidden: Float[Array, "*batch d"]
    action: Shaped[Array, "*batch_and_action"]
    time: Int[Array, "*batch"]


class RecurrentPolicy(HistoryPolicy):
    """A tanh layer on the features that a recurrent network has of the history, and a head."""

    layers: eqx.AbstractVar[Layers]

    @property
    @abc.abstractmethod
    def head(self) -> ActionHead:
        """What actions are."""

    @abc.abstractmethod
    def step(
        self,
        hidden: Float[Array, "*batch d"],
        observation: Shaped[Array, "*batch_and_observation"],
        previous_action: Shaped[Array, "*batch_and_action"],
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
        previous_actions: Shaped[Array, "T N *action"],
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
        actions: Shaped[Array, "T N *action"],
        masks: Bool[Array, "T N M"] | None = None,
    ) -> ActionDistributions:
        """Run the network along the histories; what is remembered are its states."""
        after, features = self.along(memory.hidden, observations, past.action, past.first)
        earlier = jnp.concatenate([memory.hidden[None], after[:-1]])
        before = jnp.where(past.first[..., None], 0, earlier)
        numbers = apply_layers(self.layers, features)
        return ActionDistributions.of_numbers(self.head, numbers, actions, before, after, masks)


class RecurrentActor(Actor[RecurrentMemory]):
    """Draws actions from the network's distribution."""

    policy: RecurrentPolicy
    greedy: bool = eqx.field(static=True)

    @property
    def head(self) -> ActionHead:
        return self.policy.head

    def start(self, key: Key[Array, ""]) -> RecurrentMemory:
        """A state of zeros."""
        del key
        nothing = jnp.zeros(self.policy.memory_size)
        return RecurrentMemory(nothing, self.head.blank(), jnp.zeros((), jnp.int32))

    def act(
        self,
        memory: RecurrentMemory,
        observation: Shaped[Array, "*observation"],
        reward: Float[Array, ""],
        uniforms: Float[Array, " draws"],
        mask: Bool[Array, " M"] | None = None,
    ) -> RecurrentMemory:
        """Take in the observation and draw an action. Rewards are not looked at."""
        del reward
        first = memory.time == 0
        hidden, features = self.policy.step(memory.hidden, observation, memory.action, first)
        numbers = apply_layers(self.policy.layers, features)
        action = draw_action(self.head, numbers, uniforms, mask, greedy=self.greedy)
        return RecurrentMemory(hidden, action, memory.time + 1)


def history_inputs(
    encoding: Encoding,
    observation: Shaped[Array, "*batch_and_observation"],
    previous_action: Shaped[Array, "*batch_and_action"],
    first: Bool[Array, "*batch"],
    dtype: jnp.dtype,
) -> Float[Array, "*batch n"]:
    """What a network reads at each step: `O_t`, and `A_{t-1}`, zeros where there was none."""
    seen = encoding.observation(observation, dtype)
    action = encoding.action(previous_action, dtype)
    return jnp.concatenate([seen, jnp.where(first[..., None], 0, action)], axis=-1)
