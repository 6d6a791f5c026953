"""How agent states are used: counted along the way, by whoever plays."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import entr
from jaxtyping import Array, Bool, Float, Key, Shaped

from asmpg.policies._actor import Actor, ASMActor
from asmpg.policies._filter import FilterActor
from asmpg.policies._heads import ActionHead
from asmpg.policies._policy import ASMPolicy

#: An agent state is in use if it takes up this share of all steps.
STATE_IN_USE = 0.01


class MemoryUse(eqx.Module):
    """Sums over the steps of an episode: the entropy of `nu` in nats, and visits of agent states.

    Where an agent filters, both are expectations under its belief.
    """

    entropy: Float[Array | np.ndarray, "*batch"]
    visits: Float[Array | np.ndarray, "*batch S"]

    @property
    def mean_entropy(self) -> Any:
        """That of a step, over all episodes."""
        return self.entropy.sum() / self.visits.sum()

    @property
    def states_in_use(self) -> Any:
        """How many agent states take up at least a hundredth of the steps of all episodes."""
        visits = self.visits.reshape(-1, self.visits.shape[-1]).sum(axis=0)
        return (visits >= STATE_IN_USE * visits.sum()).sum().astype(np.float32)


class WatchedMemory(eqx.Module):
    """A memory, and how it was used since the episode started."""

    memory: Any
    use: MemoryUse

    @property
    def action(self) -> Shaped[Array, "*batch_and_action"]:
        """The action chosen last."""
        return self.memory.action


class WatchedActor(Actor[WatchedMemory]):
    """Plays as `player` does, which draws agent states or filters them, and counts their use."""

    player: ASMActor | FilterActor
    num_states: int = eqx.field(static=True)

    @property
    def head(self) -> ActionHead:
        return self.player.head

    def start(self, key: Key[Array, ""]) -> WatchedMemory:
        unused = MemoryUse(jnp.zeros(()), jnp.zeros(self.num_states))
        return WatchedMemory(self.player.start(key), unused)

    def act(
        self,
        memory: WatchedMemory,
        observation: Shaped[Array, "*observation"],
        reward: Float[Array, ""],
        uniforms: Float[Array, " draws"],
        mask: Bool[Array, " M"] | None = None,
    ) -> WatchedMemory:
        before, use = memory.memory, memory.use
        after: Any = self.player.act(before, observation, reward, uniforms, mask)
        if isinstance(self.player, FilterActor):
            nu = self.player.kernels.updates(before.past, observation)
            entropy, visited = before.belief @ entr(nu).sum(axis=-1), after.belief
        else:
            nu = self.player.nu(before, observation)
            entropy, visited = entr(nu).sum(), jax.nn.one_hot(after.state, self.num_states)
        return WatchedMemory(after, MemoryUse(use.entropy + entropy, use.visits + visited))


def watched(actor: Actor[Any], kernels: ASMPolicy | None) -> Actor[Any]:
    """`actor`, its use of agent states counted; as it is where it has none."""
    if kernels is None or not isinstance(actor, ASMActor | FilterActor):
        return actor
    return WatchedActor(actor, kernels.num_states)
