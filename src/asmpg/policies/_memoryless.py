"""No memory at all: the yardstick that any memory has to beat."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key, Shaped

from asmpg.policies._action_head import ActionHead
from asmpg.policies._actor import AgentMemoryActor, draw_action
from asmpg.policies._filter import ActionDistributions
from asmpg.policies._history_policy import HistoryPolicy
from asmpg.policies._kernel_tables import AgentMemory, KernelTables
from asmpg.policies._networks import Encoding, Layers, apply_layers, linear_layers


class MemorylessPolicy(HistoryPolicy):
    """`p(a | O_t)`: a softmax table where observations are finite, else a tanh network."""

    logits: Float[Array, "O A"] | None
    layers: Layers | None
    encoding: Encoding

    def __init__(
        self,
        *,
        encoding: Encoding,
        hidden: int = 64,
        key: Key[Array, ""],
    ):
        """The table starts at zero; the network has two hidden layers of width `hidden`."""
        self.logits = self.layers = None
        size, outputs = encoding.observation_size, encoding.head.size
        if encoding.num_observations is None:
            self.layers = linear_layers(key, size, hidden, hidden, outputs)
        else:
            self.logits = jnp.zeros((size, outputs))
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
        actions: Shaped[Array, "T N *action"],
        masks: Bool[Array, "T N M"] | None = None,
    ) -> ActionDistributions:
        """Nothing is remembered."""
        del memory
        numbers = self.numbers(observations)
        nothing = jnp.zeros((*past.time.shape, 0), numbers.dtype)
        return ActionDistributions.of_numbers(
            self.encoding.head, numbers, actions, nothing, nothing, masks
        )

    def numbers(
        self, observation: Shaped[Array, "*batch_and_observation"]
    ) -> Float[Array, "*batch P"]:
        """The distribution of the action, as the head takes it."""
        if self.logits is not None:
            return self.logits[observation]
        assert self.layers is not None
        seen = self.encoding.observation(observation, self.layers[0].weight.dtype)
        return apply_layers(self.layers, seen)

    def tables(self) -> KernelTables | None:
        """As an ASM policy whose agent state is the last observation, where those are finite."""
        if self.logits is None or not self.encoding.num_actions:
            return None
        return KernelTables.memoryless(jax.nn.softmax(self.logits))


class MemorylessActor(AgentMemoryActor):
    """Draws actions given the last observation."""

    policy: MemorylessPolicy
    greedy: bool = eqx.field(static=True)

    @property
    def head(self) -> ActionHead:
        return self.policy.encoding.head

    def act(
        self,
        memory: AgentMemory,
        observation: Shaped[Array, "*observation"],
        reward: Float[Array, ""],
        uniforms: Float[Array, " draws"],
        mask: Bool[Array, " M"] | None = None,
    ) -> AgentMemory:
        """Draw an action; it is all that is remembered."""
        del reward
        action = draw_action(
            self.head, self.policy.numbers(observation), uniforms, mask, greedy=self.greedy
        )
        return AgentMemory(memory.state, action, memory.time + 1)
