"""The plan of a maze."""

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from asmpg.envs._environment import Environment

Position = tuple[int, int]


@dataclasses.dataclass(frozen=True)
class MazeMap:
    """Cells by index: position, what is observed there, start or goal; and the moves."""

    cells: tuple[Position, ...]
    moves: tuple[Position, ...]
    observations: tuple[int, ...]
    starts: frozenset[int]
    goals: frozenset[int]

    @property
    def width(self) -> int:
        """Columns of the smallest grid that holds all cells."""
        return 1 + max(x for x, _ in self.cells)

    @property
    def height(self) -> int:
        """Rows of the smallest grid that holds all cells."""
        return 1 + max(y for _, y in self.cells)


def maze_map(environment: "Environment[Any]") -> MazeMap | None:
    """The plan of `environment`, if it is a maze."""
    from asmpg.envs import cheese_maze, hallway_navigation

    match environment:
        case cheese_maze.CheeseMaze():
            cells, moves = cheese_maze.CELLS, cheese_maze.MOVES
        case hallway_navigation.HallwayNavigation():
            cells, moves = hallway_navigation.CELLS, hallway_navigation.MOVES
        case _:
            return None
    model = environment.model
    return MazeMap(
        cells=cells,
        moves=moves,
        observations=tuple(model.start_observation.argmax(axis=-1).tolist()),
        starts=frozenset(np.flatnonzero(model.start).tolist()),
        goals=frozenset(np.flatnonzero(model.terminal).tolist()),
    )
