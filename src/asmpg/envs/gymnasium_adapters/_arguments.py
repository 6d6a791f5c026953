"""What the adapters accept."""

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from jaxtyping import Bool, Int32

from asmpg.envs._environment import Environment
from asmpg.envs._registry import make

_RENDER_MODES = ("ansi", "rgb_array")


def render_metadata() -> dict[str, Any]:
    """Gymnasium's description of how an environment can be rendered."""
    return {"render_modes": list(_RENDER_MODES), "render_fps": 10}


def resolve_environment(environment: object, options: dict[str, Any]) -> Environment[Any]:
    """The environment meant: one already built, or a registered name with options."""
    if isinstance(environment, str):
        return make(environment, **options)
    if not isinstance(environment, Environment):
        raise ValueError(
            f"environment must be a registered name or an Environment, got {environment!r}"
        )
    if options:
        raise ValueError(
            f"options go with the name of an environment, but {environment.name} is already "
            f"built; got: {', '.join(options)}"
        )
    return environment


def check_render_mode(render_mode: str | None) -> str | None:
    """Return `render_mode` if it is known."""
    if render_mode is not None and render_mode not in _RENDER_MODES:
        accepted = ", ".join(repr(mode) for mode in _RENDER_MODES)
        raise ValueError(f"render_mode must be None or one of {accepted}, got {render_mode!r}")
    return render_mode


def check_autoreset_mode(mode: AutoresetMode | str) -> AutoresetMode:
    """Return the mode, given itself or by its Gymnasium name."""
    try:
        return AutoresetMode(mode)
    except ValueError:
        accepted = ", ".join(repr(known.value) for known in AutoresetMode)
        raise ValueError(
            f"autoreset_mode must be an AutoresetMode or one of {accepted}, got {mode!r}"
        ) from None


def check_seeds(seed: int | Sequence[int | None] | None, num_envs: int) -> list[int | None]:
    """A seed, or none, for each sub-environment."""
    if seed is None:
        return [None] * num_envs
    if isinstance(seed, int | np.integer):
        return [int(seed) + i for i in range(num_envs)]
    if len(seed) != num_envs:
        raise ValueError(f"seed must have one entry for each of {num_envs}, got {len(seed)}")
    return [None if entry is None else operator.index(entry) for entry in seed]


def check_reset_mask(options: dict[str, Any] | None, num_envs: int) -> Bool[np.ndarray, " n"]:
    """Which sub-environments to reset: those of `options["reset_mask"]`, or all."""
    mask = (options or {}).get("reset_mask")
    if mask is None:
        return np.ones(num_envs, bool)
    mask = np.asarray(mask)
    if mask.shape != (num_envs,) or mask.dtype != bool or not mask.any():
        raise ValueError(
            f"reset_mask must hold {num_envs} booleans, at least one of them true, got {mask!r}"
        )
    return mask


def check_actions(
    actions: Any, count: int, needed: Bool[np.ndarray, " n"]
) -> Int32[np.ndarray, " n"]:
    """One of `count` actions for each sub-environment; what is not `needed` may be anything."""
    array = np.asarray(actions)
    if array.shape != needed.shape or array.dtype.kind not in "iu":
        raise ValueError(
            f"actions must be {len(needed)} integers in [0, {count - 1}], got {actions!r}"
        )
    wrong = needed & ((array < 0) | (array >= count))
    if wrong.any():
        index = int(np.argmax(wrong))
        raise ValueError(
            f"actions must be integers in [0, {count - 1}], got {array[index]} at index {index}"
        )
    return array.astype(np.int32)
