"""Gradient theorems, baseline, softmax constants, smoothness, estimates: each row can fail.

Every claim of `asmpg verify` is given something slightly wrong here, and must say so.
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from asmpg.environments import NMDP
from asmpg.theory import (
    KernelFamily,
    discounted_beta,
    discounted_noise,
    episodic_beta,
    episodic_noise,
    estimate_bound,
    factored_softmax_bounds,
    joint_softmax_bounds,
    smoothness,
    softmax_claims,
    truncation,
    truncation_bias,
)
from asmpg.theory import _gradient_claims as gradients

HORIZON = 2
FAMILY = KernelFamily("tabular", num_states=2, num_actions=2, num_observations=2)


@pytest.fixture(autouse=True)
def _float64():
    with jax.enable_x64(True):
        yield


@pytest.fixture(scope="module")
def nmdps():
    return [NMDP.random(0, horizon=HORIZON)]


def without_the_last_reward(nmdp, everything, policy, discount):
    right = gradients.return_weights(nmdp, everything, policy, discount)
    return right - discount ** (HORIZON - 1) * everything.episodes.rewards[-1]


def without_the_reward_at_t(nmdp, everything, policy, discount):
    right = gradients.q_weights(nmdp, everything, policy, discount)
    return right - discount ** jnp.arange(HORIZON)[:, None] * everything.episodes.rewards


def wrong_power(weights):
    """The power of the discount counted from `t` instead of from the start."""

    def wrong(nmdp, everything, policy, discount):
        right = weights(nmdp, everything, policy, discount)
        return right / discount ** jnp.arange(HORIZON)[:, None]

    return wrong


def with_the_reward_at_t(nmdp, everything, policy, discount):
    return gradients.past_weights(nmdp, everything, policy, discount) + everything.episodes.rewards


@pytest.mark.parametrize(
    ("discount", "right", "wrong"),
    [
        (1.0, gradients.return_weights, without_the_last_reward),
        (1.0, gradients.q_weights, without_the_reward_at_t),
        (0.5, gradients.return_weights, wrong_power(gradients.return_weights)),
        (0.5, gradients.q_weights, wrong_power(gradients.q_weights)),
    ],
    ids=["episodic return", "episodic Q", "discounted return", "discounted Q"],
)
def test_gradient_theorem(nmdps, discount, right, wrong):
    def verdict(weights):
        return gradients.gradient_theorem(
            nmdps, claim="", statement="", discount=discount, weights=weights
        ).verdict

    assert verdict(right) == "holds"
    assert verdict(wrong) == "fails"


def test_baseline_lemma(nmdps):
    assert gradients.baseline_lemma(nmdps).verdict == "holds"
    assert gradients.baseline_lemma(nmdps, weights=with_the_reward_at_t).verdict == "fails"


@pytest.mark.parametrize("kind", ["joint", "tabular"])
def test_softmax_constants(kind):
    family = KernelFamily(kind, num_states=2, num_actions=2, num_observations=1)
    rows = softmax_claims(family, steps=200, starts=4)
    assert [row.verdict for row in rows] == ["holds", "holds"]
    # The score bound is tight; that on the Hessian is twice the supremum.
    assert rows[0].looseness == pytest.approx(1, abs=1e-3)
    assert rows[1].looseness == pytest.approx(2, abs=1e-3)
    halved = dataclasses.replace(rows[0], limit=rows[0].limit / 2)
    quartered = dataclasses.replace(rows[1], limit=rows[1].limit / 4)
    assert [halved.verdict, quartered.verdict] == ["fails", "fails"]


def test_factored_constants_follow_from_the_joint_ones():
    """Two scores of norm G side by side; a joint table would not be enough."""
    assert factored_softmax_bounds().score == pytest.approx(2.0)
    family = KernelFamily("tabular", num_states=2, num_actions=2, num_observations=1)
    wrong = softmax_claims(family, steps=200, starts=4, bounds=joint_softmax_bounds())
    assert wrong[0].verdict == "fails"


@pytest.mark.parametrize("discount", [1.0, 0.5], ids=["episodic", "discounted"])
def test_smoothness(discount):
    reward_bound = 200.0

    def beta(reward_bound):
        if discount == 1:
            return episodic_beta(reward_bound, HORIZON, FAMILY.bounds)
        return discounted_beta(reward_bound, discount, FAMILY.bounds)

    row = smoothness(
        FAMILY,
        horizon=HORIZON,
        discount=discount,
        reward_bound=reward_bound,
        beta=beta(reward_bound),
        statement="",
        steps=100,
        starts=4,
    )
    assert row.verdict == "holds"
    assert row.looseness < 200
    assert dataclasses.replace(row, limit=beta(1.0)).verdict == "fails"


@pytest.mark.parametrize("discount", [1.0, 0.5], ids=["episodic", "discounted"])
def test_estimate_bound(discount):
    if discount == 1:
        right = episodic_noise(1.0, HORIZON, FAMILY.bounds)
        wrong = right / 2
    else:
        right = discounted_noise(1.0, discount, FAMILY.bounds)
        wrong = right * (1 - discount) ** 2
    row = estimate_bound(
        FAMILY,
        horizon=HORIZON,
        discount=discount,
        reward_bound=1.0,
        noise=right,
        statement="",
        steps=100,
    )
    assert row.verdict == "holds"
    assert dataclasses.replace(row, limit=wrong / 2).verdict == "fails"


def test_truncation(nmdps):
    bias = truncation_bias(1.0, 0.5, FAMILY.bounds, 1)
    listed = FAMILY.bounds.score * sum(step * 0.5 ** (step - 1) for step in range(2, 200))
    assert bias == pytest.approx(listed)
    right = truncation(nmdps, FAMILY, steps=1, discount=0.5, bias=bias)
    assert right.verdict == "holds"
    assert right.measured > 0
    wrong_power = truncation_bias(1.0, 0.5, FAMILY.bounds, 1 + 12)
    wrong = truncation(nmdps, FAMILY, steps=1, discount=0.5, bias=wrong_power)
    assert wrong.verdict == "fails"


def test_not_a_number_never_holds(nmdps):
    row = gradients.gradient_theorem(
        nmdps,
        claim="",
        statement="",
        discount=1.0,
        weights=lambda nmdp, everything, policy, discount: jnp.full_like(
            everything.episodes.rewards, np.nan
        ),
    )
    assert row.verdict == "fails"
