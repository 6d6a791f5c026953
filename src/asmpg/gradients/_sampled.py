"""The paper's estimator: sampled agent states, weighted scores."""

from collections.abc import Callable
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from asmpg.experience import Experience
from asmpg.gradients._barrier import (
    BarrierForm,
    entropy,
    pushed_everywhere,
    pushed_nu,
    pushed_phi,
)
from asmpg.policies import ASMPolicy, KernelTables, log_probability

Kernels = TypeVar("Kernels", ASMPolicy, KernelTables)
#: How many steps are differentiated at once.
_BLOCK = 128


class Spread(eqx.Module):
    """How undecided the kernels are, on average over the steps of a batch."""

    nu_entropy: Float[Array, "*steps"]
    phi_entropy: Float[Array, "*steps"]


#: The objective and the entropies of each of some steps, given the kernels.
StepTerms = Callable[[Any, Any], tuple[Float[Array, " B"], Spread]]


def gradient_over_steps(
    policy: ASMPolicy,
    rows: Any,
    running: Bool[Array, "T N"],
    terms: StepTerms,
    *,
    tabulated: bool,
) -> tuple[ASMPolicy, Spread]:
    """The gradient of the sum of `terms(kernels, row)` over all steps of running episodes.

    `rows` is anything with leading axes `T N`. The kernels handed to `terms` are the policy itself,
    or its tables: these are then evaluated once, and their gradient is pulled back through the
    networks. Both give the same gradient. The entropies are averaged.
    """
    if not tabulated:
        return _gradient(policy, rows, running, terms)
    tables, pull_back = eqx.filter_vjp(lambda policy: policy.tabulate(), policy)
    cotangent, spread = _gradient(tables, rows, running, terms)
    (gradient,) = pull_back(cotangent)
    return gradient, spread


def is_tabulated(policy: ASMPolicy, wish: bool | None) -> bool:
    """Whether to work on tables: as wished, else where the policy has any."""
    return policy.tabulates if wish is None else wish


def _gradient(
    kernels: Kernels, rows: Any, running: Bool[Array, "T N"], terms: StepTerms
) -> tuple[Kernels, Spread]:
    """As many blocks as there are steps to fill them."""
    order, count = _running_first(running)

    def objective(kernels: Kernels, index: Int[Array, ""]) -> tuple[Float[Array, ""], Spread]:
        place = index * _BLOCK + jnp.arange(_BLOCK)
        chosen = order[place]
        block = jax.tree.map(lambda leaf: jax.lax.collapse(leaf, 0, 2)[chosen], rows)
        value, spread = terms(kernels, block)
        here = place < count
        value, spread = jax.tree.map(
            lambda steps: jnp.sum(jnp.where(here, steps, 0.0)), (value, spread)
        )
        return value, jax.tree.map(lambda total: total / count, spread)

    def add_block(index: Int[Array, ""], total: tuple[Kernels, Spread]) -> tuple[Kernels, Spread]:
        return jax.tree.map(
            jnp.add, total, eqx.filter_grad(objective, has_aux=True)(kernels, index)
        )

    real = jnp.result_type(*jax.tree.leaves(eqx.filter(kernels, eqx.is_inexact_array)))
    zero = jax.tree.map(jnp.zeros_like, eqx.filter(kernels, eqx.is_inexact_array))
    nothing = Spread(jnp.zeros((), real), jnp.zeros((), real))
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


def sampled_gradient(
    policy: ASMPolicy,
    episodes: Experience,
    weights: Float[Array, "T N"],
    *,
    barrier: float | Float[Array, ""] = 0.0,
    barrier_form: BarrierForm = "visited-mean",
    tabulated: bool | None = None,
) -> tuple[ASMPolicy, Spread]:
    """The gradient of the objective by Theorems 1 and 2, averaged over the episodes.

    `g = 1/N sum_i sum_t W_t grad log pi(S_t, A_t | S_{t-1}, A_{t-1}, O_t)`, plus the gradient of
    the log-barrier: `barrier` times the average over all steps of the mean over `s` of
    `log nu(s | x_t)` and of the mean over `a` of `log phi(a | S_t)`, or of another `BarrierForm`.

    With finite observations the kernels have few inputs, and all of them are evaluated once
    (`tabulated`); the scores are then collected in the tables and pulled back through the networks.
    Otherwise, or if told so, they are evaluated step by step. Both give the same gradient.
    """
    num_episodes, steps = weights.shape[1], episodes.valid.sum()
    shares = num_episodes if barrier_form == "visited-sum" else steps

    head = policy.head

    def terms(kernels: Any, row: Any) -> tuple[Float[Array, " B"], Spread]:
        memory, observation, state, action, mask, weight = row
        log_nu, log_phi = kernels.log_rows(memory, observation, state)
        if barrier_form == "all-inputs":
            pushed = pushed_everywhere(kernels, memory, observation)
        else:
            pushed = pushed_nu(barrier_form, log_nu) + pushed_phi(barrier_form, head, log_phi)
        if mask is not None:
            log_phi = head.masked(log_phi, mask)
        score = log_probability(head, log_nu, log_phi, state, action)
        value = weight * score / num_episodes + barrier * pushed / shares
        return value, Spread(entropy(log_nu), head.entropy(log_phi))

    rows = (
        episodes.past,
        episodes.observations,
        episodes.memories.state,
        episodes.actions,
        episodes.masks,
        weights,
    )
    return gradient_over_steps(
        policy, rows, episodes.valid, terms, tabulated=is_tabulated(policy, tabulated)
    )
