"""The recurrent network: along a history as step by step, with the gradient that autodiff finds."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from asmpg.policies import Encoding, HistoryEncoder


def example():
    encoder = HistoryEncoder(width=5, encoding=Encoding(3, 4), key=jax.random.key(0))
    keys = jax.random.split(jax.random.key(1), 4)
    observations = jax.random.randint(keys[0], (7, 2), 0, 4)
    actions = jax.random.randint(keys[1], (7, 2), 0, 3)
    first = jax.random.bernoulli(keys[2], 0.3, (7, 2))
    hidden = jax.random.normal(keys[3], (2, 5))
    return encoder, (hidden, observations, actions, first)


def by_steps(encoder, hidden, observations, actions, first):
    memories = []
    for row in zip(observations, actions, first, strict=True):
        hidden = encoder.step(hidden, *row)
        memories.append(hidden)
    return jnp.stack(memories)


def test_along_is_step_by_step():
    encoder, arguments = example()
    np.testing.assert_allclose(encoder.along(*arguments), by_steps(encoder, *arguments), atol=1e-6)


def test_gradient_is_that_of_the_steps():
    encoder, (hidden, *rest) = example()
    weights = jax.random.normal(jax.random.key(5), (7, 2, 5))

    def slope(run):
        def loss(parts):
            encoder, hidden = parts
            return jnp.sum(weights * run(encoder, hidden, *rest))

        return eqx.filter_jit(eqx.filter_grad(loss))((encoder, hidden))

    found, expected = slope(HistoryEncoder.along), slope(by_steps)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert np.abs(other).max() > 1e-3
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_an_episode_that_starts_forgets():
    encoder, (hidden, observations, actions, _) = example()
    first = jnp.zeros((7, 2), bool).at[3].set(True)
    along = encoder.along(hidden, observations, actions, first)
    other = encoder.along(hidden + 1, observations, (actions + 1) % 3, first)
    fresh = encoder.along(0 * hidden, observations[3:], actions[3:], first[3:])
    np.testing.assert_allclose(along[3:], fresh, atol=1e-6)
    np.testing.assert_allclose(along[3], other[3], atol=1e-6)
    assert np.abs(along[2] - other[2]).max() > 0.01
