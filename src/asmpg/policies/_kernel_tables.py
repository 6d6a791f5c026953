"""An ASM policy over finite spaces, written out as probability tables."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.typing import ArrayLike


class KernelTables(eqx.Module):
    """The kernels `nu` and `phi` on every input.

    - `nu_start[o, s]`: probability of `S_1 = s` on seeing `O_1 = o`, that is
      `nu(s | s_0, a_0, o)` with the dummy pair `(s_0, a_0)`;
    - `nu[s, a, o, s']`: probability of `S_{t+1} = s'` after `S_t = s`, `A_t = a`, `O_{t+1} = o`;
    - `phi[s, a]`: probability of `A_t = a` in agent state `s`.
    """

    nu_start: Float[Array, "O S"]
    nu: Float[Array, "S A O S"]
    phi: Float[Array, "S A"]

    @classmethod
    def deterministic(
        cls, *, start: ArrayLike, update: ArrayLike, control: ArrayLike, num_actions: int
    ) -> "KernelTables":
        """A finite-state controller: `start[o]`, `update[s, a, o]` and `control[s]`, as indices."""
        num_states = len(np.asarray(control))
        return cls(
            jnp.asarray(np.eye(num_states)[np.asarray(start)]),
            jnp.asarray(np.eye(num_states)[np.asarray(update)]),
            jnp.asarray(np.eye(num_actions)[np.asarray(control)]),
        )

    @classmethod
    def memoryless(cls, policy: Float[Array, "O A"]) -> "KernelTables":
        """The policy `policy[o, a]`, whose agent state is the last observation."""
        num_observations, num_actions = policy.shape
        last = jnp.eye(num_observations, dtype=policy.dtype)
        shape = (num_observations, num_actions, num_observations, num_observations)
        return cls(last, jnp.broadcast_to(last, shape), policy)
