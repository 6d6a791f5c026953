"""The term that keeps probabilities away from zero, in the forms that it is written down in."""

from typing import Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Shaped

from asmpg.policies import ActionHead, AgentMemory, ASMPolicy, KernelTables

#: - `"visited-mean"`: the mean over all steps of the mean of `log nu` and that of `log phi`;
#: - `"visited-sum"`: their sum over the steps of an episode, averaged over episodes;
#: - `"all-inputs"`: their mean over all inputs, visited or not, as in Agarwal et al. (2021);
#: - `"entropy"`: no logarithmic barrier, but the mean over all steps of both entropies.
BarrierForm = Literal["visited-mean", "visited-sum", "all-inputs", "entropy"]
BARRIER_FORMS: tuple[BarrierForm, ...] = ("visited-mean", "visited-sum", "all-inputs", "entropy")


def entropy(log_probabilities: Float[Array, "*batch n"]) -> Float[Array, "*batch"]:
    """`-sum p log p`."""
    return -jnp.sum(jnp.exp(log_probabilities) * log_probabilities, axis=-1)


def pushed_nu(form: BarrierForm, log_nu: Float[Array, "*batch S"]) -> Float[Array, "*batch"]:
    """What the barrier makes of a row of `nu` that was visited."""
    return entropy(log_nu) if form == "entropy" else log_nu.mean(axis=-1)


def pushed_phi(
    form: BarrierForm, head: ActionHead, log_phi: Float[Array, "*batch A"]
) -> Float[Array, "*batch"]:
    """What the barrier makes of a row of `phi` that was visited."""
    return head.entropy(log_phi) if form == "entropy" else head.log_barrier(log_phi)


def pushed_everywhere(
    kernels: ASMPolicy | KernelTables,
    past: AgentMemory,
    observation: Shaped[Array, "B *observation"],
) -> Float[Array, " B"]:
    """The mean of `log nu` over all inputs, and of `log phi` over all of its own.

    Where observations are real, inputs cannot be listed. Those at step `t` are then `O_t` after the
    dummy pair, and after each agent state with each action.
    """
    if isinstance(kernels, ASMPolicy) and kernels.tabulates:
        kernels = kernels.tabulate()
    if isinstance(kernels, KernelTables):
        everywhere = kernels.log_nu.mean() + kernels.log_phi.mean()
        return jnp.broadcast_to(everywhere, past.time.shape)
    if not kernels.num_actions:
        raise ValueError(
            f"barrier_form='all-inputs' needs a few actions to list, got {kernels.head.space}"
        )
    numbers = jnp.arange(1 + kernels.num_states * kernels.num_actions, dtype=jnp.int32)
    state, action = jnp.divmod(jnp.maximum(numbers - 1, 0), kernels.num_actions)

    def at(past: AgentMemory, observation: Shaped[Array, "*observation"]) -> Float[Array, ""]:
        times = jnp.where(numbers == 0, 0, jnp.maximum(past.time, 1))
        before = AgentMemory(state, action, times)
        log_nu = jax.vmap(kernels.log_nu, in_axes=(0, None))(before, observation)
        return log_nu.mean()

    log_phi = kernels.log_controls(past, observation)
    of_phi = kernels.head.log_barrier(log_phi)
    return jax.vmap(at)(past, observation) + of_phi.reshape(len(of_phi), -1).mean(axis=-1)
