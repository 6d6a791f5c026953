"""A finite NMDP: any functions of the history, exact values, and the library's training on it."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from asmpg.environments import NMDP
from asmpg.environments.tiger import Tiger
from asmpg.exact import (
    belief_process,
    exact_returns,
    history_derivatives,
    history_optimum,
    history_q,
    history_value,
    latent_process,
    optimal_returns,
)
from asmpg.experience import play_episodes
from asmpg.methods import ASMPG
from asmpg.policies import JointTabularPolicy, TabularPolicy, TimeIndexedPolicy, actor
from learning import improve, initialise
from quick import long

SIZES = {"num_states": 2, "num_actions": 2, "num_observations": 2}


def repeat_first(horizon=3):
    """Pays for playing the first observation at the last step; observations are coins."""
    return NMDP.from_functions(
        lambda observations, actions: [0.5, 0.5],
        lambda observations, actions: float(
            len(actions) == horizon and actions[-1] == observations[0]
        ),
        num_observations=2,
        num_actions=2,
        horizon=horizon,
    )


def test_functions_are_called_with_the_whole_history():
    nmdp = repeat_first()
    assert [len(rewards) for rewards in nmdp.rewards] == [2, 8, 32]
    o1, a1, o2, a2, o3 = 1, 0, 0, 1, 1
    history = (((o1 * 2 + a1) * 2 + o2) * 2 + a2) * 2 + o3
    assert nmdp.rewards[2][history].tolist() == [0.0, 1.0]
    assert history_optimum(nmdp) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("by_time", "discount"), [(False, 0.7), (True, 1.0), long(False, 1.0), long(True, 0.7)]
)
def test_exact_value_agrees_with_the_finite_model(by_time, discount):
    """Two recursions, one over histories and one over latent states, in float64."""
    with jax.enable_x64(True):
        nmdp = NMDP.random(5, horizon=3)
        make = lambda key: JointTabularPolicy(**SIZES, key=key)  # noqa: E731
        policy = (
            TimeIndexedPolicy(make, horizon=3, key=jax.random.key(1))
            if by_time
            else make(jax.random.key(1))
        )
        tables = policy.tabulate()
        value = history_value(nmdp, tables, discount=discount)
        other = exact_returns(nmdp.model(), tables, horizon=3, discount=discount).discounted
        assert float(value) == pytest.approx(float(other), abs=1e-14)
        first = history_q(nmdp, tables, discount=discount)[0]
        through_q = jnp.sum(nmdp.start[:, None, None] * tables.joint()[0, :2] * first)
        assert float(value) == pytest.approx(float(through_q), abs=1e-14)


def test_optimum_agrees_with_dynamic_programming_on_histories_and_on_beliefs():
    nmdp = NMDP.random(5, horizon=3)
    expected = optimal_returns(latent_process(nmdp.model()), horizon=3, discount=0.8).discounted
    assert history_optimum(nmdp, discount=0.8) == pytest.approx(expected, abs=1e-14)
    tiger = Tiger().model
    expected = optimal_returns(belief_process(tiger, horizon=4), horizon=4, discount=1.0)
    value = history_optimum(NMDP.from_model(tiger, horizon=4))
    assert value == pytest.approx(expected.undiscounted, abs=1e-10)


def test_derivatives_are_float64_and_agree_with_differences():
    policy = TabularPolicy(**SIZES, key=jax.random.key(0))
    nmdp = NMDP.random(2, horizon=2)
    found = history_derivatives(nmdp, policy, discount=0.9)
    assert found.gradient.dtype == found.hessian.dtype == np.float64
    assert not jax.config.read("jax_enable_x64")
    direction = np.zeros(len(found.gradient))
    direction[3] = step = 1e-2

    def moved(sign):
        shifted = policy.nu_logits.ravel().at[3].add(sign * step).reshape(policy.nu_logits.shape)
        return history_derivatives(
            nmdp, eqx.tree_at(lambda policy: policy.nu_logits, policy, shifted), discount=0.9
        )

    up, down = moved(1), moved(-1)
    # float32 logits move by about 1e-2 only up to 1e-7.
    assert (up.value - down.value) / (2 * step) == pytest.approx(found.gradient[3], abs=1e-4)
    np.testing.assert_allclose(
        (up.gradient - down.gradient) / (2 * step), found.hessian[3], atol=1e-4
    )


def test_sampler_follows_the_transitions():
    """20,000 episodes: the mean return within four standard errors of the exact value."""
    nmdp = NMDP.random(3, horizon=3)
    policy = JointTabularPolicy(**SIZES, key=jax.random.key(4))
    episodes = play_episodes(
        nmdp.environment(), actor(policy), jax.random.key(0), num_episodes=20_000
    )
    assert episodes.lengths.tolist() == [3] * 20_000
    returns = np.asarray(episodes.returns(1.0))
    error = returns.std() / np.sqrt(len(returns))
    exact = float(history_value(nmdp, policy.tabulate()))
    assert returns.mean() == pytest.approx(exact, abs=4 * error)


def test_training_learns_to_remember():
    environment = repeat_first(horizon=2).environment(label="RepeatFirst")
    method = ASMPG(num_states=2, policy="tabular", time_indexed=True, learning_rate=0.1)
    learner = initialise(method, environment, jax.random.key(0))

    def update(learner, key):
        return improve(method, environment, learner, key)[0], None

    learner, _ = jax.lax.scan(update, learner, jax.random.split(jax.random.key(1), 400))
    assert float(history_value(repeat_first(horizon=2), learner.policy.tabulate())) > 0.9


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"transition": lambda o, a: [0.5, 0.6]},
            r"transition must .* that sum to one, got",
        ),
        ({"transition": lambda o, a: [1.0]}, r"transition must give 2 probabilities"),
        ({"reward": lambda o, a: float("nan")}, "reward must be a finite number, got nan"),
        ({"horizon": 0}, "horizon must be an integer of at least 1, got 0"),
        ({"horizon": 20}, "horizon must leave at most 200000 histories"),
    ],
)
def test_bad_input_is_named(given, message):
    arguments = {"transition": lambda o, a: [0.5, 0.5], "reward": lambda o, a: 0.0, "horizon": 2}
    arguments |= given
    with pytest.raises(ValueError, match=message):
        NMDP.from_functions(
            arguments["transition"],
            arguments["reward"],
            num_observations=2,
            num_actions=2,
            horizon=arguments["horizon"],
        )
