"""Tiger and Voicemail are the known problems: their values, and what their steps do."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from asmpg.environments.tiger import LISTEN, OPEN_LEFT, OPEN_RIGHT, Tiger
from asmpg.environments.voicemail import ASK, DELETE, SAVE, Voicemail
from asmpg.exact import belief_process, memoryless_returns, optimal_returns

DISCOUNT = 0.95


@pytest.mark.parametrize(("environment", "optimal"), [(Tiger, 19.371), (Voicemail, 3.462)])
def test_the_optimum_is_the_known_one(environment, optimal):
    process = belief_process(environment().model, horizon=300)
    returns = optimal_returns(process, horizon=300, discount=DISCOUNT)
    assert float(returns.discounted) == pytest.approx(optimal, abs=5e-4)
    assert returns.episode_length == pytest.approx(300)
    assert returns.termination == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(("environment", "value"), [(Tiger, -606.67), (Voicemail, -83.33)])
def test_uniformly_random_actions_have_the_known_value(environment, value):
    with jax.enable_x64(True):
        returns = memoryless_returns(environment().model, horizon=600, discount=DISCOUNT)
        found = float(returns(jnp.full((2, 3), 1 / 3)).discounted)
    assert found == pytest.approx(value, abs=5e-3)


@pytest.mark.parametrize(
    ("environment", "state", "action", "rewards"),
    [
        (Tiger, 0, LISTEN, -1),
        (Tiger, 0, OPEN_LEFT, -100),
        (Tiger, 0, OPEN_RIGHT, 10),
        (Tiger, 1, OPEN_LEFT, 10),
        (Tiger, 1, OPEN_RIGHT, -100),
        (Voicemail, 0, ASK, -1),
        (Voicemail, 0, SAVE, 5),
        (Voicemail, 0, DELETE, -20),
        (Voicemail, 1, SAVE, -10),
        (Voicemail, 1, DELETE, 5),
    ],
)
def test_every_step_does_what_the_page_says(environment, state, action, rewards):
    """Reward, next state and observation, by 20,000 draws, to three standard errors."""
    keys = jax.random.split(jax.random.key(state * 3 + action), 20_000)
    observation, following, reward, terminated = jax.vmap(
        lambda key: environment().step(key, jnp.int32(state), action)
    )(keys)
    start = {Tiger: 0.5, Voicemail: 0.35}[environment]
    heard = {Tiger: (0.15, 0.85), Voicemail: (0.2, 0.7)}[environment]
    informative = action == 0
    assert set(np.asarray(reward).tolist()) == {rewards}
    assert not terminated.any()
    assert following.mean() == pytest.approx(state if informative else start, abs=0.012)
    assert observation.mean() == pytest.approx(heard[state] if informative else 0.5, abs=0.012)


@pytest.mark.parametrize("environment", [Tiger, Voicemail])
def test_the_first_observation_tells_nothing(environment):
    keys = jax.random.split(jax.random.key(7), 20_000)
    observation, state = jax.vmap(environment().reset)(keys)
    assert state.mean() == pytest.approx(environment().model.start[1], abs=0.012)
    for hidden in (0, 1):
        assert observation[state == hidden].mean() == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("environment", [Tiger, Voicemail])
def test_sizes_and_reward_bounds_are_the_known_ones(environment):
    env = environment()
    assert (env.observation_space.n, env.action_space.n) == (2, 3)
    assert env.describe_state(jnp.int32(0)) != env.describe_state(jnp.int32(1))
    assert env.reward_bound == {Tiger: 100, Voicemail: 20}[environment]


@pytest.mark.parametrize(
    ("environment", "option", "wrong", "message"),
    [
        (Tiger, "accuracy", 1.5, r"accuracy must be a number in \[0, 1\], got 1.5"),
        (Tiger, "max_steps", 0, "max_steps must be an integer of at least 1, got 0"),
        (Voicemail, "save_probability", -0.1, r"save_probability must be a number in \[0, 1\]"),
        (Voicemail, "delete_accuracy", 2, r"delete_accuracy must be a number in \[0, 1\], got 2"),
        (Voicemail, "ask_reward", float("nan"), "ask_reward must be a finite number, got nan"),
    ],
)
def test_options_are_checked(environment, option, wrong, message):
    with pytest.raises(ValueError, match=message):
        environment(**{option: wrong})
