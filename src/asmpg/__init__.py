"""Reinforcement learning with a learned, finite memory."""

import importlib
from typing import TYPE_CHECKING, Any

from asmpg._gymnasium import register_with_gymnasium as _register_with_gymnasium

if TYPE_CHECKING:
    from asmpg._gymnasium import to_gymnasium as to_gymnasium
    from asmpg._gymnasium import to_gymnasium_vector as to_gymnasium_vector
    from asmpg.envs import Environment as Environment
    from asmpg.envs import Episode as Episode
    from asmpg.envs import FiniteEnvironment as FiniteEnvironment
    from asmpg.envs import FiniteModel as FiniteModel
    from asmpg.envs import make as make
    from asmpg.envs import register as register
    from asmpg.envs import registered_names as registered_names

__version__ = "0.1.0"

#: Where each name lives; nothing is imported, jax least of all, before it is asked for.
_HOME = {
    "Environment": "asmpg.envs",
    "Episode": "asmpg.envs",
    "FiniteEnvironment": "asmpg.envs",
    "FiniteModel": "asmpg.envs",
    "make": "asmpg.envs",
    "register": "asmpg.envs",
    "registered_names": "asmpg.envs",
    "to_gymnasium": "asmpg._gymnasium",
    "to_gymnasium_vector": "asmpg._gymnasium",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})


_register_with_gymnasium()
