"""A finite model says exactly what is wrong with its arrays, and is sampled as it is written."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from asmpg.environments import FiniteEnvironment, FiniteModel
from asmpg.environments.cheese_maze import CheeseMaze
from asmpg.environments.machine_repair import MachineRepair


def tiger_arrays():
    """Kaelbling's tiger: its observation depends on the action, its start shows a fair coin."""
    listen, coin = np.array([[0.85, 0.15], [0.15, 0.85]]), np.full((2, 2), 0.5)
    return {
        "transition": np.stack([np.eye(2), coin, coin], axis=1),
        "observation": np.stack([listen, coin, coin]),
        "reward": np.array([[-1.0, -100.0, 10.0], [-1.0, 10.0, -100.0]]),
        "start": np.array([0.5, 0.5]),
        "start_observation": coin,
    }


def test_dense_arrays_come_back():
    arrays = tiger_arrays()
    model = FiniteModel.from_arrays(**arrays)
    np.testing.assert_array_equal(model.transition, arrays["transition"])
    np.testing.assert_array_equal(model.expected_reward, arrays["reward"])
    assert (model.num_states, model.num_actions, model.num_observations) == (2, 3, 2)
    assert model.reward_bound == 100


def test_rewards_may_depend_on_the_successor():
    arrays = tiger_arrays()
    arrays["reward"] = np.arange(12.0).reshape(2, 3, 2)
    model = FiniteModel.from_arrays(**arrays)
    expected = (arrays["transition"] * arrays["reward"]).sum(axis=-1)
    np.testing.assert_allclose(model.expected_reward, expected)


def replaced(name, change):
    arrays = tiger_arrays()
    arrays[name] = change(arrays[name])
    return arrays


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (
            replaced("transition", lambda t: t * 0.9),
            r"transition must sum to one .* row \[0, 0\] sums to 0.9",
        ),
        (replaced("start", lambda s: s + 0.1), "start must sum to one .* the whole sums to 1.2"),
        (
            replaced("observation", lambda o: o - [0.6, -0.6]),
            r"observation must not be negative, got -0.45 at \[0, 1, 0\]",
        ),
        (replaced("reward", lambda r: r[:, :2]), r"reward must have shape .* got \(2, 2\)"),
        (replaced("reward", lambda r: r * np.nan), "reward must be finite, got nan"),
        (replaced("transition", lambda t: t[0]), r"transition must have shape \[X, A, X\]"),
        (replaced("start_observation", lambda s: None), "start_observation must be given"),
    ],
)
def test_wrong_arrays_are_named(arrays, message):
    with pytest.raises(ValueError, match=message):
        FiniteModel.from_arrays(**arrays)


def test_starting_in_a_terminal_state_is_refused():
    with pytest.raises(ValueError, match="start must not give probability to a terminal state"):
        FiniteModel.from_arrays(**tiger_arrays(), terminal=[True, False])


def test_models_compare_by_content_and_never_change():
    model = FiniteModel.from_arrays(**tiger_arrays())
    assert model == FiniteModel.from_arrays(**tiger_arrays())
    assert hash(model) == hash(FiniteModel.from_arrays(**tiger_arrays()))
    assert model != FiniteModel.from_arrays(**replaced("reward", lambda r: 2 * r))
    with pytest.raises(AttributeError, match="immutable"):
        model.start = np.ones(2)
    with pytest.raises(ValueError, match="read-only"):
        model.start[0] = 1.0


def test_equal_environments_share_one_compiled_program():
    traces = []

    @jax.jit
    def step(env, key, state):
        traces.append(None)
        return env.step(key, state, 0)

    for _ in range(2):
        step(MachineRepair(), jax.random.key(0), jnp.asarray(0))
    assert len(traces) == 1
    step(MachineRepair(repair_cost=2.0), jax.random.key(0), jnp.asarray(0))
    assert len(traces) == 2


def test_sampling_follows_the_probabilities():
    """200,000 draws of each row; frequencies within 5 standard deviations, seed 0."""
    env = FiniteEnvironment(FiniteModel.from_arrays(**tiger_arrays()), max_steps=10)
    draws = 200_000
    keys = jax.random.split(jax.random.key(0), draws)
    tolerance = 5 * np.sqrt(0.25 / draws)
    observation, state = jax.jit(jax.vmap(env.reset))(keys)
    assert abs(np.mean(state) - 0.5) < tolerance
    assert abs(np.mean(observation) - 0.5) < tolerance
    for latent in range(2):
        for action in range(3):
            step = jax.vmap(env.step, in_axes=(0, None, None))
            observation, state, reward, _ = jax.jit(step)(keys, jnp.asarray(latent), action)
            for following in range(2):
                chance = env.model.transition[latent, action, following]
                arrived = np.asarray(state) == following
                assert abs(arrived.mean() - chance) < tolerance
                if chance:
                    seen = np.asarray(observation)[arrived].mean()
                    assert abs(seen - env.model.observation[action, following, 1]) < 2 * tolerance
            np.testing.assert_allclose(reward, env.model.expected_reward[latent, action])


def test_rounding_never_leaves_the_outcomes():
    env = MachineRepair()
    for state in range(env.model.num_states):
        for action in range(2):
            following, _, _ = env.transition(state, action, 1.0)
            assert env.model.transition[state, action, int(following)] > 0 or (
                env.model.probability[state, action, 1] == 0
            )


@pytest.mark.usefixtures("as_user")
def test_an_action_outside_the_space_is_refused():
    env = CheeseMaze()
    with pytest.raises(ValueError, match=r"action must be an integer in \[0, 3\] .* got 4"):
        env.step(jax.random.key(0), jnp.asarray(0), 4)
    with pytest.raises(ValueError, match=r"got 1\.5"):
        env.step(jax.random.key(0), jnp.asarray(0), jnp.asarray(1.5))
