"""The paper's estimator: sampled agent states, weighted scores."""

from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from asmpg.gradients._episodes import Episodes
from asmpg.policies import ASMPolicy, KernelTables, log_probability

Kernels = TypeVar("Kernels", ASMPolicy, KernelTables)
#: How many steps are differentiated at once.
_BLOCK = 128


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
    """Differentiate block by block of steps, as many blocks as there are steps to fill them."""
    num_episodes = weights.shape[1]
    order, count = _running_first(episodes.running)
    rows = (
        episodes.memories,
        episodes.observations,
        episodes.states,
        episodes.actions,
        weights,
    )

    def objective(kernels: Kernels, index: Int[Array, ""]) -> tuple[Float[Array, ""], Spread]:
        place = index * _BLOCK + jnp.arange(_BLOCK)
        chosen = order[place]
        memory, observation, state, action, weight = jax.tree.map(
            lambda leaf: leaf.reshape(-1, *leaf.shape[2:])[chosen], rows
        )
        log_nu, log_phi = kernels.log_rows(memory, observation, state)
        score = log_probability(log_nu, log_phi, state, action)
        pushed = log_nu.mean(axis=-1) + log_phi.mean(axis=-1)
        step = weight * score / num_episodes + barrier * pushed / count
        running = place < count
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
    needed = (count + _BLOCK - 1) // _BLOCK
    return jax.lax.fori_loop(0, needed, add_block, (zero, nothing))


def _running_first(running: Bool[Array, "T N"]) -> tuple[Int[Array, " P"], Int[Array, ""]]:
    """Where the steps of running episodes are, packed together, and how many there are.

    The list is filled up to a whole number of blocks.
    """
    ran = running.reshape(-1)
    place = jnp.where(ran, jnp.cumsum(ran) - 1, ran.size)
    packed = jnp.zeros(ran.size + -ran.size % _BLOCK, jnp.int32)
    order = packed.at[place].set(jnp.arange(ran.size, dtype=jnp.int32), mode="drop")
    return order, ran.sum(dtype=jnp.int32)


def _entropy(log_law: Float[Array, "*batch n"]) -> Float[Array, "*batch"]:
    return -jnp.sum(jnp.exp(log_law) * log_law, axis=-1)
