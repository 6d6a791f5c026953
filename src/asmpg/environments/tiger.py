"""Tiger: two doors, a tiger behind one of them, and ears that are right most of the time.

Source: Cassandra, Kaelbling and Littman (1994), as a task without end.

| action     | tiger left | tiger right | then the tiger | heard                           |
| ---------- | ---------- | ----------- | -------------- | ------------------------------- |
| listen     | -1         | -1          | stays          | its side, with probability 0.85 |
| open left  | -100       | +10         | is placed anew | a fair coin                     |
| open right | +10        | -100        | is placed anew | a fair coin                     |

The tiger is placed left or right with equal probability. The first observation is a fair coin. Only
the time limit ends an episode.
"""

import equinox as eqx
import numpy as np
from jaxtyping import Array, Int

from asmpg._support.checks import check_integer, check_number
from asmpg.environments._finite_environment import (
    AbstractFiniteEnvironment,
    SamplingTables,
    sampling_tables,
)
from asmpg.environments._finite_model import FiniteModel

#: Where the tiger is, and where it is heard.
LEFT, RIGHT = range(2)
LISTEN, OPEN_LEFT, OPEN_RIGHT = range(3)


class Tiger(AbstractFiniteEnvironment):
    """The tiger problem: 2 hidden states, 2 observations, actions listen, open left, open right."""

    max_steps: int = eqx.field(static=True)
    accuracy: float = eqx.field(static=True)
    listen_reward: float = eqx.field(static=True)
    tiger_reward: float = eqx.field(static=True)
    escape_reward: float = eqx.field(static=True)
    model: FiniteModel = eqx.field(static=True)
    tables: SamplingTables

    def __init__(
        self,
        *,
        max_steps: int = 300,
        accuracy: float = 0.85,
        listen_reward: float = -1.0,
        tiger_reward: float = -100.0,
        escape_reward: float = 10.0,
    ):
        """`accuracy` is the probability that listening tells the right side.

        `tiger_reward` is paid for opening the tiger's door, `escape_reward` for the other one.
        """
        self.max_steps = check_integer("max_steps", max_steps, low=1)
        self.accuracy = check_number("accuracy", accuracy, low=0, high=1)
        self.listen_reward = check_number("listen_reward", listen_reward)
        self.tiger_reward = check_number("tiger_reward", tiger_reward)
        self.escape_reward = check_number("escape_reward", escape_reward)
        self.model = self._build_model()
        self.tables = sampling_tables(self.model)

    def _build_model(self) -> FiniteModel:
        coin = np.full((2, 2), 0.5)
        transition = np.stack([np.eye(2), coin, coin], axis=1)
        heard = np.where(np.eye(2, dtype=bool), self.accuracy, 1 - self.accuracy)
        reward = np.full((2, 3), self.listen_reward)
        reward[LEFT, OPEN_LEFT] = reward[RIGHT, OPEN_RIGHT] = self.tiger_reward
        reward[LEFT, OPEN_RIGHT] = reward[RIGHT, OPEN_LEFT] = self.escape_reward
        return FiniteModel.from_arrays(
            transition=transition,
            observation=np.stack([heard, coin, coin]),
            reward=reward,
            start=coin[0],
            start_observation=coin,
        )

    @property
    def observation_names(self) -> tuple[str, ...]:
        return ("heard left", "heard right")

    @property
    def action_names(self) -> tuple[str, ...]:
        return ("listen", "open left", "open right")

    def describe_state(self, state: Int[Array | np.ndarray, ""]) -> str:
        return f"tiger {('left', 'right')[int(state)]}"
