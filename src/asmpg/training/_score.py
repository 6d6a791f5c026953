"""The one number by which policies are compared in an environment."""

import dataclasses
from typing import Any

from asmpg.environments import Environment


@dataclasses.dataclass(frozen=True)
class Score:
    """Where to find the score: among the metrics, sampled and exact, and among the yardsticks."""

    name: str
    exact: str
    yardstick: str

    @property
    def label(self) -> str:
        """The name, for people."""
        return self.name.replace("_", " ")


_REWARD_PER_STEP = Score("reward_per_step", "exact_reward_per_step", "reward_per_step")
_RETURN = Score("undiscounted_return", "exact_undiscounted", "undiscounted")


def score_of(environment: Environment[Any] | None) -> Score:
    """The paper's choice: reward per step in its two mazes, where every success pays alike.

    Everywhere else it is the undiscounted return.
    """
    mazes = ("CheeseMaze", "HallwayNavigation")
    return _REWARD_PER_STEP if environment is not None and environment.name in mazes else _RETURN
