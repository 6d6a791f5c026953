"""Voicemail: does the user want the message saved or deleted? Ask, or act on a guess.

Source: Williams and Young (2007), as a continuing task.

| action | user wants it saved        | user wants it deleted      | next wish           |
| ------ | -------------------------- | -------------------------- | ------------------- |
| ask    | -1, heard "save" with 0.8  | -1, heard "save" with 0.3  | the same            |
| save   | +5, heard: a fair coin     | -10, heard: a fair coin    | of the next message |
| delete | -20, heard: a fair coin    | +5, heard: a fair coin     | of the next message |

The user wants a message saved with probability 0.65. The first observation is a fair coin. Only
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

#: What the user wants, and what is heard.
WANTS_SAVE, WANTS_DELETE = range(2)
ASK, SAVE, DELETE = range(3)


class Voicemail(AbstractFiniteEnvironment):
    """The voicemail dialogue: 2 hidden states, 2 observations, actions ask, save, delete."""

    max_steps: int = eqx.field(static=True)
    save_probability: float = eqx.field(static=True)
    save_accuracy: float = eqx.field(static=True)
    delete_accuracy: float = eqx.field(static=True)
    ask_reward: float = eqx.field(static=True)
    correct_reward: float = eqx.field(static=True)
    wrong_save_reward: float = eqx.field(static=True)
    wrong_delete_reward: float = eqx.field(static=True)
    model: FiniteModel = eqx.field(static=True)
    tables: SamplingTables

    def __init__(
        self,
        *,
        max_steps: int = 300,
        save_probability: float = 0.65,
        save_accuracy: float = 0.8,
        delete_accuracy: float = 0.7,
        ask_reward: float = -1.0,
        correct_reward: float = 5.0,
        wrong_save_reward: float = -10.0,
        wrong_delete_reward: float = -20.0,
    ):
        """`save_probability` is that of a message to be saved.

        The accuracies are the probabilities that asking tells the user's wish, when it is to save
        and when it is to delete.
        """
        self.max_steps = check_integer("max_steps", max_steps, low=1)
        self.save_probability = check_number("save_probability", save_probability, low=0, high=1)
        self.save_accuracy = check_number("save_accuracy", save_accuracy, low=0, high=1)
        self.delete_accuracy = check_number("delete_accuracy", delete_accuracy, low=0, high=1)
        self.ask_reward = check_number("ask_reward", ask_reward)
        self.correct_reward = check_number("correct_reward", correct_reward)
        self.wrong_save_reward = check_number("wrong_save_reward", wrong_save_reward)
        self.wrong_delete_reward = check_number("wrong_delete_reward", wrong_delete_reward)
        self.model = self._build_model()
        self.tables = sampling_tables(self.model)

    def _build_model(self) -> FiniteModel:
        coin = np.full((2, 2), 0.5)
        wish = np.array([self.save_probability, 1 - self.save_probability])
        redrawn = np.stack([wish, wish])
        heard = np.array(
            [
                [self.save_accuracy, 1 - self.save_accuracy],
                [1 - self.delete_accuracy, self.delete_accuracy],
            ]
        )
        reward = np.full((2, 3), self.ask_reward)
        reward[WANTS_SAVE, SAVE] = reward[WANTS_DELETE, DELETE] = self.correct_reward
        reward[WANTS_DELETE, SAVE] = self.wrong_save_reward
        reward[WANTS_SAVE, DELETE] = self.wrong_delete_reward
        return FiniteModel.from_arrays(
            transition=np.stack([np.eye(2), redrawn, redrawn], axis=1),
            observation=np.stack([heard, coin, coin]),
            reward=reward,
            start=wish,
            start_observation=coin,
        )

    @property
    def observation_names(self) -> tuple[str, ...]:
        return ("heard save", "heard delete")

    @property
    def action_names(self) -> tuple[str, ...]:
        return ("ask", "save", "delete")

    def describe_state(self, state: Int[Array | np.ndarray, ""]) -> str:
        return f"user wants the message {('saved', 'deleted')[int(state)]}"
