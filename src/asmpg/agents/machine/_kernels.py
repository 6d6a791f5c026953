"""The kernels of a policy as the arrays of a machine."""

from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from asmpg.agents.machine._arrays import Arrays
from asmpg.agents.machine._cases import Cases, typical_cases
from asmpg.agents.machine._setting import Setting
from asmpg.policies import AgentMemory, ASMPolicy, KernelTables, actor

#: So many observations are looked at to average the kernels of each case.
_MOST_EXAMPLES = 4000
#: Probabilities that differ by no more are rounded ones.
_SAME = 1e-6


def table_arrays(tables: KernelTables) -> Arrays:
    """`start`, `update` and `control` of a stationary policy over finite observations.

    The action of a joint kernel may depend on more than state and observation. It becomes part of
    the state then: state `s A + a` is to have played `a` in `s`.
    """
    if tables.log_nu.shape[0] > 1:
        raise ValueError(
            "policy must be stationary: one with kernels for each step is not a finite machine"
        )
    nu, phi = (_distributions(part[0]) for part in (tables.log_nu, tables.log_phi))
    states, actions, symbols = tables.num_states, tables.num_actions, tables.num_observations
    start, update = nu[:symbols], nu[symbols:].reshape(states, actions, symbols, states)
    by_observation = phi.reshape(-1, symbols, states, actions) if len(phi) > 1 else phi[None]
    if np.abs(by_observation - by_observation[:1]).max() <= _SAME:
        return start, update, by_observation[0]
    pairs = states * actions
    joint = (nu[..., None] * phi).reshape(-1, symbols, pairs)
    # Having played `a` in `s` is one state, from which no other action can have been played.
    onward = np.repeat(joint[1:].reshape(pairs, 1, symbols, pairs), actions, axis=1)
    return joint[0], onward, np.tile(np.eye(actions), (states, 1))[None]


def _distributions(log_probabilities: Any) -> np.ndarray:
    # As they are drawn from, in the precision of the policy; normalised in double precision.
    array = np.asarray(jax.numpy.exp(log_probabilities)).astype(float)
    return array / array.sum(axis=-1, keepdims=True)


def sampled_arrays(policy: ASMPolicy, setting: Setting, count: int) -> tuple[Arrays, Cases]:
    """Kernels averaged over the observations of each typical case, as they came in episodes."""
    if not policy.factored:
        raise ValueError(
            "policy must be factored to make a machine for real observations: its action must "
            "depend on the agent state alone; train with window=0"
        )
    played = setting.sample(actor(policy))
    valid = np.asarray(played.valid)
    seen = np.asarray(played.observations)[valid]
    cases = typical_cases(seen, count)
    states, actions, number = policy.num_states, policy.num_actions, len(cases.centres)
    generator = np.random.default_rng(0)
    examples = seen[generator.permutation(len(seen))[:_MOST_EXAMPLES]]
    rows = _kernel_rows(policy, examples)  # [n, 1 + S A, S]
    member = np.eye(number)[cases.number(examples)]
    centre_rows = _kernel_rows(policy, cases.centres.astype(np.float32))
    total = member.sum(axis=0)[:, None, None]
    mean = np.einsum("no,nrs->ors", member, rows) / np.maximum(total, 1)
    mean = np.where(total > 0, mean, centre_rows)
    start, update = mean[:, 0], mean[:, 1:].reshape(number, states, actions, states)
    control = _distributions(policy.control_table())[None]
    update = np.moveaxis(update, 0, 2)
    return (_normalised(start), _normalised(update), control), cases


def _kernel_rows(
    policy: ASMPolicy, observations: Float[np.ndarray, "n d"]
) -> Float[np.ndarray, "n R S"]:
    """`nu` after the start, then after each pair of state and action."""
    state, action = np.divmod(np.arange(policy.num_states * policy.num_actions), policy.num_actions)
    pairs = [np.concatenate([[0], part]) for part in (state, action)]
    time = np.concatenate([[0], np.ones(len(state))])
    states, actions, times = (jax.numpy.asarray(part, jax.numpy.int32) for part in (*pairs, time))
    memory = AgentMemory(states, actions, times)
    rows = jax.vmap(lambda seen: jax.vmap(lambda m: policy.log_nu(m, seen))(memory))
    return np.exp(np.asarray(jax.jit(rows)(jax.numpy.asarray(observations)))).astype(float)


def _normalised(rows: np.ndarray) -> np.ndarray:
    return rows / rows.sum(axis=-1, keepdims=True)
