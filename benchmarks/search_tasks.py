"""The tasks on which options are chosen: none of them is one that results are reported for.

    python benchmarks/search_tasks.py

prints the yardsticks that `low` and `high` were taken from, in some minutes. RepeatPrevious has
known ones; `low` of the cart-pole is about what `memoryless-ppo` reaches (search.py, one seed), and
0 where velocities are seen: that takes little memory, and is there to be kept once it is learned.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from asmpg._support.checks import check_integer, check_number
from asmpg.environments import AbstractFiniteEnvironment, Box, Discrete, Environment, make
from asmpg.environments.healthcare_treatment import HealthcareTreatment
from asmpg.environments.velocity_only_cart_pole import CartPoleState, VelocityOnlyCartPole
from asmpg.exact import HealthcareEffort, healthcare_yardsticks, yardsticks


class DeckState(NamedTuple):
    """The shuffled deck, and how many of its cards were shown."""

    deck: Int[Array, " cards"]
    shown: Int[Array, ""]


class RepeatPrevious(Environment[DeckState]):
    """Say which symbol was shown `k` steps ago (after POPGym, Morad et al., 2023).

    A deck holds `copies` cards of each of `symbols` symbols. It is shuffled and shown card by card.
    From the card after the first `k` on, the right answer pays `1 / (cards - k)`, any other as much
    less, so that the return is in `[-1, 1]`; the answer to the last card ends the episode.
    """

    max_steps: int = eqx.field(static=True)
    symbols: int = eqx.field(static=True)
    copies: int = eqx.field(static=True)
    k: int = eqx.field(static=True)

    def __init__(self, *, symbols: int = 4, copies: int = 13, k: int = 4):
        self.symbols = check_integer("symbols", symbols, low=2)
        self.copies = check_integer("copies", copies, low=1)
        self.max_steps = symbols * copies
        self.k = check_integer("k", k, low=1, high=self.max_steps - 1)

    def reset(self, key: Key[Array, ""]) -> tuple[Int[Array, ""], DeckState]:
        deck = jax.random.permutation(key, jnp.arange(self.max_steps) % self.symbols)
        return deck[0], DeckState(deck, jnp.ones((), jnp.int32))

    def step(
        self, key: Key[Array, ""], state: DeckState, action: Any
    ) -> tuple[Int[Array, ""], DeckState, Float[Array, ""], Bool[Array, ""]]:
        del key
        asked = state.shown > self.k
        right = state.deck[jnp.maximum(state.shown - 1 - self.k, 0)] == action
        pay = 1 / (self.max_steps - self.k)
        reward = jnp.where(asked, jnp.where(right, pay, -pay), 0.0)
        over = state.shown == self.max_steps
        following = DeckState(state.deck, jnp.minimum(state.shown + 1, self.max_steps))
        return state.deck[following.shown - 1], following, reward, over

    @property
    def observation_space(self) -> Discrete:
        return Discrete(self.symbols)

    @property
    def action_space(self) -> Discrete:
        return Discrete(self.symbols)

    @property
    def reward_bound(self) -> float:
        return 1 / (self.max_steps - self.k)


class NoisyPositionCartPole(Environment[CartPoleState]):
    """CartPole that shows the cart's position and the pole's angle, with normal noise."""

    max_steps: int = eqx.field(static=True)
    noise: float
    dynamics: VelocityOnlyCartPole

    def __init__(self, *, noise: float = 0.05, max_steps: int = 200):
        """`noise` is the standard deviation, in metres and in radians."""
        self.noise = check_number("noise", noise, low=0)
        self.dynamics = VelocityOnlyCartPole(max_steps=max_steps)
        self.max_steps = max_steps

    def reset(self, key: Key[Array, ""]) -> tuple[Float[Array, "2"], CartPoleState]:
        state_key, noise_key = jax.random.split(key)
        _, state = self.dynamics.reset(state_key)
        return self._seen(noise_key, state), state

    def step(
        self, key: Key[Array, ""], state: CartPoleState, action: Any
    ) -> tuple[Float[Array, "2"], CartPoleState, Float[Array, ""], Bool[Array, ""]]:
        state, terminated = self.dynamics.transition(state, action)
        return self._seen(key, state), state, jnp.ones_like(state.position), terminated

    def _seen(self, key: Key[Array, ""], state: CartPoleState) -> Float[Array, "2"]:
        noise = self.noise * jax.random.normal(key, (2,))
        return jnp.clip(jnp.stack([state.position, state.angle]) + noise, -5.0, 5.0)

    @property
    def observation_space(self) -> Box:
        return Box((-5.0, -5.0), (5.0, 5.0))

    @property
    def action_space(self) -> Discrete:
        return Discrete(2)

    @property
    def reward_bound(self) -> float:
        return 1.0


class CellsState(NamedTuple):
    """Where something is hidden, what was looked at, and for how long."""

    hidden: Bool[Array, "cells"]
    opened: Bool[Array, "cells"]
    time: Int[Array, ""]


class HiddenCells(Environment[CellsState]):
    """Find what is hidden in some of a row of cells, one of which is opened at each step.

    A find pays `1 / finds`; a miss, or a cell that was opened before, costs `1 / (cells - finds)`,
    so that opening each cell once is paid 0. It is seen whether the last step was a find.
    """

    max_steps: int = eqx.field(static=True)
    cells: int = eqx.field(static=True)
    finds: int = eqx.field(static=True)

    def __init__(self, *, cells: int = 25, finds: int = 7):
        self.cells = check_integer("cells", cells, low=2)
        self.finds = check_integer("finds", finds, low=1, high=cells - 1)
        self.max_steps = self.cells

    def reset(self, key: Key[Array, ""]) -> tuple[Int[Array, ""], CellsState]:
        hidden = jax.random.permutation(key, jnp.arange(self.cells) < self.finds)
        nothing = jnp.zeros((), jnp.int32)
        return nothing, CellsState(hidden, jnp.zeros_like(hidden), nothing)

    def step(
        self, key: Key[Array, ""], state: CellsState, action: Any
    ) -> tuple[Int[Array, ""], CellsState, Float[Array, ""], Bool[Array, ""]]:
        del key
        found = state.hidden[action] & ~state.opened[action]
        reward = jnp.where(found, 1 / self.finds, -1 / (self.cells - self.finds))
        opened = state.opened.at[action].set(True)
        following = CellsState(state.hidden, opened, state.time + 1)
        over = jnp.all(opened | ~state.hidden)
        return found.astype(jnp.int32), following, reward, over

    @property
    def observation_space(self) -> Discrete:
        return Discrete(2)

    @property
    def action_space(self) -> Discrete:
        return Discrete(self.cells)

    @property
    def reward_bound(self) -> float:
        return max(1 / self.finds, 1 / (self.cells - self.finds))


class MineFieldState(NamedTuple):
    """Where the mines are, which fields were opened, and for how long."""

    mines: Bool[Array, "rows columns"]
    opened: Bool[Array, "rows columns"]
    time: Int[Array, ""]


class MineField(Environment[MineFieldState]):
    """Open every field without a mine, seeing how many mines are next to the one opened last.

    After POPGym's MineSweeper (Morad et al., 2023). A new field pays its share of 1, one that was
    opened before costs a little more than half a share. A mine costs 0.5 and a share, and ends the
    episode.
    """

    max_steps: int = eqx.field(static=True)
    rows: int = eqx.field(static=True)
    columns: int = eqx.field(static=True)
    mines: int = eqx.field(static=True)

    def __init__(self, *, rows: int = 3, columns: int = 5, mines: int = 2):
        self.rows = check_integer("rows", rows, low=2)
        self.columns = check_integer("columns", columns, low=2)
        self.mines = check_integer("mines", mines, low=1, high=rows * columns - 3)
        self.max_steps = rows * columns - mines

    def reset(self, key: Key[Array, ""]) -> tuple[Int[Array, ""], MineFieldState]:
        flat = jax.random.permutation(key, jnp.arange(self.rows * self.columns) < self.mines)
        mines = flat.reshape(self.rows, self.columns)
        nothing = jnp.zeros((), jnp.int32)
        return nothing, MineFieldState(mines, jnp.zeros_like(mines), nothing)

    def step(
        self, key: Key[Array, ""], state: MineFieldState, action: Any
    ) -> tuple[Int[Array, ""], MineFieldState, Float[Array, ""], Bool[Array, ""]]:
        del key
        place = action // self.columns, action % self.columns
        blown, again = state.mines[place], state.opened[place]
        share = 1 / self.max_steps
        reward = jnp.where(again, -0.5 / (self.max_steps - 2), share)
        reward = jnp.where(blown, -0.5 - share, reward)
        opened = state.opened.at[place].set(True)
        following = MineFieldState(state.mines, opened, state.time + 1)
        padded = jnp.pad(state.mines.astype(jnp.int32), 1)
        near = jax.lax.dynamic_slice(padded, place, (3, 3)).sum()
        return near, following, reward, blown | jnp.all(opened | state.mines)

    @property
    def observation_space(self) -> Discrete:
        return Discrete(min(self.mines, 8) + 1)

    @property
    def action_space(self) -> Discrete:
        return Discrete(self.rows * self.columns)

    @property
    def reward_bound(self) -> float:
        return 0.5 + 1 / self.max_steps


@dataclasses.dataclass(frozen=True)
class Task:
    """An environment, by name or by class, with its options, and how long it is learned.

    `measure` is the column of the metrics that is the score. It is normalised so that `low`, what
    can be had without memory, is 0, and `high`, the optimum or the best that is known, is 1.
    """

    environment: str | Callable[..., Environment[Any]]
    options: Mapping[str, Any]
    steps: int
    measure: str
    low: float
    high: float

    def make(self) -> Environment[Any]:
        if isinstance(self.environment, str):
            return make(self.environment, **self.options)
        return self.environment(**self.options)

    def normalised(self, score: float) -> float:
        """In `[0, 1]`; a score that is not a number is 0."""
        share = (score - self.low) / (self.high - self.low)
        return min(1.0, max(0.0, share)) if share == share else 0.0


_HEALTHCARE = {
    "benefit": (0.0, 0.15, 0.65),
    "toxicity_harm": 0.02,
    "noise": 0.12,
    "terminal_reward": 40.0,
}
_MACHINE = {
    "degrade_wear": 0.5,
    "repair_base": 0.8,
    "repair_wear": 0.6,
    "wear_removed": 5,
    "degraded_reward": -1.5,
}
#: By name. To add one, add a line: an environment by name, its options, steps, score, low, high.
SEARCH_TASKS: dict[str, Task] = {
    "repeat-first": Task(
        "RepeatFirst", {"delay": 12}, 60_000, "undiscounted_return", low=0.0, high=1.0
    ),
    "repeat-first-long": Task(
        "popgym-RepeatFirstMedium", {"decks": 6}, 300_000, "undiscounted_return", low=-0.5, high=1.0
    ),
    "t-maze": Task("TMaze", {"length": 25}, 100_000, "undiscounted_return", low=1.95, high=4.0),
    "count": Task("CountModulo", {"modulus": 4}, 60_000, "undiscounted_return", low=1.0, high=30.0),
    "repeat-previous": Task(
        RepeatPrevious,
        {"symbols": 3, "copies": 16, "k": 3},
        100_000,
        "undiscounted_return",
        low=-1 / 3,
        high=1.0,
    ),
    "tiger": Task("Tiger", {}, 60_000, "discounted_return", low=-95.1, high=100.8),
    "voicemail": Task("Voicemail", {}, 60_000, "discounted_return", low=-23.8, high=18.94),
    "cart-pole": Task(
        NoisyPositionCartPole, {"noise": 0.12}, 200_000, "undiscounted_return", low=50.0, high=200.0
    ),
    "cart-pole-exact": Task(
        NoisyPositionCartPole, {"noise": 0.0}, 60_000, "undiscounted_return", low=50.0, high=200.0
    ),
    "cart-pole-velocities": Task(
        "VelocityOnlyCartPole",
        {
            "gravity": 8.5,
            "cart_mass": 1.2,
            "pole_mass": 0.08,
            "half_length": 0.55,
            "position_limit": 2.5,
            "start_range": 0.04,
        },
        150_000,
        "undiscounted_return",
        low=0.0,
        high=200.0,
    ),
    "cart-pole-velocities-wide": Task(
        "VelocityOnlyCartPole",
        {
            "gravity": 9.0,
            "cart_mass": 1.1,
            "pole_mass": 0.09,
            "position_limit": 2.8,
        },
        150_000,
        "undiscounted_return",
        low=0.0,
        high=200.0,
    ),
    "healthcare-milder": Task(
        "HealthcareTreatment", _HEALTHCARE, 100_000, "discounted_return", low=14.4, high=34.6
    ),
    "machine": Task("MachineRepair", _MACHINE, 60_000, "discounted_return", low=33.2, high=53.08),
    "machine-long": Task(
        "MachineRepair", _MACHINE, 150_000, "discounted_return", low=33.2, high=53.08
    ),
    "cheese": Task(
        "CheeseMaze",
        {"goal_reward": 3.0, "max_steps": 60},
        30_000,
        "reward_per_step",
        low=0.374,
        high=0.698,
    ),
    # Where things must be counted: for `counts`. 0 is to know nothing, 1 what a count can tell.
    "bandit": Task(
        "popgym-MultiarmedBanditEasy",
        {"arms": 6},
        100_000,
        "undiscounted_return",
        low=0.0,
        high=0.714,
    ),
    "count-recall": Task(
        "popgym-CountRecallEasy",
        {"cards_by": "suits"},
        100_000,
        "undiscounted_return",
        low=-0.857,
        high=1.0,
    ),
    "mine-field": Task(MineField, {}, 200_000, "undiscounted_return", low=-0.5, high=1.0),
    "hidden-cells": Task(HiddenCells, {}, 100_000, "undiscounted_return", low=-0.5, high=0.125),
}


def main() -> None:
    for name, task in SEARCH_TASKS.items():
        environment = task.make()
        if isinstance(environment, AbstractFiniteEnvironment):
            found = yardsticks(environment)
        elif isinstance(environment, HealthcareTreatment):
            effort = HealthcareEffort(
                toxicity=41, resistance=25, bins=41, climbs=1, iterations=60, episodes=20_000
            )
            found = healthcare_yardsticks(environment, effort=effort)
        else:
            continue
        print(name, task.measure, f"memoryless {found.memoryless}", sep="\n  ")
        print(f"  history optimum {found.history_optimal}", flush=True)


if __name__ == "__main__":
    main()
