"""POPGym's Battleship and MineSweeper: boards that are not shown.

Source: POPGym 1.0.7 (Morad et al., 2023, https://github.com/proroklab/popgym), step by step.

| task        | Easy           | Medium         | Hard            |
| ----------- | -------------- | -------------- | --------------- |
| Battleship  | 8 x 8 cells    | 10 x 10 cells  | 12 x 12 cells   |
| MineSweeper | 4 x 4, 2 mines | 6 x 6, 6 mines | 8 x 8, 10 mines |

An action is a row and a column. What was done before is not shown either: POPGym adds the last
action to its observations, and here memories see it anyway.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from asmpg._support.checks import check_integer
from asmpg.environments._environment import Action
from asmpg.environments._spaces import Discrete, MultiDiscrete
from asmpg.environments.popgym._task import Difficulty, POPGymTask, check_difficulty

SHIPS = (2, 3, 3, 4)
_LONGEST_SIDE = 32


class BattleshipState(NamedTuple):
    """Where ships are, and where was shot."""

    ships: Bool[Array, "size size"]
    shot: Bool[Array, "size size"]


class Battleship(POPGymTask[BattleshipState]):
    """Sink ships of 2, 3, 3 and 4 cells, seeing only whether the last shot hit.

    A shot at a ship's cell that was not shot at before pays `1 / 12`, any other one costs `1` over
    the number of free cells. So 1 is the return of hits alone, and 0 that of one shot at every
    cell. The last hit terminates the episode; as many shots as there are cells truncate it. Ships
    are placed one after the other, each uniformly where there is room.
    """

    max_steps: int = eqx.field(static=True)
    difficulty: Difficulty = eqx.field(static=True)
    size: int = eqx.field(static=True)

    def __init__(
        self, difficulty: Difficulty, *, size: int | None = None, max_steps: int | None = None
    ):
        """`size` is that of the board, in cells along each side."""
        self.difficulty = check_difficulty(difficulty)
        given = {"Easy": 8, "Medium": 10, "Hard": 12}[difficulty] if size is None else size
        # On smaller boards the first ships can leave no room for the last one.
        self.size = check_integer("size", given, low=6, high=_LONGEST_SIDE)
        steps = self.size**2 if max_steps is None else max_steps
        self.max_steps = check_integer("max_steps", steps, low=1)

    @property
    def observation_space(self) -> Discrete:
        return Discrete(2)

    @property
    def action_space(self) -> MultiDiscrete:
        return MultiDiscrete((self.size, self.size))

    @property
    def observation_names(self) -> tuple[str, ...]:
        return ("miss", "hit")

    @property
    def reward_bound(self) -> float:
        return 1 / min(sum(SHIPS), self.size**2 - sum(SHIPS))

    def reset(self, key: Key[Array, ""]) -> tuple[Int[Array, ""], BattleshipState]:
        ships = jnp.zeros(self.size**2, bool)
        for ship_key, length in zip(jax.random.split(key, len(SHIPS)), SHIPS, strict=True):
            places = jnp.asarray(_places(self.size, length))
            free = ~jnp.any(places & ships, axis=1)
            number = jax.random.randint(ship_key, (), 0, free.sum())
            ships |= places[jnp.searchsorted(jnp.cumsum(free), number + 1)]
        return self.begin(ships.reshape(self.size, self.size))

    def step(
        self, key: Key[Array, ""], state: BattleshipState, action: Action
    ) -> tuple[Int[Array, ""], BattleshipState, Float[Array, ""], Bool[Array, ""]]:
        del key
        self.check_action(action)
        return self.transition(state, action)

    def begin(self, ships: Bool[Array, "size size"]) -> tuple[Int[Array, ""], BattleshipState]:
        """The start of an episode with ships on these cells."""
        return jnp.zeros((), jnp.int32), BattleshipState(ships, jnp.zeros_like(ships))

    def transition(
        self, state: BattleshipState, action: Action
    ) -> tuple[Int[Array, ""], BattleshipState, Float[Array, ""], Bool[Array, ""]]:
        """There is no chance but in the start."""
        row, column = jnp.asarray(action)
        hit = state.ships[row, column] & ~state.shot[row, column]
        shot = state.shot.at[row, column].set(True)
        goals = sum(SHIPS)
        reward = jnp.where(hit, 1 / goals, -1 / (self.size**2 - goals))
        sunk = jnp.all(shot | ~state.ships)
        return hit.astype(jnp.int32), BattleshipState(state.ships, shot), reward, sunk

    def describe_state(self, state: BattleshipState) -> str:
        hits = int((state.ships & state.shot).sum())
        return f"{hits} of {sum(SHIPS)} cells hit, {int(state.shot.sum())} shot at"


class MineSweeperState(NamedTuple):
    """Where mines are, and which cells were opened."""

    mines: Bool[Array, "rows columns"]
    opened: Bool[Array, "rows columns"]


class MineSweeper(POPGymTask[MineSweeperState]):
    """Open every cell without a mine, seeing how many mines lie in the 3 x 3 cells around the last.

    With `n` cells to open, opening a new one pays `1 / n`, and one that was opened before costs
    `0.5 / (n - 2)`. A mine costs `0.5 + 1 / n` and ends the episode, as does the last cell; `n`
    steps truncate it. So 1 is the return of somebody who knows where the mines are.
    """

    max_steps: int = eqx.field(static=True)
    difficulty: Difficulty = eqx.field(static=True)
    rows: int = eqx.field(static=True)
    columns: int = eqx.field(static=True)
    mines: int = eqx.field(static=True)

    def __init__(
        self,
        difficulty: Difficulty,
        *,
        rows: int | None = None,
        columns: int | None = None,
        mines: int | None = None,
        max_steps: int | None = None,
    ):
        self.difficulty = check_difficulty(difficulty)
        size, bombs = {"Easy": (4, 2), "Medium": (6, 6), "Hard": (8, 10)}[difficulty]
        given = [size if each is None else each for each in (rows, columns)]
        self.rows = check_integer("rows", given[0], low=2, high=_LONGEST_SIDE)
        self.columns = check_integer("columns", given[1], low=2, high=_LONGEST_SIDE)
        most = self.rows * self.columns - 3
        self.mines = check_integer("mines", bombs if mines is None else mines, low=1, high=most)
        steps = self.goals if max_steps is None else max_steps
        self.max_steps = check_integer("max_steps", steps, low=1)

    @property
    def goals(self) -> int:
        """The number `n` of cells to open."""
        return self.rows * self.columns - self.mines

    @property
    def observation_space(self) -> Discrete:
        return Discrete(min(self.mines, 9) + 1)

    @property
    def action_space(self) -> MultiDiscrete:
        return MultiDiscrete((self.rows, self.columns))

    @property
    def observation_names(self) -> tuple[str, ...]:
        return tuple(f"{mines} near" for mines in range(self.observation_space.n))

    @property
    def reward_bound(self) -> float:
        return max(0.5 + 1 / self.goals, 0.5 / (self.goals - 2))

    def reset(self, key: Key[Array, ""]) -> tuple[Int[Array, ""], MineSweeperState]:
        flat = jax.random.permutation(key, jnp.arange(self.rows * self.columns) < self.mines)
        return self.begin(flat.reshape(self.rows, self.columns))

    def step(
        self, key: Key[Array, ""], state: MineSweeperState, action: Action
    ) -> tuple[Int[Array, ""], MineSweeperState, Float[Array, ""], Bool[Array, ""]]:
        del key
        self.check_action(action)
        return self.transition(state, action)

    def begin(self, mines: Bool[Array, "rows columns"]) -> tuple[Int[Array, ""], MineSweeperState]:
        """The start of an episode with mines on these cells."""
        return jnp.zeros((), jnp.int32), MineSweeperState(mines, jnp.zeros_like(mines))

    def transition(
        self, state: MineSweeperState, action: Action
    ) -> tuple[Int[Array, ""], MineSweeperState, Float[Array, ""], Bool[Array, ""]]:
        """There is no chance but in the start."""
        row, column = jnp.asarray(action)
        exploded, again = state.mines[row, column], state.opened[row, column]
        reward = jnp.where(again, -0.5 / (self.goals - 2), 1 / self.goals)
        reward = jnp.where(exploded, -0.5 - 1 / self.goals, reward)
        opened = state.opened.at[row, column].set(True)
        around = jax.lax.dynamic_slice(jnp.pad(state.mines, 1), (row, column), (3, 3))
        near = jnp.sum(around, dtype=jnp.int32)
        over = exploded | jnp.all(opened | state.mines)
        return near, MineSweeperState(state.mines, opened), reward, over

    def describe_state(self, state: MineSweeperState) -> str:
        opened = int((state.opened & ~state.mines).sum())
        return f"{opened} of {self.goals} cells opened"


def _places(size: int, length: int) -> Bool[np.ndarray, "places cells"]:
    """The cells that a ship of this length covers, for every place that it fits in."""
    starts = np.arange(size * size).reshape(size, size)
    along = starts[:, : size - length + 1, None] + np.arange(length)
    down = starts[: size - length + 1, :, None] + size * np.arange(length)
    cells = np.concatenate([along.reshape(-1, length), down.reshape(-1, length)])
    covered = np.zeros((len(cells), size * size), bool)
    np.put_along_axis(covered, cells, values=True, axis=1)
    return covered
