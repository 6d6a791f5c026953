"""PPO and the size of what is paid: neither its unit matters, nor what is left once all is won."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from asmpg.environments import make
from asmpg.experience import play_rollouts
from asmpg.interop import Interface
from asmpg.methods.critics import ReturnScale
from asmpg.methods.ppo import ASMPPO
from learning import initialise, open_compiled

ENVIRONMENT = make("TMaze", length=2, max_steps=7)
METHOD = ASMPPO(
    num_states=3,
    num_environments=4,
    rollout_steps=16,
    minibatches=2,
    epochs=2,
    critic="history",
    entropy_coefficient=0.0,
    advantage_floor=0.1,
).settled(Interface.of(ENVIRONMENT))


@pytest.fixture(scope="module")
def played():
    """A learner, and what it played."""
    learner = initialise(METHOD, ENVIRONMENT, jax.random.key(0))
    actor = METHOD.actor(learner, training=True)

    @jax.jit
    def play(stream, key):
        return play_rollouts(ENVIRONMENT, actor, stream, key, steps=METHOD.rollout_steps)[1]

    stream = open_compiled(ENVIRONMENT, actor, METHOD.collects, jax.random.key(3))
    return learner, play(stream, jax.random.key(1))


@eqx.filter_jit
def updated(method, learner, experience):
    return method.update(learner, experience, jax.random.key(4))[0]


def moved(before, after):
    """How far the policy is from what it was."""
    changes = jax.tree.map(
        jnp.subtract, *(eqx.filter(x.policy, eqx.is_array) for x in (after, before))
    )
    return float(jnp.sqrt(sum(jnp.sum(change**2) for change in jax.tree.leaves(changes))))


def test_scale_is_that_of_recent_targets():
    targets = jnp.asarray([[1.0, 3.0], [5.0, 99.0]])
    valid = jnp.asarray([[True, True], [True, False]])
    scale = ReturnScale.unknown()
    assert (float(scale.centre), float(scale.spread)) == (0.0, 1.0)
    once = scale.updated(targets, valid, memory=0.9)
    np.testing.assert_allclose(once.centre, 3.0, rtol=1e-5)
    np.testing.assert_allclose(once.spread, np.std([1, 3, 5]), rtol=1e-4)
    often = once
    for _ in range(200):
        often = often.updated(1000 * targets, valid, memory=0.9)
    np.testing.assert_allclose(often.centre, 3000.0, rtol=1e-3)


@pytest.mark.parametrize("unit", [1e-3, 1e3])
def test_units_of_reward_do_not_matter(unit, played):
    """Three updates; floats of other units differ a little, and Adam makes that larger."""
    first, experience = played
    other = dataclasses.replace(experience, rewards=unit * experience.rewards)
    plain = scaled = first
    for _ in range(3):
        plain = updated(METHOD, plain, experience)
        scaled = updated(METHOD, scaled, other)
    assert moved(plain, scaled) < 0.02 * moved(first, plain)
    np.testing.assert_allclose(scaled.scale.spread, unit * plain.scale.spread, rtol=1e-2)


def test_steps_shrink_with_advantages_below_their_floor(played):
    """Adam's first steps have a length of their own: that of the rate."""
    learner, experience = played
    once = updated(METHOD, learner, experience)
    spread = once.largest_spread
    assert spread > 0
    lengths = []
    for larger in (1, 9, 100, 1_000):
        quiet = eqx.tree_at(lambda own: own.largest_spread, learner, larger * spread / 0.995)
        after = updated(METHOD, quiet, experience)
        np.testing.assert_allclose(after.largest_spread, larger * spread, rtol=1e-5)
        lengths.append(moved(learner, after))
    assert lengths[0] == lengths[1] == moved(learner, once)
    # A hundredth is a tenth of the floor, a tenth.
    np.testing.assert_allclose(lengths[2:], [lengths[0] / 10, lengths[0] / 100], rtol=0.05)
    never = dataclasses.replace(METHOD, advantage_floor=0.0)
    assert moved(learner, updated(never, quiet, experience)) == lengths[0]
