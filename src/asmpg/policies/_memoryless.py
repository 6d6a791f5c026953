"""No memory at all: the yardstick that any memory has to beat."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, Shaped

from asmpg.policies._actor import AgentMemoryActor, draw
from asmpg.policies._filter import ActionDistributions
from asmpg.policies._history_policy import HistoryPolicy
from asmpg.policies._kernel_tables import AgentMemory, KernelTables
from asmpg.policies._networks import Encoding, Layers, apply_layers, linear_layers


class MemorylessPolicy(HistoryPolicy):
    """`p(a | O_t)`: a softmax table where observations are finite, else a tanh network."""

    logits: Float[Array, "O A"] | None
    layers: Layers | None
    encoding: Encoding = eqx.field(static=True)

    def __init__(
        self,
        *,
        encoding: Encoding,
        hidden: int = 64,
        key: Key[Array, ""],
    ):
        """The table starts at zero; the network has two hidden layers of width `hidden`."""
        self.logits = self.layers = None
        size, num_actions = encoding.observation_size, encoding.num_actions
        if encoding.num_observations is None:
            self.layers = linear_layers(key, size, hidden, hidden, num_actions)
        else:
            self.logits = jnp.zeros((size, num_actions))
        self.encoding = encoding

    def actor(self, *, greedy: bool = False) -> "MemorylessActor":
        """Acts on the last observation."""
        return MemorylessActor(self, greedy)

    @property
    def memory_size(self) -> int:
        """Nothing."""
        return 0

    def distributions(
        self,
        memory: AgentMemory,
        past: AgentMemory,
        observations: Shaped[Array, "T N *observation"],
        actions: Int[Array, "T N"],
    ) -> ActionDistributions:
        """Nothing is remembered."""
        del memory, past
        log_probabilities = self.log_probabilities(observations)
        nothing = jnp.zeros((*actions.shape, 0), log_probabilities.dtype)
        return ActionDistributions(log_probabilities, nothing, nothing)

    def log_probabilities(
        self, observation: Shaped[Array, "*batch_and_observation"]
    ) -> Float[Array, "*batch A"]:
        """`log p(a | o)` for every action."""
        if self.logits is not None:
            return jax.nn.log_softmax(self.logits[observation])
        assert self.layers is not None
        seen = self.encoding.observation(observation, self.layers[0].weight.dtype)
        return jax.nn.log_softmax(apply_layers(self.layers, seen))

    def tables(self) -> KernelTables | None:
        """As an ASM policy whose agent state is the last observation, where those are finite."""
        if self.logits is None:
            return None
        return KernelTables.memoryless(jax.nn.softmax(self.logits))


class MemorylessActor(AgentMemoryActor):
    """Draws actions given the last observation."""

    policy: MemorylessPolicy
    greedy: bool = eqx.field(static=True)

    def act(
        self,
        memory: AgentMemory,
        observation: Shaped[Array, "*observation"],
        reward: Float[Array, ""],
        uniforms: Float[Array, "2"],
    ) -> AgentMemory:
        """Draw an action; it is all that is noted down."""
        del reward
        probabilities = jnp.exp(self.policy.log_probabilities(observation))
        return AgentMemory(
            memory.state, draw(probabilities, uniforms[1], greedy=self.greedy), memory.time + 1
        )
