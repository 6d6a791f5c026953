"""The recurrent network: along a history as step by step, with the gradient that autodiff finds."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from asmpg.policies import Encoding, HistoryEncoder, MinGRUEncoder


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


def test_orthogonal_weights_preserve_lengths():
    """Those of each gate on their own; nothing else starts differently."""
    options = {"width": 5, "encoding": Encoding(3, 4), "key": jax.random.key(0)}
    plain, turned = HistoryEncoder(**options), HistoryEncoder(**options, orthogonal=True)
    gates = turned.recurrent_weight.reshape(3, 5, 5)
    for gate in gates:
        np.testing.assert_allclose(gate @ gate.T, np.eye(5), atol=1e-6)
    assert np.abs(gates[0] - gates[1]).max() > 0.1
    np.testing.assert_array_equal(plain.input_weight, turned.input_weight)
    np.testing.assert_array_equal(plain.input_bias, turned.input_bias)


@pytest.mark.parametrize("kind", [HistoryEncoder, MinGRUEncoder])
def test_keep_bias_is_how_long_a_fresh_memory_lasts(kind):
    """Far up nothing is taken in; far down nothing is kept."""
    _, (hidden, observations, actions, _) = example()
    hidden = jnp.concatenate([hidden, hidden], axis=1) if kind is MinGRUEncoder else hidden
    row = (observations[0], actions[0], jnp.zeros(2, bool))

    def after(keep_bias, hidden):
        options = {"width": 5, "encoding": Encoding(3, 4), "key": jax.random.key(0)}
        found = kind(**options, keep_bias=keep_bias).step(hidden, *row)
        return found[0] if isinstance(found, tuple) else found

    np.testing.assert_allclose(after(30.0, hidden), hidden, atol=1e-5)
    lost, between = after(-30.0, hidden), after(0.0, hidden)
    assert np.abs(lost - hidden).max() > 0.1
    assert np.abs(between - hidden).max() > 0.1
    assert np.abs(between - lost).max() > 0.1
    if kind is MinGRUEncoder:
        # Only its first layer reads nothing of what it remembers.
        np.testing.assert_allclose(lost[:, :5], after(-30.0, 2 * hidden)[:, :5], atol=1e-5)
