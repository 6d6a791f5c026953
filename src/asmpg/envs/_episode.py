"""The record of one running episode, kept on the host for those who look at it."""

import dataclasses
from typing import Any

import numpy as np


@dataclasses.dataclass
class Episode:
    """Everything that has happened since `reset`.

    After `n` steps there are `n + 1` states and observations, and `n` actions and rewards.
    """

    states: list[Any]
    observations: list[np.ndarray]
    actions: list[int] = dataclasses.field(default_factory=list)
    rewards: list[float] = dataclasses.field(default_factory=list)
    terminated: bool = False
    truncated: bool = False

    def append(
        self, state: Any, observation: np.ndarray, action: int, reward: float, terminated: bool
    ) -> None:
        """Record one step."""
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
