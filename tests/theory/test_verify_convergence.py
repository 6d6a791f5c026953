"""The convergence theorem on real runs: the rows hold, and each of them can fail."""

import functools
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from asmpg.experience import collect
from asmpg.methods import ASMPG
from asmpg.theory import (
    almost_surely,
    decreasing_bound,
    decreasing_step_size,
    discounted_beta,
    discounted_noise,
    episodic_beta,
    episodic_noise,
    expected_bound,
    expected_step_size,
    experiment,
    horizon_exponent,
    in_expectation,
    joint_softmax_bounds,
    likely_bound,
    likely_step_size,
    rate,
    summable_bound,
    with_decreasing_steps,
    with_high_probability,
)


@pytest.fixture(autouse=True)
def _float64():
    with jax.enable_x64(True):
        yield


@pytest.fixture(scope="module", params=[1.0, 0.2], ids=["episodic", "discounted"])
def runs(request):
    return experiment(1, horizon=2, discount=request.param, updates=(100, 1000), runs=10)


def without_noise(beta, noise, gap, updates, **options):
    """Only the term that falls as `1 / K`."""
    return 2 * beta * gap / updates


def test_constants_by_hand():
    joint = joint_softmax_bounds()
    assert episodic_beta(1.0, 2, joint) == pytest.approx(13)
    assert episodic_noise(1.0, 2, joint) == pytest.approx(6 * math.sqrt(2))
    assert discounted_beta(1.0, 0.5, joint) == pytest.approx(28)
    assert discounted_noise(1.0, 0.5, joint) == pytest.approx(8 * math.sqrt(2))
    assert expected_step_size(4.0, 2.0, 2.0, 4) == pytest.approx(0.25)
    assert expected_step_size(4.0, 2.0, 2.0, 400) == pytest.approx(0.05)
    assert expected_bound(4.0, 2.0, 2.0, 400) == pytest.approx(0.04 + 0.2)
    assert likely_step_size(4.0, 2.0, 1.0, 400) == pytest.approx(0.0125)
    assert likely_bound(4.0, 2.0, 1.0, 400, delta=1 / math.e) == pytest.approx(0.02 + 1 + 0.12)
    assert decreasing_step_size(4.0, 25) == pytest.approx(0.05)
    assert decreasing_bound(4.0, 2.0, 1.0, 1, delta=1 / math.e) == pytest.approx(8 + 12 + 48)
    assert summable_bound(4.0, 2.0, 1.0, 0.5) == pytest.approx(2)


@eqx.filter_jit
def _update(method, environment, learner, key):
    actor = method.actor(learner, training=True)
    _, experience = collect(environment, actor, method.collects, None, key)
    return method.update(learner, experience, key)[0]


def test_runs_are_runs_of_asmpg():
    """Five updates with a step size as data are five updates of ASMPG with that learning rate."""
    laboratory = experiment(1, horizon=2, discount=1.0, updates=(5,), runs=1).laboratory
    mine = laboratory.advance(laboratory.start(runs=1), updates=5, scale=0.3)
    method = ASMPG(**(vars(laboratory.method) | {"learning_rate": 0.3}))
    learner = jax.tree.map(lambda leaf: leaf[0], laboratory.start(runs=1).learner)
    key = laboratory.start(runs=1).key[0]
    for _ in range(5):
        key, update_key = jax.random.split(key)
        learner = _update(method, laboratory.nmdp.environment(), learner, update_key)
    found, expected = (jax.tree.leaves(each.policy) for each in (mine.learner, learner))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one[0], other, atol=1e-12)


def test_in_expectation(runs):
    averages = runs.averages(expected_step_size)
    assert in_expectation(runs, averages, expected_bound).verdict == "holds"
    assert in_expectation(runs, averages, without_noise).verdict == "fails"


def test_with_high_probability(runs):
    averages = runs.averages(likely_step_size)
    right = functools.partial(likely_bound, delta=0.1)
    assert with_high_probability(runs, averages, right, delta=0.1).verdict == "holds"
    assert with_high_probability(runs, averages, without_noise, delta=0.1).verdict == "fails"


def test_with_decreasing_steps(runs):
    def verdict(bound):
        return with_decreasing_steps(runs, bound, delta=0.1, step_size=decreasing_step_size).verdict

    assert verdict(functools.partial(decreasing_bound, delta=0.1)) == "holds"
    assert verdict(without_noise) == "fails"


def test_almost_surely(runs):
    finite, down, estimates = almost_surely(runs, summable_bound, scale=2.0)
    assert {finite.verdict, down.verdict, estimates.verdict} == {"holds"}
    halved = runs.noise / 4
    assert estimates.measured > halved
    wrong, _, _ = almost_surely(runs, lambda beta, noise, gap, squared_steps: gap / 2, scale=2.0)
    assert wrong.verdict == "fails"
    _, still, _ = almost_surely(runs, summable_bound, scale=1e-6)
    assert still.verdict == "fails"


@pytest.mark.long
def test_rate():
    far = experiment(1, horizon=1, discount=1.0, updates=(1000, 5000), runs=8)
    averages = far.averages(expected_step_size)
    assert rate(far, averages).verdict == "holds"
    assert rate(far, averages, exponent=-1.0).verdict == "fails"
    # Steps that fall as 1 / K instead of 1 / sqrt K never get anywhere.
    timid = far.averages(lambda beta, noise, gap, updates: 1 / (beta * updates))
    assert rate(far, timid).verdict == "fails"


def test_horizon_exponent():
    def verdict(beta):
        return horizon_exponent(
            beta,
            discounted_noise,
            claim="",
            statement="",
            exponent=3.5,
            sizes=(1 - 1e-3, 1 - 1e-4),
            horizon=lambda discount: 1 / (1 - discount),
        ).verdict

    assert verdict(discounted_beta) == "holds"
    assert verdict(lambda *given: discounted_beta(*given) * (1 - given[1])) == "fails"
    assert jnp.isfinite(discounted_beta(1.0, 0.999, joint_softmax_bounds()))
