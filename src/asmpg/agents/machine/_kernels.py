"""Kernels over finite observations as the arrays of a machine."""

from typing import Any

import jax
import numpy as np

from asmpg.agents.machine._arrays import Arrays
from asmpg.policies import KernelTables

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
