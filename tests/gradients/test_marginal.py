"""The agent state integrated out: same expectation, less variance; baselines that keep both."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from asmpg.experience import Experience
from asmpg.gradients import (
    beliefs_before,
    discounting,
    leave_one_out,
    marginal_gradient,
    normalised,
    return_to_go,
    reward_to_go,
    sampled_gradient,
)
from asmpg.methods.critics import MemoryValue
from asmpg.policies import Encoding
from enumeration import (
    ACTIONS,
    OBSERVATIONS,
    POLICIES,
    STATES,
    enumerate_process,
    flat,
    make_policy,
)
from quick import long

ESTIMATORS = {"sampled": sampled_gradient, "marginal": marginal_gradient}


@pytest.fixture(autouse=True)
def _float64():
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize(
    "kind", [kind if kind in ("tabular", "joint by time") else long(kind) for kind in POLICIES]
)
def test_expectation_is_the_exact_gradient(kind):
    process = enumerate_process(7, terminating=True)
    policy = make_policy(kind, jax.random.key(3))
    probability = np.asarray(process.probability(policy))
    for discount in (1.0, 0.9):
        exact = flat(eqx.filter_grad(process.value)(policy, discount))
        assert np.linalg.norm(exact) > 0.01
        weights = reward_to_go(process.episodes, discount=discount)
        for tabulated in (True, False):
            estimates = process.gradients(policy, weights, marginal_gradient, tabulated=tabulated)
            np.testing.assert_allclose(probability @ estimates, exact, atol=1e-10)


def test_it_is_the_sampled_estimator_averaged_over_agent_states():
    """Fisher's identity, reward by reward: the mean over `s` given `(o, a)` up to the reward."""
    process = enumerate_process(5)
    policy = make_policy("tabular", jax.random.key(2))
    chance = np.asarray(process.probability(policy))
    weights = np.asarray(reward_to_go(process.episodes, discount=0.9))
    last = weights.shape[0] - 1
    only_last = jnp.broadcast_to(jnp.asarray(weights[last]), weights.shape)
    sampled = process.gradients(policy, only_last)
    marginal = process.gradients(policy, only_last, marginal_gradient)
    seen = np.concatenate([process.episodes.observations, process.episodes.actions]).T
    for history in np.unique(seen, axis=0):
        these = (seen == history).all(axis=1)
        average = chance[these] @ sampled[these] / chance[these].sum()
        np.testing.assert_allclose(marginal[these][0], average, atol=1e-10)


def test_its_variance_is_smaller():
    process = enumerate_process(5)
    policy = make_policy("tabular", jax.random.key(2))
    probability = np.asarray(process.probability(policy))
    weights = reward_to_go(process.episodes, discount=0.9)
    variance = {}
    for name, estimator in ESTIMATORS.items():
        estimates = process.gradients(policy, weights, estimator)
        mean = probability @ estimates
        variance[name] = probability @ ((estimates - mean) ** 2).sum(axis=1)
    assert variance["marginal"] < 0.9 * variance["sampled"]


def values(policy, episodes, *, estimator):
    """A critic that has learned nothing: any function of what is known beforehand will do."""
    encoding = Encoding(ACTIONS, OBSERVATIONS)
    value = MemoryValue(width=4, memory_size=STATES, encoding=encoding, key=jax.random.key(8))
    past = episodes.past
    if estimator == "marginal":
        remembered = beliefs_before(policy, episodes)
    else:
        remembered = jax.nn.one_hot(past.state, STATES)
    return 5.0 * value(remembered, past.action, past.first, episodes.observations)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_critic_leaves_the_expectation_as_it_is(estimator):
    process = enumerate_process(7, terminating=True)
    policy = make_policy("tabular", jax.random.key(3))
    probability = np.asarray(process.probability(policy))
    exact = flat(eqx.filter_grad(process.value)(policy, 0.9))
    baseline = discounting(process.episodes, discount=0.9) * values(
        policy, process.episodes, estimator=estimator
    )
    assert np.abs(baseline).max() > 0.1
    weights = reward_to_go(process.episodes, discount=0.9) - baseline
    estimates = process.gradients(policy, weights, ESTIMATORS[estimator])
    np.testing.assert_allclose(probability @ estimates, exact, atol=1e-10)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_baseline_that_looks_at_the_action_is_found_out(estimator):
    process = enumerate_process(7, terminating=True)
    policy = make_policy("tabular", jax.random.key(3))
    probability = np.asarray(process.probability(policy))
    exact = flat(eqx.filter_grad(process.value)(policy, 0.9))
    weights = reward_to_go(process.episodes, discount=0.9) - 0.5 * process.episodes.actions
    estimates = process.gradients(policy, weights, ESTIMATORS[estimator])
    assert np.linalg.norm(probability @ estimates - exact) > 0.01


class Pairs:
    """All pairs of independent trajectories, as batches of two episodes."""

    def __init__(self, process, policy):
        chance = np.asarray(process.probability(policy))
        first, second = np.divmod(np.arange(len(chance) ** 2), len(chance))
        self.probability = chance[first] * chance[second]
        self.pairs = jnp.asarray(np.stack([first, second], axis=1))
        self.episodes = process.episodes

    def expectation(self, policy, estimator, weigh):
        def one(pair):
            episodes = self.episodes.environments(pair)
            return estimator(policy, episodes, weigh(episodes))[0]

        estimates = eqx.filter_jit(lambda pairs: jax.lax.map(one, pairs, batch_size=512))(
            self.pairs
        )
        return self.probability @ flat(estimates, batched=True)


def looking_at_oneself(weights, running):
    """A baseline that includes the episode itself."""
    total = jnp.where(running, weights, 0.0).sum(axis=1, keepdims=True)
    return jnp.broadcast_to(total / running.sum(axis=1, keepdims=True).clip(1), weights.shape)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_leave_one_out_leaves_the_expectation_as_it_is(estimator):
    """With termination, so that at some steps there is no other episode."""
    process = enumerate_process(4, terminating=True, horizon=2)
    policy = make_policy("tabular", jax.random.key(3))
    exact = flat(eqx.filter_grad(process.value)(policy, 0.9))
    assert np.linalg.norm(exact) > 0.01
    pairs = Pairs(process, policy)

    def weigh(baseline, episodes: Experience):
        weights = reward_to_go(episodes, discount=0.9)
        return weights - baseline(weights, episodes.valid)

    found = [
        pairs.expectation(policy, ESTIMATORS[estimator], functools.partial(weigh, rule))
        for rule in (leave_one_out, looking_at_oneself)
    ]
    np.testing.assert_allclose(found[0], exact, atol=1e-10)
    assert np.linalg.norm(found[1] - exact) > 0.01


def test_leave_one_out_by_hand():
    weights = jnp.asarray([[1.0, 2.0, 6.0], [3.0, 5.0, 99.0], [4.0, 99.0, 99.0]])
    running = jnp.asarray([[True, True, True], [True, True, False], [True, False, False]])
    expected = [[4.0, 3.5, 1.5], [5.0, 3.0, 4.0], [0.0, 4.0, 4.0]]
    np.testing.assert_allclose(leave_one_out(weights, running), expected)


def test_normalised_weights_have_unit_mean_square_over_running_steps():
    weights = jnp.asarray([[3.0, -4.0], [7.0, 99.0]])
    running = jnp.asarray([[True, True], [True, False]])
    expected = np.asarray(weights) / np.sqrt((9 + 16 + 49) / 3)
    np.testing.assert_allclose(normalised(weights, running), expected)
    for scale in (0.0, 1e-160):
        assert np.isfinite(normalised(scale * weights, running)).all()


def test_barrier_weighs_inputs_by_what_is_believed_of_them():
    """With zero weights, against autodiff of the barrier over sampled agent states, averaged."""
    process = enumerate_process(2)
    policy = make_policy("tabular", jax.random.key(1))
    zero = jnp.zeros_like(process.episodes.rewards)
    chance = np.asarray(process.probability(policy))
    marginal = process.gradients(policy, zero, marginal_gradient, barrier=0.3)
    sampled = process.gradients(policy, zero, sampled_gradient, barrier=0.3)
    np.testing.assert_allclose(chance @ marginal, chance @ sampled, atol=1e-10)
    assert np.abs(chance @ marginal).max() > 0.01


def test_returns_to_go_are_weights_without_their_powers():
    episodes = enumerate_process(5, terminating=True).episodes
    for discount in (1.0, 0.9):
        weights = reward_to_go(episodes, discount=discount)
        powers = discounting(episodes, discount=discount)
        np.testing.assert_allclose(
            return_to_go(episodes, discount=discount) * powers, weights, atol=1e-12
        )
