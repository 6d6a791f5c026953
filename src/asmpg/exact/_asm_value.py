"""The exact value of an ASM policy on a finite model, differentiable in the policy."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from asmpg.envs import FiniteModel
from asmpg.exact._returns import ExactReturns
from asmpg.policies import KernelTables


def exact_returns(
    model: FiniteModel, tables: KernelTables, *, horizon: int, discount: float
) -> ExactReturns:
    """Push the law of (latent state, agent state) forward `horizon` steps.

    With `d_t(x, s)` the probability that the episode still runs and `X_t = x, S_t = s`,

    `d_{t+1}(x', s') = sum_{x, s, a, o} d_t(x, s) phi(a|s) T(x'|x, a) O(o|a, x') nu(s'|s, a, o)`

    and the reward at step `t` is `sum_{x, s, a} d_t(x, s) phi(a|s) r(x, a)`. Computed in the
    precision of `tables`; use float64 tables under `jax.enable_x64(True)` for all digits.
    """
    dtype = tables.phi.dtype
    alive = np.flatnonzero(~model.terminal)
    transition = jnp.asarray(model.transition[alive][:, :, alive], dtype)
    observation = jnp.asarray(model.observation[:, alive], dtype)
    start = jnp.asarray(model.start[alive, None] * model.start_observation[alive], dtype)
    rewards = jnp.asarray(model.expected_reward[alive], dtype)

    update = jnp.einsum("ayo,saot->ayst", observation, tables.nu)
    kernel = jnp.einsum("sa,xay,ayst->xsyt", tables.phi, transition, update)
    size = len(alive) * tables.phi.shape[0]
    kernel = kernel.reshape(size, size)
    reward = jnp.einsum("sa,xa->xs", tables.phi, rewards).reshape(size)

    def push(
        law: Float[Array, " N"], discounting: Float[Array, ""]
    ) -> tuple[Float[Array, " N"], Float[Array, "3"]]:
        paid, running = law @ reward, law.sum()
        return law @ kernel, jnp.stack([discounting * paid, paid, running])

    first = (start @ tables.nu_start).reshape(size)
    last, steps = jax.lax.scan(push, first, discount ** jnp.arange(horizon, dtype=dtype))
    discounted, undiscounted, length = steps.sum(axis=0)
    return ExactReturns(discounted, undiscounted, length, 1 - last.sum())
