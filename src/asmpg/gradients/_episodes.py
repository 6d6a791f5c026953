"""A batch of whole episodes, as the estimators want it."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Shaped

from asmpg.policies import AgentMemory


class Episodes(eqx.Module):
    """`N` episodes of at most `T` steps, time first.

    Row `t` (counted from 0) holds `O_{t+1}, S_{t+1}, A_{t+1}, r_{t+1}` and whether the episode
    still ran when they came about; what lies beyond its end means nothing.
    """

    observations: Shaped[Array, "T N *observation"]
    states: Int[Array, "T N"]
    actions: Int[Array, "T N"]
    rewards: Float[Array, "T N"]
    running: Bool[Array, "T N"]

    @property
    def memories(self) -> AgentMemory:
        """The memory each step starts from: `(S_{t-1}, A_{t-1})`, the dummy pair at first."""
        steps, episodes = self.states.shape
        time = jnp.broadcast_to(jnp.arange(steps, dtype=jnp.int32)[:, None], (steps, episodes))
        return AgentMemory(_delayed(self.states), _delayed(self.actions), time)

    @property
    def lengths(self) -> Int[Array, " N"]:
        """Steps in each episode."""
        return self.running.sum(axis=0, dtype=jnp.int32)

    def returns(self, discount: float) -> Float[Array, " N"]:
        """`sum_t discount^(t-1) r_t` of each episode."""
        discounting = discount ** jnp.arange(self.rewards.shape[0], dtype=self.rewards.dtype)
        return discounting @ jnp.where(self.running, self.rewards, 0.0)


def _delayed(rows: Int[Array, "T N"]) -> Int[Array, "T N"]:
    return jnp.concatenate([jnp.zeros_like(rows[:1]), rows[:-1]])
