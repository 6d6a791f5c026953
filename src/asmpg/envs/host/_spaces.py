"""Which of Gymnasium's spaces fit, and what to do about the others."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from asmpg.envs.host._readers import (
    ObservationReader,
    SymbolReader,
    SymbolsReader,
    VectorReader,
)

#: Larger arrays of two axes or more are taken for pictures.
_MOST_PIXELS = 256
_SUPPORTED = "Discrete, MultiDiscrete, MultiBinary, or Box (a real vector)"
_LARGEST = float(np.finfo(np.float32).max)


def read_observation_space(space: gymnasium.Space[Any]) -> ObservationReader:
    """How observations of `space` are read; a `ValueError` says what to wrap where they cannot."""
    match space:
        case spaces.Discrete():
            return SymbolReader(int(space.n), int(space.start))
        case spaces.MultiDiscrete():
            start = tuple(map(int, np.ravel(space.start)))
            return SymbolsReader(tuple(map(int, np.ravel(space.nvec))), start, space.shape)
        case spaces.MultiBinary():
            size = int(np.prod(space.shape))
            return SymbolsReader((2,) * size, (0,) * size, space.shape)
        case spaces.Box():
            _refuse_pictures(space)
            low, high = (
                tuple(np.clip(np.ravel(bound).astype(float), -_LARGEST, _LARGEST).tolist())
                for bound in (space.low, space.high)
            )
            return VectorReader(low, high, space.shape)
        case spaces.Dict() | spaces.Tuple():
            raise ValueError(
                f"observations must be {_SUPPORTED}, got {_short(space)}; wrap the environment in "
                "gymnasium.wrappers.FlattenObservation"
            )
        case _:
            raise ValueError(f"observations must be {_SUPPORTED}, got {_short(space)}")


def read_action_space(space: gymnasium.Space[Any]) -> tuple[int, int]:
    """The number of actions and the first of them."""
    match space:
        case spaces.Discrete():
            return int(space.n), int(space.start)
        case spaces.Box():
            advice = (
                "choose a few typical actions and wrap the environment in "
                "gymnasium.wrappers.TransformAction(env, lambda i: ACTIONS[i], "
                "gymnasium.spaces.Discrete(len(ACTIONS)))"
            )
        case spaces.MultiDiscrete() | spaces.MultiBinary():
            advice = (
                "number the combinations and wrap the environment in "
                "gymnasium.wrappers.TransformAction"
            )
        case _:
            advice = "wrap the environment in gymnasium.wrappers.TransformAction"
    raise ValueError(f"actions must be Discrete, got {_short(space)}; {advice}")


def _refuse_pictures(space: spaces.Box) -> None:
    size = int(np.prod(space.shape))
    if size == 0:
        raise ValueError(f"observations must be {_SUPPORTED}, got {_short(space)}")
    picture = len(space.shape) == 3 and space.dtype == np.uint8
    if picture or (len(space.shape) > 1 and size > _MOST_PIXELS):
        raise ValueError(
            f"observations must be {_SUPPORTED}; {_short(space)} looks like a picture, and there "
            "are no convolutional networks here: show features instead of pixels, with "
            "gymnasium.wrappers.TransformObservation"
        )


def _short(space: gymnasium.Space[Any]) -> str:
    text = " ".join(str(space).split())
    return text if len(text) <= 100 else f"{text[:100]}…"
