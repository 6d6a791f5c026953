"""Spaces and observations, in Gymnasium's terms."""

from typing import Any

import gymnasium
import numpy as np
from jaxtyping import Float

from asmpg.envs._spaces import Box, Discrete, Space


def gymnasium_space(space: Space) -> gymnasium.spaces.Space[Any]:
    """The space of the same elements; boxes are of `float32`."""
    match space:
        case Discrete():
            return gymnasium.spaces.Discrete(space.n)
        case Box():
            low, high = np.asarray(space.low, np.float32), np.asarray(space.high, np.float32)
            return gymnasium.spaces.Box(low, high, dtype=np.float32)


def gymnasium_observation(space: Space, vector: Float[np.ndarray, " size"]) -> Any:
    """An element of `gymnasium_space(space)` of its own, from the numbers in `vector`."""
    return np.int64(vector[0]) if isinstance(space, Discrete) else vector.astype(np.float32)


def gymnasium_observations(space: Space, vectors: Float[np.ndarray, "batch size"]) -> np.ndarray:
    """The same for a batch."""
    if isinstance(space, Discrete):
        return vectors[:, 0].astype(np.int64)
    return vectors.astype(np.float32)
