"""The paper's estimator: sampled agent states, weighted scores."""

from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Shaped

from asmpg.gradients._episodes import Episodes
from asmpg.policies import ASMPolicy, KernelTables, log_probability

Kernels = TypeVar("Kernels", ASMPolicy, KernelTables)
#: How many time steps are differentiated at once.
_BLOCK = 40


class Spread(eqx.Module):
    """How undecided the kernels are, on average over the steps of a batch."""

    nu_entropy: Float[Array, ""]
    phi_entropy: Float[Array, ""]


def sampled_gradient(
    policy: ASMPolicy,
    episodes: Episodes,
    weights: Float[Array, "T N"],
    *,
    barrier: float = 0.0,
    tabulated: bool | None = None,
) -> tuple[ASMPolicy, Spread]:
    """The gradient of the objective by Theorems 1 and 2, averaged over the episodes.

    `g = 1/N sum_i sum_t W_t grad log pi(S_t, A_t | S_{t-1}, A_{t-1}, O_t)`, plus the gradient of
    the log-barrier: `barrier` times the average over all steps of the mean over `s` of
    `log nu(s | x_t)` and of the mean over `a` of `log phi(a | S_t)`.

    With finite observations the kernels have few inputs, and all of them are evaluated once
    (`tabulated`); the scores are then collected in the tables and pulled back through the networks.
    Otherwise, or if told so, they are evaluated step by step. Both give the same gradient.
    """
    if tabulated is None:
        tabulated = policy.num_observations is not None
    if tabulated:
        tables, pull_back = eqx.filter_vjp(lambda policy: policy.tabulate(), policy)
        cotangent, spread = _objective_gradient(tables, episodes, weights, barrier)
        (gradient,) = pull_back(cotangent)
    else:
        gradient, spread = _objective_gradient(policy, episodes, weights, barrier)
    return gradient, spread


def _objective_gradient(
    kernels: Kernels, episodes: Episodes, weights: Float[Array, "T N"], barrier: float
) -> tuple[Kernels, Spread]:
    """Differentiate block by block of time steps, as many as the longest episode needs."""
    count = episodes.running.sum(dtype=weights.dtype)
    num_episodes = weights.shape[1]
    rows = (
        episodes.memories,
        episodes.observations,
        episodes.states,
        episodes.actions,
        episodes.running,
        weights,
    )
    length = min(_BLOCK, weights.shape[0])
    blocks = jax.tree.map(lambda leaf: _in_blocks(leaf, length), rows)

    def objective(kernels: Kernels, index: Int[Array, ""]) -> tuple[Float[Array, ""], Spread]:
        memory, observation, state, action, running, weight = jax.tree.map(
            lambda leaf: leaf[index], blocks
        )
        log_nu, log_phi = kernels.log_rows(memory, observation, state)
        score = log_probability(log_nu, log_phi, state, action)
        pushed = log_nu.mean(axis=-1) + log_phi.mean(axis=-1)
        step = weight * score / num_episodes + barrier * pushed / count
        spread = Spread(
            *(jnp.sum(jnp.where(running, _entropy(law), 0.0)) / count for law in (log_nu, log_phi))
        )
        return jnp.sum(jnp.where(running, step, 0.0)), spread

    def add_block(index: Int[Array, ""], total: tuple[Kernels, Spread]) -> tuple[Kernels, Spread]:
        return jax.tree.map(
            jnp.add, total, eqx.filter_grad(objective, has_aux=True)(kernels, index)
        )

    zero = jax.tree.map(jnp.zeros_like, eqx.filter(kernels, eqx.is_inexact_array))
    nothing = Spread(jnp.zeros((), weights.dtype), jnp.zeros((), weights.dtype))
    needed = (episodes.longest + length - 1) // length
    return jax.lax.fori_loop(0, needed, add_block, (zero, nothing))


def _in_blocks(rows: Shaped[Array, "T *rest"], length: int) -> Shaped[Array, "B L *rest"]:
    """Cut the time axis into blocks, the last filled up with zeros."""
    padding = [(0, -len(rows) % length)] + [(0, 0)] * (rows.ndim - 1)
    return jnp.pad(rows, padding).reshape(-1, length, *rows.shape[1:])


def _entropy(log_law: Float[Array, "*batch n"]) -> Float[Array, "*batch"]:
    return -jnp.sum(jnp.exp(log_law) * log_law, axis=-1)
