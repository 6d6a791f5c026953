"""A look inside an ASM policy."""

from typing import SupportsIndex

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Shaped
from numpy.typing import ArrayLike

from asmpg.agents._arguments import index, observation_batch
from asmpg.environments import Space
from asmpg.policies import AgentMemory, ASMPolicy, TimeIndexedPolicy

#: Agent state, action and observation: what `nu` looks at. The first two are `None` at the start.
KernelInput = tuple[SupportsIndex | None, SupportsIndex | None, ArrayLike]


def nu(
    policy: ASMPolicy, space: Space, given: KernelInput, time: SupportsIndex | None
) -> Float[np.ndarray, " S"]:
    """The distribution of the next agent state."""
    return np.exp(np.asarray(policy.log_nu(*_input(policy, space, given, time))))


def phi(
    policy: ASMPolicy,
    space: Space,
    state: SupportsIndex,
    given: KernelInput | None,
    time: SupportsIndex | None,
) -> Float[np.ndarray, " A"]:
    """The distribution of the action in agent state `state`."""
    kernels = policy.steps if isinstance(policy, TimeIndexedPolicy) else policy
    if given is not None:
        memory, seen = _input(policy, space, given, time)
    elif kernels.factored:
        zero = jnp.zeros((), jnp.int32)
        memory = AgentMemory(zero, zero, zero if time is None else index("time", time))
        seen = observation_batch(np.zeros(space.shape, int), space)[0][0]
    else:
        raise ValueError(
            "given must be (state, action, observation), the input of nu, as the action of a "
            "joint kernel depends on it; got None"
        )
    now = index("state", state, high=policy.num_states - 1)
    return np.exp(np.asarray(policy.log_phi(memory, seen)[now]))


def _input(
    policy: ASMPolicy, space: Space, given: KernelInput, time: SupportsIndex | None
) -> tuple[AgentMemory, Shaped[Array, "*observation"]]:
    state, action, observation = given
    observations, single = observation_batch(observation, space)
    if not single:
        raise ValueError(f"observation must be a single one, got {observation!r}")
    if state is None and action is None and not time:
        return AgentMemory.empty(), observations[0]
    if state is None or action is None:
        raise ValueError(
            "state and action must be given both, or be None both and time 0, got "
            f"state {state}, action {action}, time {time}"
        )
    memory = AgentMemory(
        index("state", state, high=policy.num_states - 1),
        index("action", action, high=policy.num_actions - 1),
        index("time", 1 if time is None else time, low=1),
    )
    return memory, observations[0]
