"""Ideal agent states lose nothing, poor ones do; gaps show only where there is one."""

import jax
import numpy as np
import pytest

from asmpg.environments import NMDP, FiniteModel
from asmpg.environments.tiger import Tiger
from asmpg.theory import _gaps as gaps
from asmpg.theory import beliefs, cart_pole_integrator, explicit_euler, histories, random_model


@pytest.fixture(autouse=True)
def _float64():
    with jax.enable_x64(True):
        yield


def last_observation(*model):
    return (lambda o: o), (lambda state, a, o: o)


def test_beliefs():
    models = [random_model(0), Tiger().model]
    assert [row.verdict for row in beliefs(models, horizon=3)] == ["holds", "holds"]
    poor = beliefs(models, horizon=3, recursion=last_observation)
    assert [row.verdict for row in poor] == ["fails", "fails"]


def test_histories():
    nmdps = [NMDP.random(0, horizon=3)]
    assert histories(nmdps).verdict == "holds"
    assert histories(nmdps, recursion=last_observation).verdict == "fails"


def test_cart_pole_integrator():
    def implicit(first, velocity, time_step):
        """With the velocity after the step instead of that before it."""
        return first + time_step * np.concatenate([[0.0], np.cumsum(velocity[1:])])

    assert cart_pole_integrator(seeds=[0], integrate=explicit_euler).verdict == "holds"
    assert cart_pole_integrator(seeds=[0], integrate=implicit).verdict == "fails"


def blind_rewards():
    """Tiger, but every action pays the same wherever the tiger is."""
    tiger = Tiger().model
    return FiniteModel(
        successor=tiger.successor,
        probability=tiger.probability,
        reward=np.ones_like(tiger.reward),
        observation=tiger.observation,
        start=tiger.start,
        start_observation=tiger.start_observation,
    )


@pytest.mark.parametrize(
    ("shown", "absent"),
    [
        (
            gaps.steps_that_look,
            lambda: gaps.steps_that_look(weight=lambda arm: jax.numpy.ones(())),
        ),
        (gaps.no_stationary_point, lambda: gaps.no_stationary_point(rewards=(1.0, 1.0))),
        (lambda: gaps.networks(bound=2.0), lambda: gaps.networks(scale=1.0, bound=100.0)),
        (
            gaps.truncation_in_the_experiments,
            lambda: gaps.truncation_in_the_experiments(steps=2000),
        ),
        (
            lambda: gaps.unknown_start(seeds=range(1)),
            lambda: gaps.unknown_start(seeds=range(1), start_range=0.0),
        ),
        (
            gaps.joint_kernels_do_not_factor,
            lambda: gaps.joint_kernels_do_not_factor(reward=lambda o, a: float(a)),
        ),
        (
            lambda: gaps.rewards_of_a_pomdp(Tiger().model, horizon=2),
            lambda: gaps.rewards_of_a_pomdp(blind_rewards(), horizon=2),
        ),
    ],
    ids=["steps", "stationary", "networks", "truncation", "start", "joint", "rewards"],
)
def test_gaps_show_where_they_are_and_nowhere_else(shown, absent):
    assert shown().verdict == "gap"
    assert absent().verdict == "fails"
