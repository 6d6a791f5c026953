"""Memory probes: tasks with a known answer, each asking for one thing a memory must do.

| probe         | the memory must                         | agent states that suffice           |
| ------------- | --------------------------------------- | ----------------------------------- |
| `RepeatFirst` | hold one bit for `delay` steps          | 2: the bit, which is the action     |
| `TMaze`       | hold it while acting, for `length` steps | 4: the bit on the way, and the turn |
| `CountModulo` | keep count, step by step                | `modulus`: the count                |

Without memory, `RepeatFirst` and `TMaze` come down to a guess, and `CountModulo` nearly so.
"""

import equinox as eqx
import numpy as np
from jaxtyping import Array, Int

from asmpg._support.checks import check_integer
from asmpg.environments._finite_environment import (
    AbstractFiniteEnvironment,
    SamplingTables,
    sampling_tables,
)
from asmpg.environments._finite_model import FiniteModel

#: Models are written out state by state.
_LONGEST = 1_000_000


class RepeatFirst(AbstractFiniteEnvironment):
    """Repeat after `delay` steps what was seen first.

    The first observation is 0 or 1, by a fair coin; then comes 2, nothing, and `delay` steps after
    the first one 3, the question. The action played on it is the answer: +1 if it is the first
    observation, else -1, and the episode ends. Actions before it do nothing. The optimum is 1;
    without memory it is 0.
    """

    max_steps: int = eqx.field(static=True)
    delay: int = eqx.field(static=True)
    model: FiniteModel = eqx.field(static=True)
    tables: SamplingTables

    def __init__(self, *, delay: int = 5, max_steps: int = 200):
        """`delay` is the number of steps from the first observation to the question."""
        self.delay = check_integer("delay", delay, low=1, high=_LONGEST)
        self.max_steps = check_integer("max_steps", max_steps, low=1)
        self.model = self._build_model()
        self.tables = sampling_tables(self.model)

    def _build_model(self) -> FiniteModel:
        over = 2 * (self.delay + 1)
        bit, time = np.divmod(np.arange(over), self.delay + 1)
        asked = time == self.delay
        following = np.append(np.where(asked, over, np.arange(over) + 1), over)
        seen = np.append(np.select([time == 0, asked], [bit, 3], 2), 2)
        right = np.where(np.eye(2)[bit] > 0, 1.0, -1.0)
        return _deterministic(
            successor=np.repeat(following[:, None], 2, axis=1),
            reward=np.vstack([np.where(asked[:, None], right, 0.0), [0, 0]]),
            observation=np.eye(4)[seen],
            start=np.append(0.5 * (time == 0), 0.0),
        )

    @property
    def observation_names(self) -> tuple[str, ...]:
        return ("0", "1", "nothing", "question")

    def describe_state(self, state: Int[Array | np.ndarray, ""]) -> str:
        if int(state) == 2 * (self.delay + 1):
            return "answered"
        bit, time = divmod(int(state), self.delay + 1)
        return f"{bit} was first, asked in {self.delay - time}"


class TMaze(AbstractFiniteEnvironment):
    """A corridor with a junction at its end, and a sign at its beginning (Bakker, 2002).

    The sign says which way to turn at the junction, `length` steps on: observation 0 for up, 1 for
    down, by a fair coin; the corridor is 2, the junction 3. The right turn pays 4, the wrong one
    -0.1, and either ends the episode. A step that leads nowhere pays -0.1: turning in the corridor,
    going forward at the junction. The optimum is 4 undiscounted; without memory it is 1.95.
    """

    max_steps: int = eqx.field(static=True)
    length: int = eqx.field(static=True)
    model: FiniteModel = eqx.field(static=True)
    tables: SamplingTables

    def __init__(self, *, length: int = 10, max_steps: int = 200):
        """`length` is the number of steps from the sign to the junction."""
        self.length = check_integer("length", length, low=1, high=_LONGEST)
        self.max_steps = check_integer("max_steps", max_steps, low=1)
        self.model = self._build_model()
        self.tables = sampling_tables(self.model)

    def _build_model(self) -> FiniteModel:
        over = 2 * (self.length + 1)
        here = np.arange(over)
        down, position = np.divmod(here, self.length + 1)
        junction = position == self.length
        forward = np.where(junction, here, here + 1)
        turn = np.where(junction, over, here)
        successor = np.stack([forward, turn, turn], axis=1)
        reward = np.where(successor == here[:, None], -0.1, 0.0)
        pay = np.where(np.eye(2)[down] > 0, 4.0, -0.1)
        reward[:, 1:] = np.where(junction[:, None], pay, reward[:, 1:])
        seen = np.select([position == 0, junction], [down, 3], 2)
        return _deterministic(
            successor=np.vstack([successor, [over] * 3]),
            reward=np.vstack([reward, [0, 0, 0]]),
            observation=np.eye(4)[np.append(seen, 3)],
            start=np.append(0.5 * (position == 0), 0.0),
        )

    @property
    def observation_names(self) -> tuple[str, ...]:
        return ("sign up", "sign down", "corridor", "junction")

    @property
    def action_names(self) -> tuple[str, ...]:
        return ("forward", "up", "down")

    def describe_state(self, state: Int[Array | np.ndarray, ""]) -> str:
        if int(state) == 2 * (self.length + 1):
            return "out"
        down, position = divmod(int(state), self.length + 1)
        return f"{position} of {self.length} steps along, {'down' if down else 'up'} is right"


class CountModulo(AbstractFiniteEnvironment):
    """Keep count of events, modulo `modulus`.

    At each step an event (observation 1) happens or not (0), by a fair coin. The action is to be
    the number of events so far, modulo `modulus`: it pays 1 if it is, else `-1 / (modulus - 1)`, so
    that guessing pays nothing. Only the time limit ends an episode: the optimum is
    `max_steps` undiscounted.
    """

    max_steps: int = eqx.field(static=True)
    modulus: int = eqx.field(static=True)
    model: FiniteModel = eqx.field(static=True)
    tables: SamplingTables

    def __init__(self, *, modulus: int = 3, max_steps: int = 30):
        """`modulus` is the number of actions and of agent states that suffice."""
        self.modulus = check_integer("modulus", modulus, low=2, high=1_000)
        self.max_steps = check_integer("max_steps", max_steps, low=1)
        self.model = self._build_model()
        self.tables = sampling_tables(self.model)

    def _build_model(self) -> FiniteModel:
        count, event = np.divmod(np.arange(2 * self.modulus), 2)
        without, with_event = 2 * count, 2 * ((count + 1) % self.modulus) + 1
        successor = np.stack([without, with_event], axis=1)[:, None, :]
        every_action = (1, self.modulus, 1)
        start = np.zeros(2 * self.modulus)
        start[[0, 3]] = 0.5
        return FiniteModel(
            successor=np.tile(successor, every_action),
            probability=np.full((2 * self.modulus, self.modulus, 2), 0.5),
            reward=np.where(np.eye(self.modulus)[count] > 0, 1.0, -1 / (self.modulus - 1)),
            observation=np.eye(2)[event],
            start=start,
        )

    @property
    def observation_names(self) -> tuple[str, ...]:
        return ("no event", "event")

    def describe_state(self, state: Int[Array | np.ndarray, ""]) -> str:
        return f"count {int(state) // 2}"


def _deterministic(
    *, successor: np.ndarray, reward: np.ndarray, observation: np.ndarray, start: np.ndarray
) -> FiniteModel:
    """A model that is random only at the start, and whose last state is terminal."""
    return FiniteModel(
        successor=successor[:, :, None],
        probability=np.ones((*successor.shape, 1)),
        reward=reward,
        observation=observation,
        start=start,
        terminal=np.arange(len(successor)) == len(successor) - 1,
    )
