"""Environments are made by name, with checked options."""

import jax
import numpy as np
import pytest

import asmpg
from asmpg.environments import (
    PAPER_ENVIRONMENTS,
    Box,
    Discrete,
    Environment,
    PaperSizes,
    paper_sizes,
    registered_names,
)
from asmpg.environments.cheese_maze import CheeseMaze
from asmpg.environments.popgym import POPGYM_TASKS
from quick import long


@pytest.mark.parametrize(
    "name",
    [long(name) if name.endswith(("Medium", "Hard")) else name for name in registered_names()],
)
def test_every_environment_keeps_the_contract(name):
    """Shapes, spaces and bounds over 300 random steps of 16 episodes, jitted and vmapped."""
    env = asmpg.make(name)
    assert isinstance(env, Environment)
    assert env.name == name
    if name not in POPGYM_TASKS:
        assert env.max_steps == {"Tiger": 300, "Voicemail": 300, "CountModulo": 30}.get(name, 200)
    if isinstance(env.action_space, Discrete):
        assert len(env.action_names) == env.action_space.n

    @jax.jit
    @jax.vmap
    def play(key):
        def step(carry, key):
            action_key, step_key, reset_key = jax.random.split(key, 3)
            action = env.action_space.sample(action_key)
            observation, state, reward, terminated = env.step(step_key, carry, action)
            _, fresh = env.reset(reset_key)
            state = jax.tree.map(lambda a, b: jax.numpy.where(terminated, a, b), fresh, state)
            return state, (observation, reward)

        first, state = env.reset(key)
        return first, jax.lax.scan(step, state, jax.random.split(key, 300))[1]

    action = env.action_space.sample(jax.random.key(0))
    jax.jit(env.step)(jax.random.key(0), jax.jit(env.reset)(jax.random.key(0))[1], action)
    first, (observations, rewards) = jax.device_get(play(jax.random.split(jax.random.key(0), 16)))
    assert first.shape[1:] == env.observation_space.shape
    for observation in [*first, *observations.reshape(-1, *env.observation_space.shape)]:
        assert env.observation_space.contains(observation)
    assert abs(rewards).max() <= env.reward_bound


@pytest.mark.parametrize("name", registered_names())
def test_options_rebuild_the_environment(name):
    env = asmpg.make(name, max_steps=7)
    again = asmpg.make(name, **env.options())
    assert again.max_steps == 7
    assert again.options() == env.options()
    assert jax.tree.structure(again) == jax.tree.structure(env)


def test_a_gymnasium_id_is_the_name_of_its_environment():
    for name in PAPER_ENVIRONMENTS:
        env = asmpg.make(name)
        assert asmpg.make(env.gymnasium_id).name == name


def test_each_environment_declares_its_score_and_the_papers_sizes():
    declared = {name: (asmpg.make(name).score, paper_sizes(name)) for name in PAPER_ENVIRONMENTS}
    assert declared == {
        "CheeseMaze": ("reward_per_step", (8, 128)),
        "HallwayNavigation": ("reward_per_step", (8, 64)),
        "HealthcareTreatment": ("undiscounted_return", (3, 64)),
        "MachineRepair": ("undiscounted_return", (8, 64)),
        "VelocityOnlyCartPole": ("undiscounted_return", (4, 128)),
    }
    assert asmpg.make("Tiger").score == "undiscounted_return"
    assert paper_sizes("Tiger") is None
    assert paper_sizes("Unheard-of") is None


@pytest.mark.parametrize("wrong", ["ChesseMaze", "cheesemaze", "asmpg/Cheese-v0"])
def test_an_unknown_name_answers_with_the_nearest(wrong):
    with pytest.raises(ValueError, match="did you mean CheeseMaze"):
        asmpg.make(wrong)


def test_an_unknown_option_answers_with_the_accepted_ones():
    with pytest.raises(ValueError, match="options of CheeseMaze must be among: max_steps"):
        asmpg.make("CheeseMaze", gravity=1.0)


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("CheeseMaze", {"max_steps": -1}, "max_steps must be an integer of at least 1, got -1"),
        ("CheeseMaze", {"max_steps": 2.5}, "max_steps must be an integer .* got 2.5"),
        ("CheeseMaze", {"goal_reward": float("nan")}, "goal_reward must be a finite number"),
        ("MachineRepair", {"degrade_base": 1.5}, r"degrade_base must be a number in \[0, 1\]"),
        ("MachineRepair", {"degrade_wear": 0.99}, r"degrade_wear must be a number in \[0, 0.98\]"),
        ("HealthcareTreatment", {"noise": -0.1}, "noise must be a number of at least 0"),
        ("HealthcareTreatment", {"cost": (1.0, 2.0)}, "cost must have three numbers"),
        ("VelocityOnlyCartPole", {"time_step": 0}, "time_step must be a number in"),
        ("VelocityOnlyCartPole", {"start_range": 1.0}, "start_range must be a number in"),
    ],
)
def test_options_out_of_range_are_named(name, options, message):
    with pytest.raises(ValueError, match=message):
        asmpg.make(name, **options)


@pytest.mark.parametrize("name", asmpg.registered_names())
def test_observations_and_actions_have_a_word_each(name):
    environment = asmpg.make(name)
    space = environment.observation_space
    seen = space.n if isinstance(space, Discrete) else len(space.low)
    assert len(set(environment.observation_names)) == len(environment.observation_names) == seen
    actions, space = environment.action_names, environment.action_space
    assert len(set(actions)) == len(actions)
    if not isinstance(space, Box):
        assert len(actions) == (space.n if isinstance(space, Discrete) else np.prod(space.sizes))


def test_a_users_own_factory(monkeypatch):
    monkeypatch.setattr("asmpg.environments._registry._registered", {})
    asmpg.register("ShortMaze", lambda max_steps=20: CheeseMaze(max_steps=max_steps))
    assert asmpg.make("ShortMaze").max_steps == 20
    assert asmpg.make("ShortMaze", max_steps=5).max_steps == 5
    assert "ShortMaze" in asmpg.registered_names()
    with pytest.raises(ValueError, match="'ShortMaze' is already registered"):
        asmpg.register("ShortMaze", CheeseMaze)
    with pytest.raises(ValueError, match="name must start with a letter"):
        asmpg.register("short maze", CheeseMaze)
    asmpg.register("Broken", lambda: 3)
    with pytest.raises(ValueError, match="factory of Broken must return an Environment, got 3"):
        asmpg.make("Broken")


def test_a_users_own_class_brings_what_it_declares(monkeypatch):
    monkeypatch.setattr("asmpg.environments._registry._registered", {})

    class Maze(CheeseMaze):
        score = "undiscounted_return"
        paper = PaperSizes(num_states=2, hidden=16)

    asmpg.register("MyMaze", Maze)
    env = asmpg.make("MyMaze", max_steps=5)
    assert (type(env), env.max_steps, env.score) == (Maze, 5, "undiscounted_return")
    assert paper_sizes("MyMaze") == (2, 16)
    with pytest.raises(ValueError, match="options of MyMaze must be among: max_steps, goal_reward"):
        asmpg.make("MyMaze", gravity=1.0)
