"""The peer of a finite memory: a recurrent network with a policy on top."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, Shaped

from asmpg.policies._action_laws import ActionLaws
from asmpg.policies._actor import Actor, draw
from asmpg.policies._encoding import Encoding
from asmpg.policies._history_policy import HistoryPolicy
from asmpg.policies._layers import Layers, apply_layers, linear_layers, scale_last
from asmpg.policies._memory import AgentMemory
from asmpg.policies._recurrent import HistoryEncoder


class RecurrentMemory(eqx.Module):
    """The recurrent state, the last action, the number of actions played."""

    hidden: Float[Array, "*batch d"]
    action: Int[Array, "*batch"]
    time: Int[Array, "*batch"]


class GRUPolicy(HistoryPolicy):
    """Softmax of a tanh layer on the state of a `HistoryEncoder`; starts near uniform."""

    encoder: HistoryEncoder
    layers: Layers

    def __init__(
        self,
        *,
        width: int,
        encoding: Encoding,
        key: Key[Array, ""],
    ):
        """`width` is that of the recurrent state and of the layer on top."""
        encoder_key, layers_key = jax.random.split(key)
        self.encoder = HistoryEncoder(width=width, encoding=encoding, key=encoder_key)
        layers = linear_layers(layers_key, width, width, encoding.num_actions)
        self.layers = scale_last(layers, 0.01)

    def actor(self, *, greedy: bool = False) -> "GRUActor":
        """Acts on the recurrent state."""
        return GRUActor(self, greedy)

    @property
    def memory_size(self) -> int:
        """That of the recurrent state."""
        return self.encoder.width

    def laws(
        self,
        memory: RecurrentMemory,
        past: AgentMemory,
        observations: Shaped[Array, "T N *observation"],
        actions: Int[Array, "T N"],
    ) -> ActionLaws:
        """Run the network along the histories; what is remembered are its states."""
        del actions
        after = self.encoder.along(memory.hidden, observations, past.action, past.first)
        earlier = jnp.concatenate([memory.hidden[None], after[:-1]])
        before = jnp.where(past.first[..., None], 0, earlier)
        return ActionLaws(self.log_law(after), before, after)

    def log_law(self, hidden: Float[Array, "*batch d"]) -> Float[Array, "*batch A"]:
        """`log p(a)` in a recurrent state."""
        return jax.nn.log_softmax(apply_layers(self.layers, hidden))


class GRUActor(Actor[RecurrentMemory]):
    """Draws actions from the network's law."""

    policy: GRUPolicy
    greedy: bool = eqx.field(static=True)

    def start(self, key: Key[Array, ""]) -> RecurrentMemory:
        """A state of zeros."""
        del key
        zero = jnp.zeros((), jnp.int32)
        return RecurrentMemory(jnp.zeros(self.policy.encoder.width), zero, zero)

    def act(
        self,
        memory: RecurrentMemory,
        observation: Shaped[Array, "*observation"],
        reward: Float[Array, ""],
        uniforms: Float[Array, "2"],
    ) -> RecurrentMemory:
        """Take in the observation and draw an action. Rewards are not looked at."""
        del reward
        hidden = self.policy.encoder.step(
            memory.hidden, observation, memory.action, memory.time == 0
        )
        law = jnp.exp(self.policy.log_law(hidden))
        action = draw(law, uniforms[1], greedy=self.greedy)
        return RecurrentMemory(hidden, action, memory.time + 1)
