"""Policies with a window, and with counts, whose networks have something to say."""

import equinox as eqx
import jax

from asmpg.policies import MatrixPolicy, TabularPolicy, WindowPolicy


@eqx.filter_jit
def make_window(encoding, window, key, *, num_states=3, sharp=1.0, counts=False):
    """A policy whose networks have something to say."""
    hidden_key, window_key, noise_key = jax.random.split(key, 3)
    if encoding.num_observations is None:
        hidden = MatrixPolicy(num_states=num_states, encoding=encoding, hidden=8, key=hidden_key)
    else:
        hidden = TabularPolicy(
            num_states=num_states,
            num_actions=encoding.num_actions,
            num_observations=encoding.num_observations,
            key=hidden_key,
        )
    policy = WindowPolicy(
        hidden, window=window, encoding=encoding, counts=counts, width=8, key=window_key
    )
    arrays, rest = eqx.partition(networks(policy), eqx.is_inexact_array)
    leaves, structure = jax.tree.flatten(arrays)
    noisy = [
        leaf + sharp * jax.random.normal(jax.random.fold_in(noise_key, number), leaf.shape)
        for number, leaf in enumerate(leaves)
    ]
    filled = eqx.combine(jax.tree.unflatten(structure, noisy), rest)
    return eqx.tree_at(networks, policy, filled, is_leaf=lambda leaf: leaf is None)


def networks(policy):
    return policy.window_logits, policy.window_layers, policy.count_networks
