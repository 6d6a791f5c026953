"""CheeseMaze: find the cheese in a maze whose corridors look alike.

Source: McCallum (1993), as the paper's appendix draws it. Every constant is the paper's.

```
 y=2   0 - 1 - 2 - 3 - 4      observations   0   1   2   1   3
       |       |       |
 y=1   5       6       7                     4       4       4
       |       |       |
 y=0   8      10       9                     5       6       5
```

The episode starts in a uniformly random cell other than 10, the goal. Moves are deterministic; a
move without an edge leaves the agent where it is. Reaching the goal pays 1 and ends the episode.
"""

import equinox as eqx
import numpy as np

from asmpg._support.checks import check_integer, check_number
from asmpg.environments._environment import PaperSizes
from asmpg.environments._finite_environment import SamplingTables, sampling_tables
from asmpg.environments._finite_model import FiniteModel
from asmpg.environments._maze import AbstractMaze, grid_successors

NORTH, SOUTH, EAST, WEST = range(4)
GOAL = 10
#: The (x, y) position of each cell.
CELLS = ((0, 2), (1, 2), (2, 2), (3, 2), (4, 2), (0, 1), (2, 1), (4, 1), (0, 0), (4, 0), (2, 0))
OBSERVATION = (0, 1, 2, 1, 3, 4, 4, 4, 5, 5, 6)
#: The (x, y) displacement of each action.
MOVES = ((0, 1), (0, -1), (1, 0), (-1, 0))


def _model(goal_reward: float) -> FiniteModel:
    successor = grid_successors(CELLS, MOVES)
    terminal = np.arange(len(CELLS)) == GOAL
    return FiniteModel(
        successor=successor[:, :, None],
        probability=np.ones((*successor.shape, 1)),
        reward=np.where(successor == GOAL, goal_reward, 0.0),
        observation=np.eye(7)[list(OBSERVATION)],
        start=np.where(terminal, 0.0, 0.1),
        terminal=terminal,
    )


class CheeseMaze(AbstractMaze):
    """McCallum's cheese maze: 11 cells, 7 observations, actions north, south, east, west."""

    # Every success pays alike: what counts is how soon it comes.
    score = "reward_per_step"
    gymnasium_id = "asmpg/CheeseMaze-v0"
    paper = PaperSizes(num_states=8, hidden=128)
    cells = CELLS
    moves = MOVES

    max_steps: int = eqx.field(static=True)
    goal_reward: float = eqx.field(static=True)
    model: FiniteModel = eqx.field(static=True)
    tables: SamplingTables

    def __init__(self, *, max_steps: int = 200, goal_reward: float = 1.0):
        """`goal_reward` is paid on reaching the goal."""
        self.max_steps = check_integer("max_steps", max_steps, low=1)
        self.goal_reward = check_number("goal_reward", goal_reward)
        self.model = _model(self.goal_reward)
        self.tables = sampling_tables(self.model)

    @property
    def observation_names(self) -> tuple[str, ...]:
        return ("corner NW", "corridor", "junction", "corner NE", "passage", "dead end", "cheese")

    @property
    def action_names(self) -> tuple[str, ...]:
        return ("north", "south", "east", "west")
