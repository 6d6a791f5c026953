"""Drawings show where an episode stands."""

import subprocess
import sys

import jax
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import asmpg
from asmpg.environments import Box, Environment, Episode
from asmpg.environments.drawing import draw_chart, draw_maze, picture, text
from finite import make_finite

NAMES = (
    "CheeseMaze",
    "HallwayNavigation",
    "HealthcareTreatment",
    "MachineRepair",
    "VelocityOnlyCartPole",
)
MAZES = NAMES[:2]
each_environment = pytest.mark.parametrize("name", NAMES)


def play(environment, actions, seed=0):
    """The record of playing `actions`, up to the end of the episode."""
    key = jax.random.key(seed)
    observation, state = environment.reset(key)
    episode = Episode([jax.device_get(state)], [np.asarray(observation)])
    for time, action in enumerate(actions):
        observation, state, reward, terminated = environment.step(
            jax.random.fold_in(key, time), state, action
        )
        episode.append(
            jax.device_get(state), np.asarray(observation), action, float(reward), bool(terminated)
        )
        if terminated:
            break
    return episode


def titles(environment, episode):
    axes = Figure().add_subplot()
    environment.draw(axes, episode)
    return [axes.get_title("left"), axes.get_title("right"), *(t.get_text() for t in axes.texts)]


@each_environment
def test_a_picture_has_the_size_asked_for(name):
    environment = asmpg.make(name)
    episode = play(environment, [0, 1])
    image = picture(environment, episode, size=(333, 251))
    assert image.shape == (251, 333, 3)
    assert image.dtype == np.uint8
    assert image.std() > 5


def test_a_picture_must_have_a_size():
    environment = asmpg.make("CheeseMaze")
    with pytest.raises(ValueError, match=r"size\[1\] must be an integer of at least 16, got 0"):
        picture(environment, play(environment, []), size=(100, 0))


@each_environment
def test_pictures_of_different_states_differ(name):
    environment = asmpg.make(name)
    episodes = [play(environment, actions) for actions in ([], [0], [1], [1, 0, 1])]
    images = {picture(environment, episode, size=(240, 180)).tobytes() for episode in episodes}
    assert len(images) == len(episodes)


@each_environment
def test_the_title_tells_name_step_return_and_reward(name):
    environment = asmpg.make(name, max_steps=50)
    episode = play(environment, [0, 1, 0])
    assert titles(environment, episode)[:2] == [name, ""]
    shown = " ".join(titles(environment, episode))
    assert f"step {episode.steps}/50" in shown
    assert f"return {episode.undiscounted_return:+.2f}" in shown
    assert f"last reward {episode.rewards[-1]:+.2f}" in shown


def test_the_title_tells_termination_from_truncation():
    environment = asmpg.make("VelocityOnlyCartPole")
    lost = play(environment, [1] * 30)
    assert lost.terminated
    assert titles(environment, lost)[1] == "terminated"
    stopped = play(environment, [1])
    stopped.truncated = True
    assert titles(environment, stopped)[1] == "truncated"


@pytest.mark.parametrize("name", MAZES)
def test_a_maze_is_drawn_with_the_observation_of_every_cell(name):
    environment = make_finite(name)
    shown = titles(environment, play(environment, []))
    observations = environment.model.start_observation.argmax(axis=-1)
    named = name == "CheeseMaze"
    labels = environment.observation_names if named else [str(symbol) for symbol in range(16)]
    assert {labels[observation] for observation in observations} <= set(shown)


def test_only_a_maze_is_drawn_as_one():
    environment = asmpg.make("MachineRepair")
    with pytest.raises(ValueError, match="must be a maze, got MachineRepair"):
        draw_maze(Figure().add_subplot(), environment, play(environment, []))


@pytest.mark.parametrize("name", MAZES)
def test_the_text_of_a_maze_is_a_map(name):
    environment = asmpg.make(name)
    shown = text(environment, play(environment, [0]))
    assert shown.count("@") == 1
    assert "G" in shown
    assert "#" in shown
    assert "last action: north" in shown


def test_the_agent_moves_on_the_map():
    environment = asmpg.make("HallwayNavigation")
    maps = [
        [line for line in text(environment, play(environment, moves)).splitlines() if "#" in line]
        for moves in ([], [1], [3])
    ]
    assert maps[0] != maps[1] or maps[0] != maps[2]


@each_environment
def test_the_text_describes_state_observation_action_and_reward(name):
    environment = asmpg.make(name)
    episode = play(environment, [0])
    shown = text(environment, episode)
    assert environment.describe_state(episode.states[-1]) in shown
    assert "observation: " in shown
    assert f"last action: {environment.action_names[0]}" in shown
    assert f"last reward {episode.rewards[-1]:+.2f}" in shown


@pytest.mark.parametrize(
    ("name", "action", "description"),
    [
        ("popgym-BattleshipEasy", (3, 6), "3 6"),
        ("popgym-PositionOnlyPendulumEasy", (0.25,), "0.25"),
    ],
)
def test_the_text_describes_actions_of_several_parts_and_real_ones(name, action, description):
    environment = asmpg.make(name)
    episode = play(environment, [np.asarray(action)])
    assert f"last action: {description}\n" in text(environment, episode)


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("CheeseMaze", "cell 5 (x=0, y=1)"),
        ("HallwayNavigation", "cell 5 (x=5, y=0)"),
        ("MachineRepair", "healthy, wear 0.5"),
    ],
)
def test_a_finite_state_is_described_for_people(name, description):
    assert asmpg.make(name).describe_state(np.asarray(5)) == description


def coin_game(actions=2):
    """A model of one's own: three states, six symbols, no rule."""
    random = np.random.default_rng(0)
    model = asmpg.FiniteModel.from_arrays(
        transition=random.dirichlet(np.ones(3), size=(3, actions)),
        observation=random.dirichlet(np.ones(6), size=3),
        reward=random.normal(size=(3, actions)),
        start=np.ones(3) / 3,
    )
    return asmpg.FiniteEnvironment(model, label="Coin game")


@pytest.mark.parametrize("actions", [2, 9])
@pytest.mark.parametrize("steps", [0, 1, 40])
def test_an_environment_of_ones_own_gets_a_chart(actions, steps):
    environment = coin_game(actions)
    episode = play(environment, [step % actions for step in range(steps)])
    assert titles(environment, episode)[0] == "Coin game"
    axes = Figure().add_subplot()
    environment.draw(axes, episode)
    panels = [panel.get_title("left") for panel in axes.child_axes if isinstance(panel, Axes)]
    assert panels == ["observation", "action", "reward"]
    assert picture(environment, episode).std() > 5


def test_the_chart_takes_vectors_too():
    environment = asmpg.make("VelocityOnlyCartPole")
    assert isinstance(environment.observation_space, Box)
    axes = Figure().add_subplot()
    draw_chart(axes, environment, play(environment, [0, 1]))
    assert len(axes.child_axes[0].lines) == 2
    assert type(environment).draw is not Environment.draw


def test_without_matplotlib_text_works_and_pictures_say_what_to_install():
    code = """
import sys
sys.modules["matplotlib"] = None
import asmpg
for mode in ("ansi", "rgb_array"):
    env = asmpg.to_gymnasium("CheeseMaze", render_mode=mode)
    env.reset(seed=0)
    try:
        print("@" in env.render())
    except ImportError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    works, message = done.stdout.splitlines()
    assert works == "True"
    assert "pip install matplotlib" in message
