"""Cells on a grid, and the moves between them."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

Position = tuple[int, int]


def grid_successors(cells: Sequence[Position], moves: Sequence[Position]) -> Int[np.ndarray, "X A"]:
    """Where each move leads from each cell; a move that leaves the cells leads nowhere."""
    index = {position: cell for cell, position in enumerate(cells)}
    return np.array(
        [
            [index.get((x + dx, y + dy), cell) for dx, dy in moves]
            for cell, (x, y) in enumerate(cells)
        ]
    )
