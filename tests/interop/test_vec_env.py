"""Stable-Baselines3's `VecEnv`, by a class that follows its documented interface."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from test_host_autoreset import COLUMNS, COPIES, STEPS, begun, reference

import asmpg
from asmpg._support.errors import TrainingError
from asmpg.experience import Rollouts
from asmpg.interop import resolve
from asmpg.interop.host import HostSource
from host_environments import FakeVecEnv, NumPyCheeseMaze, RandomWalk

METHOD = asmpg.ASMPPO(
    num_states=2, critic="memory", num_environments=2, rollout_steps=16, epochs=1, minibatches=1
)
RUN = {"steps": 64, "evaluation_episodes": 4, "verbose": 0}


def mazes():
    return FakeVecEnv([lambda: NumPyCheeseMaze(max_steps=20)] * 2)


def test_rows_are_those_of_a_loop_by_hand():
    source = HostSource("walk", lambda: FakeVecEnv([RandomWalk] * COPIES), False)
    environments, seeds = begun(source.open(COPIES))
    rows = environments.collect(Rollouts(COPIES, STEPS))
    assert rows["valid"].all()
    assert (rows["ended"] & ~rows["terminated"]).any()
    assert rows["terminated"].any()
    for copy in range(COPIES):
        expected = reference(seeds[0] + copy, STEPS)
        for name, column in zip(COLUMNS, expected, strict=True):
            np.testing.assert_array_equal(rows[name][:, copy], column, err_msg=name)
    environments.driver.close()


def test_it_is_trained_in_made_by_a_function_or_copied():
    made = METHOD.learn(mazes, **RUN)
    instance = mazes()
    copied = METHOD.learn(instance, **RUN)
    for one, other in zip(made.result.rows, copied.result.rows, strict=True):
        assert one["undiscounted_return"] == other["undiscounted_return"]
        assert one["entropy"] == other["entropy"] or np.isnan(one["entropy"])
    assert not hasattr(instance.envs[0], "cell")
    assert not instance.closed
    assert len(made.evaluate(mazes, episodes=3).returns) == 3


def test_names_and_time_limits_are_those_inside():
    limited = FakeVecEnv([lambda: gymnasium.wrappers.TimeLimit(NumPyCheeseMaze(), 30)] * 2)
    assert resolve(limited, {}).interface.max_steps == 30
    pole = FakeVecEnv([lambda: gymnasium.make("CartPole-v1")])
    assert resolve(pole, {}).interface.name == "CartPole-v1"
    assert resolve(limited, {}).interface.name == "NumPyCheeseMaze"


class Masked(gymnasium.Env):
    observation_space = spaces.Discrete(2)
    action_space = spaces.Discrete(3)

    def action_masks(self):
        return np.asarray([True, self.time % 2 == 0, False])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time = 0
        return 0, {"latent": [0.0]}

    def step(self, action):
        assert self.action_masks()[action]
        self.time += 1
        return 1, 1.0, self.time == 3, False, {"latent": [float(self.time)]}


def test_masks_and_latent_states_are_read():
    resolved = resolve(lambda: FakeVecEnv([Masked] * 2), {})
    assert resolved.interface.masked
    driver = resolved.source.open(2, latent="latent")
    start = driver.reset([1, 2])
    assert start.masks.tolist() == [[True, True, False]] * 2
    steps = [driver.step(np.zeros(2, int)) for _ in range(3)]
    assert [step.masks[0].tolist()[1] for step in steps] == [False, True, True]
    assert [float(step.seen_latents[0, 0]) for step in steps] == [1.0, 2.0, 3.0]
    assert [float(step.latents[0, 0]) for step in steps] == [1.0, 2.0, 0.0]
    driver.close()


@pytest.mark.usefixtures("as_user")
def test_what_does_not_fit():
    with pytest.raises(ValueError, match=r"must have 8 copies, .*; got 2"):
        asmpg.ASMPPO().learn(mazes, **RUN)

    class Processes(FakeVecEnv):
        def __deepcopy__(self, memo):
            raise TypeError("cannot pickle a pipe")

    pipes = Processes([NumPyCheeseMaze] * 2)
    with pytest.raises(ValueError, match=r"cannot be copied \(.*pipe\): hand in a function"):
        METHOD.learn(pipes, **RUN)


def test_an_episode_must_show_its_last_observation():
    class Forgetful(FakeVecEnv):
        def step_wait(self):
            *rest, infos = super().step_wait()
            return *rest, [{} for _ in infos]

    source = HostSource("walk", lambda: Forgetful([RandomWalk] * 2), False)
    driver = source.open(2)
    driver.reset([1, 2])
    actions = np.zeros((10, 2), int)
    with pytest.raises(TrainingError, match="must have terminal_observation where an episode ends"):
        list(map(driver.step, actions))
    driver.close()
