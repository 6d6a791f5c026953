"""A look inside an ASM policy."""

from collections.abc import Sequence
from typing import Any, SupportsIndex

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Shaped
from numpy.typing import ArrayLike

from asmpg.agents._arguments import Observation, index, observation_batch
from asmpg.environments import AbstractFiniteEnvironment, Space
from asmpg.exact import num_windows
from asmpg.policies import AgentMemory, ASMPolicy, TimeIndexedPolicy, WindowPolicy

#: Agent state, action and observation: what `nu` looks at. The first two are `None` at the start.
KernelInput = tuple[SupportsIndex | None, SupportsIndex | None, Observation]


def window(policy: ASMPolicy) -> int:
    """How many observations the action depends on directly."""
    return policy.window if isinstance(policy, WindowPolicy) else 0


def counts(policy: ASMPolicy) -> bool:
    """Whether the action depends on counts of observations."""
    return isinstance(policy, WindowPolicy) and policy.counts


def num_memories(policy: ASMPolicy, environment: Any = None) -> int:
    """Agent states, times what a window can keep; in an `environment`, what can be met there."""
    if policy.num_observations is None:
        raise ValueError("num_memories needs finite observations; these are real")
    if counts(policy):
        raise ValueError("num_memories needs counts=False: counts grow with every step")
    kept = max(window(policy) - 1, 0)
    if environment is None:
        pairs = policy.num_observations * policy.num_actions
        return policy.num_states * sum(pairs**length for length in range(kept + 1))
    if not isinstance(environment, AbstractFiniteEnvironment):
        raise ValueError(f"environment must have a finite model, got {environment!r}")
    return policy.num_states * num_windows(environment.model, kept)


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
    *,
    seen: Sequence[ArrayLike] = (),
    done: Sequence[SupportsIndex] = (),
) -> Float[np.ndarray, " A"]:
    """The distribution of the action in agent state `state`.

    `seen` and `done` are what a window shows, newest first.
    """
    now = index("state", state, high=policy.num_states - 1)
    if isinstance(policy, WindowPolicy):
        memory, observation = _window_input(policy, space, seen, done)
        return np.exp(np.asarray(policy.log_phi(memory, observation)[now]))
    if len(seen) or len(done):
        raise ValueError("seen and done must be left out: the policy has no window")
    kernels = policy.steps if isinstance(policy, TimeIndexedPolicy) else policy
    if given is not None:
        memory, observation = _input(policy, space, given, time)
    elif kernels.factored:
        zero = jnp.zeros((), jnp.int32)
        memory = AgentMemory(zero, zero, zero if time is None else index("time", time))
        observation = observation_batch(np.zeros(space.shape, int), space)[0][0]
    else:
        raise ValueError(
            "given must be (state, action, observation), the input of nu, as the action of a "
            "joint kernel depends on it; got None"
        )
    return np.exp(np.asarray(policy.log_phi(memory, observation)[now]))


def _window_input(
    policy: WindowPolicy, space: Space, seen: Sequence[ArrayLike], done: Sequence[SupportsIndex]
) -> tuple[AgentMemory, Shaped[Array, "*observation"]]:
    """What the action depends on; a window that is not full is one of an episode's first steps.

    Counts are of all observations of the episode: then there may be more than fit into the window.
    """
    most = np.inf if policy.counts else policy.window
    if not 1 <= len(seen) <= most or len(done) != len(seen) - 1:
        between = f", and done the {policy.window - 1} actions between" if policy.window > 1 else ""
        which = f"last observations, newest first, at most {policy.window}{between}"
        if policy.counts:
            which = "observations of the episode, newest first, and done all actions between"
        raise ValueError(
            f"seen must be the {which}, as the action depends on them; "
            f"got {len(seen)} and {len(done)}"
        )
    batches = [observation_batch(observation, space) for observation in seen]
    if not all(single for _, single in batches):
        raise ValueError(f"seen must hold single observations, got {seen!r}")
    observations = [batch[0] for batch, _ in batches]
    actions = [index("done", action, high=policy.num_actions - 1) for action in done]
    zero = jnp.zeros((), jnp.int32)
    memory = AgentMemory(zero, zero, zero, policy.empty_window())
    for observation, action in zip(reversed(observations[1:]), reversed(actions), strict=True):
        memory = memory.after(zero, jnp.asarray(action), observation)
    return memory, observations[0]


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
