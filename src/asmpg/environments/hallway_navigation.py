"""HallwayNavigation: find the goal by feeling the walls.

Source: McCallum (1995), as the paper's appendix draws it. Layout and rewards are the paper's; that
the goal step pays the goal reward alone, without the cost of a move, is our reading of it.

```
 y=3   S  .  .  .  .  .  S        S start    G goal    # blocked
 y=2   .  #  #  G  #  #  .
 y=1   .  #  #  .  #  #  .
 y=0   S  .  .  .  .  .  S
 x=    0  1  2  3  4  5  6
```

The agent sees which of its four neighbours are walls: observation `8 N + 4 E + 2 S + W`. Moves are
deterministic; bumping into a wall costs more than a move. The goal ends the episode.
"""

import equinox as eqx
import numpy as np

from asmpg._support.checks import check_integer, check_number
from asmpg.environments._environment import PaperSizes
from asmpg.environments._finite_environment import SamplingTables, sampling_tables
from asmpg.environments._finite_model import FiniteModel
from asmpg.environments._maze import AbstractMaze, grid_successors

NORTH, EAST, SOUTH, WEST = range(4)
WIDTH, HEIGHT = 7, 4
BLOCKED = frozenset((x, y) for x in (1, 2, 4, 5) for y in (1, 2))
#: The (x, y) position of each free cell, row by row from the south.
CELLS = tuple((x, y) for y in range(HEIGHT) for x in range(WIDTH) if (x, y) not in BLOCKED)
GOAL = CELLS.index((3, 2))
CORNERS = tuple(CELLS.index(corner) for corner in ((0, 3), (6, 3), (0, 0), (6, 0)))
#: The (x, y) displacement of each action.
MOVES = ((0, 1), (1, 0), (0, -1), (-1, 0))


def _model(goal_reward: float, bump_reward: float, move_reward: float) -> FiniteModel:
    cells = np.arange(len(CELLS))
    successor = grid_successors(CELLS, MOVES)
    wall = successor == cells[:, None]
    return FiniteModel(
        successor=successor[:, :, None],
        probability=np.ones((*successor.shape, 1)),
        reward=np.select([successor == GOAL, wall], [goal_reward, bump_reward], move_reward),
        observation=np.eye(16)[wall @ [8, 4, 2, 1]],
        start=np.isin(cells, CORNERS) / len(CORNERS),
        terminal=cells == GOAL,
    )


class HallwayNavigation(AbstractMaze):
    """McCallum's hallway: 20 cells, 8 wall patterns, actions north, east, south, west."""

    # Every success pays alike: what counts is how soon it comes.
    score = "reward_per_step"
    gymnasium_id = "asmpg/HallwayNavigation-v0"
    paper = PaperSizes(num_states=8, hidden=64)
    cells = CELLS
    moves = MOVES

    max_steps: int = eqx.field(static=True)
    goal_reward: float = eqx.field(static=True)
    bump_reward: float = eqx.field(static=True)
    move_reward: float = eqx.field(static=True)
    model: FiniteModel = eqx.field(static=True)
    tables: SamplingTables

    def __init__(
        self,
        *,
        max_steps: int = 200,
        goal_reward: float = 5.0,
        bump_reward: float = -1.0,
        move_reward: float = -0.1,
    ):
        """Rewards of entering the goal, of bumping into a wall, and of every other move."""
        self.max_steps = check_integer("max_steps", max_steps, low=1)
        self.goal_reward = check_number("goal_reward", goal_reward)
        self.bump_reward = check_number("bump_reward", bump_reward)
        self.move_reward = check_number("move_reward", move_reward)
        self.model = _model(self.goal_reward, self.bump_reward, self.move_reward)
        self.tables = sampling_tables(self.model)

    @property
    def observation_names(self) -> tuple[str, ...]:
        """The walls around the agent."""
        sides = [
            [letter for letter, bit in zip("NESW", f"{seen:04b}", strict=True) if bit == "1"]
            for seen in range(16)
        ]
        return tuple("walls " + "".join(each) if each else "no walls" for each in sides)

    @property
    def action_names(self) -> tuple[str, ...]:
        return ("north", "east", "south", "west")
