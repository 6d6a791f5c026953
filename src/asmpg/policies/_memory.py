"""What an ASM policy carries from one step to the next."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int


class AgentMemory(eqx.Module):
    """The pair `(S_{t-1}, A_{t-1})` and the number of actions played so far, `t - 1`.

    At the start of an episode the pair is the dummy `(s_0, a_0)`: `time` is zero, and state and
    action, zero as well, mean nothing.
    """

    state: Int[Array, "*batch"]
    action: Int[Array, "*batch"]
    time: Int[Array, "*batch"]

    @classmethod
    def empty(cls, batch: tuple[int, ...] = ()) -> "AgentMemory":
        """The memory of one who has seen nothing yet."""
        zero = jnp.zeros(batch, jnp.int32)
        return cls(zero, zero, zero)

    @property
    def first(self) -> Bool[Array, "*batch"]:
        """Whether the pair is the dummy pair."""
        return self.time == 0
