"""Environments of Gymnasium as users write them, for tests."""

import os
import sys
import time

import gymnasium
import numpy as np
from gymnasium import spaces

#: The cheese maze: cells by (x, y), what they show, the moves north, south, east, west.
CELLS = [(0, 2), (1, 2), (2, 2), (3, 2), (4, 2), (0, 1), (2, 1), (4, 1), (0, 0), (4, 0), (2, 0)]
SHOWN = [0, 1, 2, 1, 3, 4, 4, 4, 5, 5, 6]
MOVES = [(0, 1), (0, -1), (1, 0), (-1, 0)]
GOAL = 10


class NumPyCheeseMaze(gymnasium.Env):
    """McCallum's maze, written anew without a look at ours."""

    observation_space = spaces.Discrete(7)
    action_space = spaces.Discrete(4)

    def __init__(self, max_steps=200):
        self.max_steps = max_steps

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cell, self.time = int(self.np_random.integers(10)), 0
        return SHOWN[self.cell], {}

    def step(self, action):
        (x, y), (dx, dy) = CELLS[self.cell], MOVES[action]
        if (x + dx, y + dy) in CELLS:
            self.cell = CELLS.index((x + dx, y + dy))
        self.time += 1
        found = self.cell == GOAL
        late = self.time >= self.max_steps and not found
        return SHOWN[self.cell], float(found), found, late, {}


class RandomWalk(gymnasium.Env):
    """Ends by chance, or is cut off after 7 steps.

    With `in_place` it writes all observations into one array. Gymnasium's vector environments that
    reset in the same step then lose the last one of each episode.
    """

    observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float64)
    action_space = spaces.Discrete(3, start=5)

    def __init__(self, *, in_place=True):
        self._buffer, self._in_place = np.zeros(2), in_place

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._time = 0
        return self._show(self.np_random.integers(100, 200), 0), {}

    def step(self, action):
        assert action in self.action_space
        self._time += 1
        place = self._buffer[0] + action - 5 + self.np_random.integers(3)
        seen = self._show(place, self._time)
        terminated = bool(self.np_random.random() < 0.2)
        truncated = self._time >= 7 and not terminated
        return seen, float(place), terminated, truncated, {}

    def _show(self, *numbers):
        self._buffer[:] = numbers
        return self._buffer if self._in_place else self._buffer.copy()


class MazeInParts(NumPyCheeseMaze):
    """The maze with a light that goes on and off: 14 symbols, in a dict and a tuple."""

    observation_space = spaces.Dict(
        light=spaces.Tuple([spaces.Discrete(2)]), shown=spaces.Discrete(7)
    )

    def reset(self, *, seed=None, options=None):
        shown, info = super().reset(seed=seed)
        return self._parts(shown), info

    def step(self, action):
        shown, *rest = super().step(action)
        return self._parts(shown), *rest

    def _parts(self, shown):
        return {"light": (self.time % 2,), "shown": shown}


class WalkInParts(RandomWalk):
    """The random walk, the two numbers of its observations in different parts."""

    observation_space = spaces.Dict(
        place=spaces.Box(-np.inf, np.inf, (1,), np.float64),
        rest=spaces.Tuple([spaces.Box(0, 7, (1, 1), np.float64)]),
    )

    def _show(self, *numbers):
        shown = super()._show(*numbers)
        return {"place": shown[:1], "rest": (shown[1:].reshape(1, 1),)}


class Faulty(gymnasium.Env):
    """Goes well for some steps, then does what `fault` says."""

    observation_space = spaces.Box(-1, 1, (1,), np.float32)
    action_space = spaces.Discrete(2)

    def __init__(self, fault, after=300):
        self.fault, self.left = fault, after

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.time += 1
        self.left -= 1
        seen, reward, terminated = np.zeros(1, np.float32), 0.0, self.time >= 5
        if self.left < 0:
            match self.fault:
                case "raise":
                    raise RuntimeError("the motor is on fire")
                case "exit":
                    sys.exit("enough")
                case "die":
                    os._exit(3)
                case "interrupt":
                    raise KeyboardInterrupt
                case "hang":
                    time.sleep(3600)
                case "four":
                    return seen, reward, terminated, {}
                case "reward":
                    reward = np.nan
                case "observation":
                    seen[0] = np.nan
                case "bounds":
                    seen[0] = 1.5
                case "rounding":
                    seen[0] = np.nextafter(np.float32(1), np.float32(2))
                case "flag":
                    terminated = "no"
        return seen, reward, terminated, False, {}

    def close(self):
        if self.fault == "close":
            raise OSError("the port is gone")


class Endless(gymnasium.Env):
    """Never ends an episode."""

    observation_space = spaces.Discrete(2)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        return 1, 0.0, False, False, {}


class FakeVecEnv:
    """What Stable-Baselines3 2.x documents of `DummyVecEnv`, without it."""

    def __init__(self, makers):
        self.envs = [make() for make in makers]
        self.num_envs = len(self.envs)
        self.observation_space = self.envs[0].observation_space
        self.action_space = self.envs[0].action_space
        self.reset_infos = [{} for _ in makers]
        self._seeds = [None] * self.num_envs
        self.closed = False

    @property
    def unwrapped(self):
        return self

    def seed(self, seed=None):
        self._seeds = [seed + place for place in range(self.num_envs)]
        return self._seeds

    def reset(self):
        seen = []
        for place, env in enumerate(self.envs):
            observation, self.reset_infos[place] = env.reset(seed=self._seeds[place])
            seen.append(np.copy(observation))
        self._seeds = [None] * self.num_envs
        return np.stack(seen)

    def step_async(self, actions):
        self._actions = actions

    def step_wait(self):
        seen, rewards, dones, infos = [], [], [], []
        for place, (env, action) in enumerate(zip(self.envs, self._actions, strict=True)):
            observation, reward, terminated, truncated, info = env.step(action)
            info = {**info, "TimeLimit.truncated": truncated and not terminated}
            if terminated or truncated:
                info["terminal_observation"] = np.copy(observation)
                observation, self.reset_infos[place] = env.reset()
            seen.append(np.copy(observation))
            rewards.append(reward)
            dones.append(terminated or truncated)
            infos.append(info)
        return np.stack(seen), np.asarray(rewards, np.float32), np.asarray(dones), infos

    def env_method(self, name, *arguments, **options):
        return [getattr(env, name)(*arguments, **options) for env in self.envs]

    def has_attr(self, name):
        return all(hasattr(env, name) for env in self.envs)

    def close(self):
        self.closed = True
        for env in self.envs:
            env.close()
