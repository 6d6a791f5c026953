"""The exact value of a policy on a non-Markovian process, its gradient and its Hessian."""

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from asmpg.environments import NMDP
from asmpg.policies import ASMPolicy, KernelTables


def history_visits(nmdp: NMDP, tables: KernelTables) -> list[Float[Array, "_ S A"]]:
    """`d_t(h, s, a)`, the probability of history `h`, agent state `s` and action `a` at step `t`.

    `d_{t+1}((h, a, o), s', a') = sum_s d_t(h, s, a) p_t(o | h, a) pi_{t+1}(s', a' | s, a, o)`.
    Differentiable in the tables, and in the arrays of `nmdp` if they are traced.
    """
    symbols = nmdp.num_observations
    first = tables.joint()[0, :symbols]
    visits = [jnp.asarray(nmdp.start)[:, None, None] * first]
    for time, transition in enumerate(nmdp.transitions, start=1):
        kernel = _update_kernel(tables, time)
        following = jnp.einsum("hsa,hao,saotb->haotb", visits[-1], transition, kernel)
        visits.append(following.reshape(-1, *following.shape[-2:]))
    return visits


def history_value(
    nmdp: NMDP, tables: KernelTables, *, discount: Float[Array, ""] | float = 1.0
) -> Float[Array, ""]:
    """`J = E[sum_t discount^(t-1) r_t]`, exact and differentiable."""
    paid = [
        discount**time * jnp.sum(visits.sum(axis=1) * rewards)
        for time, (visits, rewards) in enumerate(
            zip(history_visits(nmdp, tables), nmdp.rewards, strict=True)
        )
    ]
    return jnp.stack(paid).sum()


def history_q(
    nmdp: NMDP, tables: KernelTables, *, discount: Float[Array, ""] | float = 1.0
) -> list[Float[Array, "_ S A"]]:
    """`Q_t(o_{1:t}, a_{0:t}, s_t)` for every history, agent state and action, backwards.

    `Q_t(h, s, a) = r_t(h, a) + discount sum_o p_t(o | h, a) sum_{s', a'} pi_{t+1}(s', a' | s, a, o)
    Q_{t+1}((h, a, o), s', a')`.
    """
    states, actions, symbols = tables.num_states, nmdp.num_actions, nmdp.num_observations

    def paid(time: int) -> Float[Array, "_ S A"]:
        rewards = jnp.asarray(nmdp.rewards[time])[:, None, :]
        return jnp.broadcast_to(rewards, (rewards.shape[0], states, actions))

    values = [paid(nmdp.horizon - 1)]
    for time in reversed(range(nmdp.horizon - 1)):
        following = values[0].reshape(-1, actions, symbols, states, actions)
        kernel = _update_kernel(tables, time + 1)
        ahead = jnp.einsum("hao,saotb,haotb->hsa", nmdp.transitions[time], kernel, following)
        values.insert(0, paid(time) + discount * ahead)
    return values


def history_optimum(nmdp: NMDP, *, discount: float | Float[Array, ""] = 1.0) -> float:
    """The best value any policy can have that remembers the whole history."""
    value = np.zeros(1)
    for time in reversed(range(nmdp.horizon)):
        ahead = np.zeros_like(nmdp.rewards[time])
        if time + 1 < nmdp.horizon:
            transition = nmdp.transitions[time]
            ahead = (transition * value.reshape(transition.shape)).sum(axis=-1)
        value = (nmdp.rewards[time] + discount * ahead).max(axis=-1)
    return float(nmdp.start @ value)


def _update_kernel(tables: KernelTables, time: int) -> Float[Array, "S A O S A"]:
    """`pi_{t+1}(s', a' | s, a, o)` for the step after `time` actions."""
    kernel = tables.joint()
    kernel = kernel[time if kernel.shape[0] > 1 else 0, tables.num_observations :]
    states, actions = tables.num_states, tables.num_actions
    return kernel.reshape(states, actions, tables.num_observations, states, actions)


class HistoryDerivatives(eqx.Module):
    """`J`, `grad J` and `grad^2 J` in float64, in the order of `jax.flatten_util.ravel_pytree`."""

    value: float
    gradient: Float[np.ndarray, " d"]
    hessian: Float[np.ndarray, "d d"]


def history_derivatives(
    nmdp: NMDP, policy: ASMPolicy, *, discount: float | Float[Array, ""] = 1.0
) -> HistoryDerivatives:
    """Differentiate the recursion over histories twice, whatever the precision of `policy`."""
    arrays, rest = eqx.partition(policy, eqx.is_inexact_array)
    numbers = jax.tree.map(np.asarray, arrays)
    with jax.enable_x64(True):
        double = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float64), numbers)
        vector, unravel = jax.flatten_util.ravel_pytree(double)

        def value(vector: Float[Array, " d"]) -> Float[Array, ""]:
            tables = eqx.combine(unravel(vector), rest).tabulate()
            return history_value(nmdp, tables, discount=discount)

        @jax.jit
        def all_three(vector: Float[Array, " d"]) -> tuple[Array, Array, Array]:
            return (*jax.value_and_grad(value)(vector), jax.hessian(value)(vector))

        objective, gradient, hessian = all_three(vector)
        return HistoryDerivatives(float(objective), np.asarray(gradient), np.asarray(hessian))
