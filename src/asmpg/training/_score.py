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


_SCORES = {
    "reward_per_step": Score("reward_per_step", "exact_reward_per_step", "reward_per_step"),
    "undiscounted_return": Score("undiscounted_return", "exact_undiscounted", "undiscounted"),
}


def score_of(environment: Environment[Any] | None) -> Score:
    """What `environment` declares; without one, as on the host, the default."""
    return _SCORES[Environment.score if environment is None else environment.score]
