"""The linear recurrence: a parallel scan that is the recurrence step by step, gradients too."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from asmpg.policies import AgentMemory, Encoding, MinGRUEncoder, MinGRUPolicy

pytestmark = pytest.mark.usefixtures("x64")
STEPS, PLACES, WIDTH = 13, 3, 4


def example(encoding=None):
    """A network, a memory, and histories in which episodes start, one of them in the last row."""
    encoding = encoding or Encoding(3, 4)
    encoder = MinGRUEncoder(width=WIDTH, encoding=encoding, key=jax.random.key(0))
    keys = jax.random.split(jax.random.key(1), 4)
    if encoding.num_observations is None:
        observations = jax.random.normal(keys[0], (STEPS, PLACES, encoding.observation_size))
    else:
        observations = jax.random.randint(keys[0], (STEPS, PLACES), 0, 4)
    actions = jax.random.randint(keys[1], (STEPS, PLACES), 0, 3)
    first = jax.random.bernoulli(keys[2], 0.2, (STEPS, PLACES)).at[-1, 0].set(True)
    hidden = jax.random.normal(keys[3], (PLACES, 2 * WIDTH))
    return encoder, (hidden, observations, actions, first)


def by_steps(encoder, hidden, observations, actions, first):
    def step(hidden, row):
        hidden, seen = encoder.step(hidden, *row)
        return hidden, (hidden, seen)

    return jax.lax.scan(step, hidden, (observations, actions, first))[1]


along = eqx.filter_jit(MinGRUEncoder.along)


@pytest.mark.parametrize("encoding", [Encoding(3, 4), Encoding(3, None, (0.5, 2.0))])
def test_along_is_step_by_step(encoding):
    encoder, arguments = example(encoding)
    found, expected = along(encoder, *arguments), eqx.filter_jit(by_steps)(encoder, *arguments)
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == jnp.float64
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-10)


def test_gradient_is_that_of_the_steps():
    encoder, (hidden, *rest) = example()
    keys = jax.random.split(jax.random.key(5))
    weights = (
        jax.random.normal(keys[0], (STEPS, PLACES, 2 * WIDTH)),
        jax.random.normal(keys[1], (STEPS, PLACES, WIDTH)),
    )

    def slope(run):
        def loss(parts):
            encoder, hidden = parts
            return sum(map(jnp.vdot, weights, run(encoder, hidden, *rest)))

        return eqx.filter_jit(eqx.filter_grad(loss))((encoder, hidden))

    found, expected = slope(MinGRUEncoder.along), slope(by_steps)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert np.abs(other).max() > 1e-3
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-10)


def test_recurrence_is_the_one_of_the_paper():
    """The first layer, written out in numpy: `h_t = (1 - z_t) h_{t-1} + z_t g(c_t)`."""
    encoder, (hidden, observations, actions, first) = example()
    gates = encoder.layers[0].gates
    weight, bias = np.asarray(gates.weight), np.asarray(gates.bias)
    expected, memory = [], np.asarray(hidden)[:, :WIDTH]
    for seen, action, begins in zip(observations, actions, first, strict=True):
        before = np.where(begins[:, None], 0, np.eye(3)[action])
        inputs = np.concatenate([np.eye(4)[seen], before], axis=1)
        inputs = inputs @ np.asarray(encoder.inputs.weight).T + np.asarray(encoder.inputs.bias)
        inputs = inputs / np.sqrt(np.mean(inputs**2, axis=1, keepdims=True) + 1e-6)
        update, candidate = np.split(inputs @ weight.T + bias, 2, axis=1)
        update = 1 / (1 + np.exp(-update))
        positive = np.where(candidate >= 0, candidate + 0.5, 1 / (1 + np.exp(-candidate)))
        memory = np.where(begins[:, None], 0, memory)
        memory = (1 - update) * memory + update * positive
        expected.append(memory)
    found, _ = along(encoder, hidden, observations, actions, first)
    np.testing.assert_allclose(found[..., :WIDTH], expected, rtol=0, atol=1e-10)


def test_an_episode_that_starts_forgets():
    encoder, (hidden, observations, actions, _) = example()
    first = jnp.zeros((STEPS, PLACES), bool).at[3].set(True)
    found, _ = along(encoder, hidden, observations, actions, first)
    other, _ = along(encoder, hidden + 1, observations, (actions + 1) % 3, first)
    fresh, _ = along(encoder, 0 * hidden, observations[3:], actions[3:], first[3:])
    np.testing.assert_allclose(found[3:], fresh, rtol=0, atol=1e-10)
    np.testing.assert_allclose(found[3], other[3], rtol=0, atol=1e-10)
    assert np.abs(found[2] - other[2]).max() > 0.01


def test_what_is_learned_from_is_what_was_played():
    """An actor's probabilities, step by step through two episodes, are those of `distributions`."""
    policy = MinGRUPolicy(width=WIDTH, encoding=Encoding(3, 4), key=jax.random.key(2))
    # At the start all actions are nearly alike.
    policy = eqx.tree_at(
        lambda policy: policy.layers[-1].weight, policy, 1000 * policy.layers[-1].weight
    )
    actor = policy.actor()
    act = eqx.filter_jit(actor.act)
    uniforms = jax.random.uniform(jax.random.key(3), (8, 2))
    observations = jax.random.randint(jax.random.key(4), (8,), 0, 4)
    memory = start = actor.start(jax.random.key(0))
    past, actions, remembered = [], [], []
    for time, (seen, numbers) in enumerate(zip(observations, uniforms, strict=True)):
        if time == 5:
            memory = actor.start(jax.random.key(0))
        past.append((memory.action, memory.time))
        memory = act(memory, seen, jnp.zeros(()), numbers)
        actions.append(memory.action)
        remembered.append(memory.hidden)
    before, times = (jnp.stack(each)[:, None] for each in zip(*past, strict=True))
    rows = AgentMemory(jnp.zeros_like(before), before, times)
    found = eqx.filter_jit(policy.distributions)(
        jax.tree.map(lambda leaf: leaf[None], start),
        rows,
        observations[:, None],
        jnp.stack(actions)[:, None],
    )
    np.testing.assert_allclose(found.after[:, 0], jnp.stack(remembered), rtol=0, atol=1e-10)
    probabilities = np.exp(found.log_probabilities[:, 0])
    assert np.ptp(probabilities, axis=0).max() > 0.05
    edges = np.cumsum(probabilities, axis=1)
    drawn = (np.asarray(uniforms)[:, 1:] > edges[:, :-1]).sum(axis=1)
    np.testing.assert_array_equal(drawn, jnp.stack(actions))
