"""A belief policy tracks what can be known, and acts by vectors that are worth what they say."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from asmpg.distillation import Histories, Sampler, log_probabilities
from asmpg.exact import BeliefPolicy
from asmpg.interop import resolve
from finite import make_finite


@pytest.fixture(scope="module")
def cheese():
    return BeliefPolicy("CheeseMaze")


def test_the_belief_is_that_of_the_model_by_enumeration(cheese):
    """Bayes' rule over all sequences of latent states that can have been."""
    model = make_finite("CheeseMaze").model
    alive = np.flatnonzero(~model.terminal)
    transition, symbols = model.transition, [5, 4, 0, 1]
    weight, actions = model.start * model.start_observation[:, symbols[0]], [0, 0, 2]
    for action, symbol in zip(actions, symbols[1:], strict=True):
        weight = (weight @ transition[:, action]) * model.observation[action, :, symbol]
        weight[model.terminal] = 0
    belief, zero = jnp.zeros(cheese.memory_size), jnp.zeros((), jnp.int32)
    belief = cheese.follow(belief, zero, jnp.asarray(symbols[0]), jnp.asarray(True))
    for action, symbol in zip(actions, symbols[1:], strict=True):
        belief = cheese.follow(belief, *map(jnp.asarray, (action, symbol, False)))
    np.testing.assert_allclose(belief, weight[alive] / weight.sum(), atol=1e-6)


@pytest.mark.parametrize(
    ("environment", "solver", "least"),
    [("CheeseMaze", "point-based", 1.0), ("Tiger", "qmdp", 200.0)],
)
def test_it_is_worth_what_an_optimal_policy_is(environment, solver, least, cheese):
    """All mazes are solved; Tiger's best is some 320 over 300 steps, guessing at once is -13,500.

    The lower bound of the maze is its optimum, 0.96745...
    """
    policy = cheese if environment == "CheeseMaze" else BeliefPolicy(environment, solver=solver)
    sampler = Sampler(resolve(environment, {}), sequences=4, steps=None)
    found = sampler.score(policy, 3, episodes=400)
    assert found["undiscounted_return"] >= least
    assert policy.value is None or policy.value == pytest.approx(0.96745, abs=1e-4)
    if environment == "CheeseMaze":
        # Four standard errors of the length of 400 episodes; the best is 4.3 steps on average.
        assert found["episode_length"] == pytest.approx(4.3, abs=0.5)


def test_labels_along_a_history_are_the_actions_it_plays(cheese):
    sampler = Sampler(resolve("CheeseMaze", {}), sequences=4, steps=30)
    histories = sampler.histories(cheese, 1)
    chances = np.exp(jax.jit(lambda: log_probabilities(cheese, histories))())
    np.testing.assert_array_equal(chances.argmax(axis=-1), histories.actions)
    np.testing.assert_allclose(chances.max(axis=-1), 1)
    # What no action may do it does not: the best of the others.
    allowed = np.ones((30, 4, 4), bool)
    np.put_along_axis(allowed, np.asarray(histories.actions)[..., None], False, axis=-1)
    masked = Histories(
        histories.observations, histories.actions, histories.time, histories.valid, allowed
    )
    others = np.exp(jax.jit(lambda: log_probabilities(cheese, masked))()).argmax(axis=-1)
    assert np.take_along_axis(allowed, others[..., None], axis=-1).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"environment": "VelocityOnlyCartPole"}, "must have a finite model to track a belief"),
        ({"solver": "sarsop"}, "solver must be one of .*, got 'sarsop'"),
        ({"seconds": -1.0}, "seconds must be"),
        ({"discount": 1.0}, "discount must be below 1"),
    ],
)
@pytest.mark.usefixtures("as_user")
def test_what_cannot_be_solved_is_said(arguments, message):
    with pytest.raises(ValueError, match=message):
        BeliefPolicy(**{"environment": "CheeseMaze"} | arguments)
