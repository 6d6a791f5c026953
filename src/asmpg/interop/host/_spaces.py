"""Which of Gymnasium's spaces fit, and what to do about the others."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from asmpg.interop._interface import ObservationReader, SymbolReader, SymbolsReader, VectorReader
from asmpg.interop._writers import ActionWriter, IntegersWriter, IntegerWriter, VectorWriter

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
                f"observations must be {_SUPPORTED}, got {_short(space)}; {_how_to_flatten(space)}"
            )
        case _:
            raise ValueError(f"observations must be {_SUPPORTED}, got {_short(space)}")


def read_action_space(space: gymnasium.Space[Any]) -> ActionWriter:
    """How actions of `space` are written; a `ValueError` says what to wrap where they cannot."""
    match space:
        case spaces.Discrete():
            return IntegerWriter(int(space.n), int(space.start))
        case spaces.MultiDiscrete():
            start = tuple(map(int, np.ravel(space.start)))
            sizes = tuple(map(int, np.ravel(space.nvec)))
            return IntegersWriter(_at_least_one(sizes, space), start, space.shape, space.dtype.name)
        case spaces.MultiBinary():
            size = int(np.prod(space.shape))
            sizes = _at_least_one((2,) * size, space)
            return IntegersWriter(sizes, (0,) * size, space.shape, space.dtype.name)
        case spaces.Box() if np.issubdtype(space.dtype, np.floating):
            low, high = (np.ravel(bound).astype(float) for bound in (space.low, space.high))
            _at_least_one(low, space)
            if not (np.isfinite(low).all() and np.isfinite(high).all()):
                raise ValueError(
                    f"actions must have finite bounds, got {_short(space)}; set them with "
                    "gymnasium.wrappers.RescaleAction(env, -1, 1), or with TransformAction"
                )
            if not (low < high).all():
                raise ValueError(f"actions must have low below high, got {_short(space)}")
            bounds = tuple(low.tolist()), tuple(high.tolist())
            return VectorWriter(*bounds, space.shape, space.dtype.name)
        case _:
            raise ValueError(
                "actions must be Discrete, MultiDiscrete, MultiBinary, or a Box of floats, got "
                f"{_short(space)}; wrap the environment in gymnasium.wrappers.TransformAction"
            )


def _at_least_one(parts: Any, space: gymnasium.Space[Any]) -> Any:
    if not len(parts):
        raise ValueError(f"actions must have at least one part, got {_short(space)}")
    return parts


def _refuse_pictures(space: spaces.Box) -> None:
    size = int(np.prod(space.shape))
    if size == 0:
        raise ValueError(f"observations must be {_SUPPORTED}, got {_short(space)}")
    picture = len(space.shape) == 3 and space.dtype == np.uint8
    if picture or (len(space.shape) > 1 and size > _MOST_PIXELS):
        raise ValueError(
            f"observations must be {_SUPPORTED}; {_short(space)} looks like a picture, and there "
            "are no convolutional networks here: show features instead of pixels, with "
            "gymnasium.wrappers.TransformObservation, or if it holds features already, wrap the "
            "environment in gymnasium.wrappers.FlattenObservation"
        )


def _how_to_flatten(space: Any) -> str:
    """Advice that works: Gymnasium cannot flatten every space, MiniGrid's missions for one."""
    parts = space.spaces
    keys = list(parts) if isinstance(parts, dict) else list(range(len(parts)))
    flat = [key for key in keys if _flattens(parts[key])]
    if flat == keys:
        return "wrap the environment in gymnasium.wrappers.FlattenObservation"
    rest = ", ".join(str(key) for key in keys if key not in flat)
    if flat and isinstance(parts, dict):
        return (
            f"{rest} cannot be flattened: leave it out, by gymnasium.wrappers.FlattenObservation("
            f"gymnasium.wrappers.FilterObservation(env, {flat})), or wrap a MiniGrid environment "
            "in minigrid.wrappers.FlatObsWrapper, which keeps it"
        )
    return (
        f"{rest} cannot be flattened: make a vector of the rest with "
        "gymnasium.wrappers.TransformObservation"
    )


def _flattens(space: gymnasium.Space[Any]) -> bool:
    try:
        return bool(space.is_np_flattenable)
    except NotImplementedError:
        return False


def _short(space: gymnasium.Space[Any]) -> str:
    text = " ".join(str(space).split())
    return text if len(text) <= 100 else f"{text[:100]}…"
