"""A POMDP file as an environment: the tables of the file, its names, its discount.

Source: the format of Cassandra's pomdp-solve.
"""

from pathlib import Path
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from asmpg._support.checks import check_integer
from asmpg.environments._environment import Action
from asmpg.environments._finite_environment import (
    AbstractFiniteEnvironment,
    SamplingTables,
    sampling_tables,
)
from asmpg.environments._finite_model import FiniteModel
from asmpg.environments.pomdp_files._model import PomdpModel
from asmpg.environments.pomdp_files._parser import read_pomdp

#: What is seen before the first action, where that is nothing.
NOTHING_YET = "nothing yet"
#: Numbers in the table of rewards by observation.
_MOST_REWARDS = 50_000_000


class _PaidBySymbol(eqx.Module):
    """`reward[row[x, a], k, o]` for outcome `k` showing `o`; row 0 stands for the mean."""

    row: Int[Array, "X A"]
    successor: Int[Array, "X A K"]
    reward: Float[Array, "rows K O"]

    def __call__(
        self,
        mean: Float[Array, ""],
        state: Int[Array, ""],
        action: Action,
        next_state: Int[Array, ""],
        observation: Int[Array, ""],
    ) -> Float[Array, ""]:
        row = self.row[state, action]
        outcome = jnp.argmax(self.successor[state, action] == next_state)
        return jnp.where(row > 0, self.reward[row, outcome, observation], mean)


class PomdpEnvironment(AbstractFiniteEnvironment):
    """A file in Cassandra's POMDP format.

    Only the time limit ends an episode, unless it stops at goals. Rewards are paid as in the file,
    by next state and by observation; exact values use their means, which is equivalent. The
    score is the return with the discount of the file.
    """

    score = "discounted_return"

    path: str = eqx.field(static=True)
    max_steps: int = eqx.field(static=True)
    first_observation: bool = eqx.field(static=True)
    stop_at_goals: bool = eqx.field(static=True)
    discount_of_file: float = eqx.field(static=True)
    state_names: tuple[str, ...] = eqx.field(static=True)
    names_of_actions: tuple[str, ...] = eqx.field(static=True)
    names_of_observations: tuple[str, ...] = eqx.field(static=True)
    model: FiniteModel = eqx.field(static=True)
    largest_reward: float = eqx.field(static=True)
    tables: SamplingTables
    paid_by_symbol: _PaidBySymbol | None

    def __init__(
        self,
        path: str | Path,
        *,
        max_steps: int = 200,
        first_observation: bool = False,
        stop_at_goals: bool = False,
    ):
        """`first_observation` shows what the start looks like; else `reset` shows "nothing yet".

        `stop_at_goals` ends episodes where the file starts over; see `PomdpModel.finite`.
        """
        given: dict[str, Any] = {
            "first_observation": first_observation,
            "stop_at_goals": stop_at_goals,
        }
        for name, value in given.items():
            if not isinstance(value, bool):
                raise ValueError(f"{name} must be true or false, got {value!r}")
        self.path = str(path)
        self.max_steps = check_integer("max_steps", max_steps, low=1)
        self.first_observation, self.stop_at_goals = first_observation, stop_at_goals
        read = read_pomdp(path)
        self.discount_of_file = read.discount
        self.names_of_actions = read.actions
        self.names_of_observations = (*read.observations, NOTHING_YET)
        self.model = read.finite(first_observation=first_observation, stop_at_goals=stop_at_goals)
        ends = ("the end",) * (self.model.num_states - len(read.states))
        self.state_names = (*read.states, *ends)
        self.tables = sampling_tables(self.model)
        self.paid_by_symbol = _paid_by_symbol(read, self.model)
        special = read.reward_by_observation
        paid = 0.0 if special is None else float(np.abs(special.reward).max())
        self.largest_reward = max(self.model.reward_bound, paid)

    def step(
        self, key: Key[Array, ""], state: Int[Array, ""], action: Action
    ) -> tuple[Int[Array, ""], Int[Array, ""], Float[Array, ""], Bool[Array, ""]]:
        observation, next_state, reward, terminated = super().step(key, state, action)
        if self.paid_by_symbol is not None:
            reward = self.paid_by_symbol(reward, state, action, next_state, observation)
        return observation, next_state, reward, terminated

    @property
    def discount(self) -> float:
        return self.discount_of_file

    @property
    def name(self) -> str:
        return Path(self.path).stem

    @property
    def action_names(self) -> tuple[str, ...]:
        return self.names_of_actions

    @property
    def observation_names(self) -> tuple[str, ...]:
        return self.names_of_observations

    @property
    def reward_bound(self) -> float:
        return self.largest_reward

    def describe_observation(self, observation: np.ndarray) -> str:
        return self.observation_names[int(observation)]

    def describe_state(self, state: Int[Array | np.ndarray, ""]) -> str:
        return self.state_names[int(state)]


def _paid_by_symbol(read: PomdpModel, model: FiniteModel) -> _PaidBySymbol | None:
    special = read.reward_by_observation
    if special is None:
        return None
    a, x, _ = read.outcomes[special.outcome].T
    # A goal that is left for the end pays its mean: which outcome it was, no longer shows.
    left = model.terminal[model.successor[x, a]].all(axis=1)
    rows, row = np.unique(np.where(left, -1, x * model.num_actions + a), return_inverse=True)
    shape = (len(rows) + 1, model.successor.shape[2], model.num_observations)
    if np.prod(shape, dtype=float) > _MOST_REWARDS:
        raise ValueError(f"rewards by observation must fit in memory, but there are {shape}")
    number = np.zeros((model.num_states, model.num_actions), int)
    reward = np.zeros(shape)
    number[x[~left], a[~left]] = row[~left] + 1
    of_row = np.flatnonzero(number)
    reward[number.ravel()[of_row]] = model.reward.reshape(-1, shape[1])[of_row][:, :, None]
    slot = read.outcome_slots()[special.outcome]
    reward[row + 1, slot, special.symbol] = special.reward
    return _PaidBySymbol(
        jnp.asarray(number, jnp.int32),
        jnp.asarray(model.successor, jnp.int32),
        jnp.asarray(reward, float),
    )
