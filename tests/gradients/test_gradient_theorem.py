"""The estimator is the theorem: its expectation, by enumeration, is the gradient of the exact J.

All that can happen in tiny processes is listed, with its probability, in float64.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from asmpg.gradients import reward_to_go, sampled_gradient
from enumeration import HORIZON, POLICIES, enumerate_process, flat, make_policy
from quick import long


@pytest.fixture(autouse=True)
def _float64():
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("discount", [1.0, 0.9], ids=["episodic", "discounted"])
@pytest.mark.parametrize("terminating", [False, True], ids=["fixed length", "terminating"])
@pytest.mark.parametrize(
    "kind", [kind if "by time" not in kind else long(kind) for kind in POLICIES]
)
def test_expectation_is_the_exact_gradient(kind, terminating, discount):
    process = enumerate_process(7, terminating=terminating)
    policy = make_policy(kind, jax.random.key(3))
    probability = np.asarray(process.probability(policy))
    assert probability.sum() == pytest.approx(1.0, abs=1e-12)
    exact = flat(eqx.filter_grad(process.value)(policy, discount))
    assert np.linalg.norm(exact) > 0.01
    weights = reward_to_go(process.episodes, discount=discount)
    for tabulated in (True, False):
        estimates = process.gradients(policy, weights, tabulated=tabulated)
        np.testing.assert_allclose(probability @ estimates, exact, atol=1e-10)


def mutations(process, discount):
    """Weights that a slip of the pen would give."""
    episodes = process.episodes
    right = reward_to_go(episodes, discount=discount)
    rewards = jnp.where(episodes.valid, episodes.rewards, 0.0)
    powers = discount ** jnp.arange(HORIZON)
    return {
        "without gamma^(t-1)": right / powers[:, None],
        "without the last reward": right - powers[-1] * rewards[-1],
        "without the reward at t": right - powers[:, None] * rewards,
        "rewards after the end": jnp.cumsum((powers[:, None] * episodes.rewards)[::-1], 0)[::-1],
    }


@pytest.mark.parametrize(
    "slip",
    [
        "without gamma^(t-1)",
        "without the last reward",
        "without the reward at t",
        "rewards after the end",
    ],
)
def test_wrong_weights_are_found_out(slip):
    process = enumerate_process(7, terminating=True)
    policy = make_policy("tabular", jax.random.key(3))
    exact = flat(eqx.filter_grad(process.value)(policy, 0.9))
    estimates = process.gradients(policy, mutations(process, 0.9)[slip])
    error = np.asarray(process.probability(policy)) @ estimates - exact
    assert np.linalg.norm(error) > 0.01


@pytest.mark.parametrize("discount", [1.0, 0.9])
def test_rewards_before_t_change_the_variance_only(discount):
    process = enumerate_process(11)
    policy = make_policy("tabular", jax.random.key(5))
    probability = np.asarray(process.probability(policy))
    to_go = reward_to_go(process.episodes, discount=discount)
    whole = jnp.broadcast_to(to_go[:1], to_go.shape)
    moments = []
    for weights in (to_go, whole):
        estimates = process.gradients(policy, weights)
        mean = probability @ estimates
        moments.append((mean, probability @ ((estimates - mean) ** 2).sum(axis=1)))
    np.testing.assert_allclose(moments[0][0], moments[1][0], atol=1e-10)
    assert moments[1][1] > 1.05 * moments[0][1]


def test_barrier_is_the_average_over_visited_inputs():
    """The gradient with zero weights is the autodiff of the barrier, written out by hand."""
    process = enumerate_process(2, terminating=True)
    policy = make_policy("tabular", jax.random.key(1))
    episodes = process.episodes

    def barrier(policy):
        rows = policy.log_rows(episodes.past, episodes.observations, episodes.states)
        pushed = sum(row.mean(axis=-1) for row in rows)
        return 0.3 * jnp.sum(pushed * episodes.valid) / episodes.valid.sum()

    zero = jnp.zeros_like(episodes.rewards)
    for tabulated in (True, False):
        gradient, _ = sampled_gradient(policy, episodes, zero, barrier=0.3, tabulated=tabulated)
        np.testing.assert_allclose(
            flat(gradient), flat(eqx.filter_grad(barrier)(policy)), atol=1e-12
        )
