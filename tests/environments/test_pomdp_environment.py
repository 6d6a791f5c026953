"""A POMDP file goes wherever an environment goes, and pays what it says."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import asmpg
from asmpg.environments import random_episode
from asmpg.environments.drawing import text
from asmpg.environments.pomdp_files import PomdpEnvironment
from asmpg.interop import is_on_host, resolve
from asmpg.runs import RunConfig

TEXT = """
discount: 0.9
states: near far goal
actions: stay go
observations: dark light
start: 0.5 0.5 0
T: stay identity
T: go : near : goal 1
T: go : far : near 0.5
T: go : far : far 0.5
T: * : goal reset
O: * : near : dark 1
O: * : far 0.25 0.75
O: * : goal : light 1
R: go : near : goal : * 10
R: go : far : far : light 2
R: go : far : far : dark -2
R: go : far : near : * 1
"""


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "walk.POMDP"
    path.write_text(TEXT)
    return path


def test_the_names_and_the_discount_of_the_file(path):
    env = asmpg.make(str(path), max_steps=50)
    assert isinstance(env, PomdpEnvironment)
    assert (env.name, env.discount, env.max_steps) == ("walk", 0.9, 50)
    assert env.action_names == ("stay", "go")
    assert env.observation_names == ("dark", "light", "nothing yet")
    assert [env.describe_state(jnp.int32(state)) for state in range(3)] == ["near", "far", "goal"]
    assert env.reward_bound == 10
    shown = text(env, random_episode(env, seed=0, steps=0))
    assert "observation: nothing yet" in shown
    assert "state: near" in shown or "state: far" in shown
    assert asmpg.make(str(path), **env.options()) == asmpg.make(str(path), max_steps=50)


def test_reset_shows_nothing_yet_unless_asked_to(path):
    def first(**options):
        env = asmpg.make(str(path), **options)
        return jax.vmap(env.reset)(jax.random.split(jax.random.key(0), 400))

    observation, state = first()
    assert set(observation.tolist()) == {2}
    assert set(state.tolist()) == {0, 1}
    observation, state = first(first_observation=True)
    assert set(observation[state == 0].tolist()) == {0}
    # 200 draws of probability 0.75; five standard errors are 0.15.
    assert np.mean(observation[state == 1] == 1) == pytest.approx(0.75, abs=0.15)


def test_steps_pay_what_the_file_says_for_what_is_seen(path):
    env = PomdpEnvironment(path)
    keys = jax.random.split(jax.random.key(1), 4000)
    observation, after, reward, terminated = jax.vmap(env.step, (0, None, None))(
        keys, jnp.int32(1), 1
    )
    assert not terminated.any()
    paid = {(0, 0): 1.0, (1, 1): 2.0, (1, 0): -2.0}
    for y, o, r in zip(after.tolist(), observation.tolist(), reward.tolist(), strict=True):
        assert r == paid[y, o]
    # The mean is that of the model, 0.5 * 1 + 0.5 * (0.75 * 2 - 0.25 * 2) = 1; the standard
    # deviation of a step is 1.22, five standard errors are 0.1.
    assert env.model.expected_reward[1, 1] == pytest.approx(1.0)
    assert reward.mean() == pytest.approx(1.0, abs=0.1)
    assert float(env.step(keys[0], jnp.int32(0), 1)[2]) == 10.0


def test_episodes_go_on_from_the_goal_unless_told_to_stop(path):
    key = jax.random.key(0)
    env = asmpg.make(str(path))
    _, state, _, terminated = env.step(key, jnp.int32(0), 1)
    assert (int(state), bool(terminated)) == (2, False)
    assert int(env.step(key, state, 0)[1]) in (0, 1)
    stopping = asmpg.make(str(path), stop_at_goals=True)
    _, state, reward, terminated = stopping.step(key, jnp.int32(0), 1)
    assert (int(state), float(reward), bool(terminated)) == (2, 10.0, True)


def test_a_goal_that_pays_on_leaving_is_left_for_the_end(path):
    path.write_text(TEXT + "R: * : goal : * : * 3\n")
    env = asmpg.make(str(path), stop_at_goals=True)
    _, state, reward, terminated = env.step(jax.random.key(0), jnp.int32(0), 1)
    assert (int(state), float(reward), bool(terminated)) == (2, 10.0, False)
    _, state, reward, terminated = env.step(jax.random.key(0), state, 0)
    assert (env.describe_state(state), float(reward), bool(terminated)) == ("the end", 3.0, True)


def test_goals_of_the_classics():
    """Cassandra's restart, pobax's stay where they are and have their own symbol."""
    maze = asmpg.read_pomdp("4x3_nonterminating.pomdp")
    assert [maze.states[goal] for goal in maze.goals()] == [maze.states[i] for i in (3, 6)]
    assert len(asmpg.read_pomdp("tmaze5.pomdp").goals()) == 1


def test_a_file_is_resolved_and_trained_in(path, tmp_path):
    assert not is_on_host(str(path))
    resolved = resolve(str(path), {"max_steps": 20})
    assert resolved.environment is not None
    assert resolved.interface.max_steps == 20
    agent = asmpg.ASMPG(num_states=2, policy="tabular").learn(
        str(path), environment_options={"max_steps": 20}, steps=100, verbose=0
    )
    action, _ = agent.predict(2)
    assert int(action) in (0, 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"first_observation": 1}, "first_observation must be true or false, got 1"),
        ({"max_steps": 0}, "max_steps must be"),
        ({"horizon": 5}, "options of .*walk.POMDP must be among: path, max_steps, first_obs"),
    ],
)
@pytest.mark.usefixtures("as_user")
def test_wrong_options_are_named(path, options, message):
    with pytest.raises(ValueError, match=message):
        asmpg.make(str(path), **options)


def test_a_file_that_is_not_there():
    with pytest.raises(
        ValueError, match=r"path must be a POMDP file or one of 4x3_nont.*no file x"
    ):
        asmpg.make("x.pomdp")


def test_a_file_is_scored_with_its_own_discount(path):
    env = asmpg.make(str(path))
    assert env.score == "discounted_return"
    assert asmpg.make("CheeseMaze").discount is None


def test_a_method_by_name_has_the_discount_of_the_file(path):
    config = RunConfig(str(path))
    assert config.make_method().return_discount == 0.9
    assert RunConfig.from_dict(config.to_dict()).make_method().return_discount == 0.9
    given = RunConfig(str(path), method_options={"discount": 0.5})
    assert given.make_method().return_discount == 0.5
    assert RunConfig(asmpg.make(str(path)), method="gru-ppo").make_method().return_discount == 0.9
    assert RunConfig("CheeseMaze").make_method().return_discount == 0.99
