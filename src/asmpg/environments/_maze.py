"""Mazes: finite environments whose latent states are cells of a grid."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from jaxtyping import Array, Int

from asmpg.environments._finite_environment import AbstractFiniteEnvironment

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from asmpg.environments._episode import Episode

Position = tuple[int, int]


class AbstractMaze(AbstractFiniteEnvironment):
    """A maze: `cells` are the positions `(x, y)` of the states, `moves` what the actions add."""

    cells: ClassVar[tuple[Position, ...]]
    moves: ClassVar[tuple[Position, ...]]

    def describe_state(self, state: Int[Array | np.ndarray, ""]) -> str:
        x, y = self.cells[int(state)]
        return f"cell {int(state)} (x={x}, y={y})"

    def draw(self, axes: "Axes", episode: "Episode") -> None:
        from asmpg.environments.drawing import draw_maze

        draw_maze(axes, self, episode)


def grid_successors(cells: Sequence[Position], moves: Sequence[Position]) -> Int[np.ndarray, "X A"]:
    """Where each move leads from each cell; a move that leaves the cells leads nowhere."""
    index = {position: cell for cell, position in enumerate(cells)}
    return np.array(
        [
            [index.get((x + dx, y + dy), cell) for dx, dy in moves]
            for cell, (x, y) in enumerate(cells)
        ]
    )
