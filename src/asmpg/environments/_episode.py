"""The record of one running episode, kept on the host for display."""

import dataclasses
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Key

from asmpg.environments._environment import Environment


@dataclasses.dataclass
class Episode:
    """Everything that has happened since `reset`.

    After `n` steps there are `n + 1` states and observations, and `n` actions and rewards.
    """

    states: list[Any]
    observations: list[np.ndarray]
    #: Integers, or arrays where actions are not `Discrete`.
    actions: list[Any] = dataclasses.field(default_factory=list)
    rewards: list[float] = dataclasses.field(default_factory=list)
    terminated: bool = False
    truncated: bool = False

    def append(
        self, state: Any, observation: np.ndarray, action: Any, reward: float, terminated: bool
    ) -> None:
        self.states.append(state)
        self.observations.append(observation)
        self.actions.append(action)
        self.rewards.append(reward)
        self.terminated = terminated

    @property
    def steps(self) -> int:
        """How many actions have been played."""
        return len(self.actions)

    @property
    def undiscounted_return(self) -> float:
        """The sum of rewards so far."""
        return float(sum(self.rewards))


def random_episode(environment: Environment[Any], *, seed: int, steps: int) -> Episode:
    """Play uniformly random actions until the episode ends, `steps` at most."""

    @jax.jit
    def step(key: Key[Array, ""], state: Any) -> tuple[Any, ...]:
        key, action_key, step_key = jax.random.split(key, 3)
        action = environment.action_space.sample(action_key)
        observation, state, reward, terminated = environment.step(step_key, state, action)
        return key, state, observation, action, reward, terminated

    key, reset_key = jax.random.split(jax.random.key(seed))
    observation, state = jax.jit(environment.reset)(reset_key)
    episode = Episode([state], [np.asarray(observation)])
    while episode.steps < min(steps, environment.max_steps) and not episode.terminated:
        key, state, observation, action, reward, terminated = step(key, state)
        played = int(action) if action.ndim == 0 else np.asarray(action)
        episode.append(state, np.asarray(observation), played, float(reward), bool(terminated))
    episode.truncated = episode.steps == environment.max_steps and not episode.terminated
    return episode
