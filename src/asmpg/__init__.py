"""Reinforcement learning with a learned, finite memory."""

import importlib
from typing import TYPE_CHECKING, Any

from asmpg._gymnasium import register_with_gymnasium as _register_with_gymnasium
from asmpg._interrupts import leave_on_interrupt as _leave_on_interrupt

if TYPE_CHECKING:
    from asmpg._gymnasium import to_gymnasium as to_gymnasium
    from asmpg._gymnasium import to_gymnasium_vector as to_gymnasium_vector
    from asmpg.commands import verify as verify
    from asmpg.envs import Environment as Environment
    from asmpg.envs import Episode as Episode
    from asmpg.envs import FiniteEnvironment as FiniteEnvironment
    from asmpg.envs import FiniteModel as FiniteModel
    from asmpg.envs import from_gymnax as from_gymnax
    from asmpg.envs import make as make
    from asmpg.envs import register as register
    from asmpg.envs import registered_names as registered_names
    from asmpg.methods import AIS as AIS
    from asmpg.methods import ASMPG as ASMPG
    from asmpg.methods import ASMPPO as ASMPPO
    from asmpg.methods import GRUPPO as GRUPPO
    from asmpg.methods import MemorylessPPO as MemorylessPPO
    from asmpg.study.check import CheckReport as CheckReport
    from asmpg.study.check import check as check
    from asmpg.study.learning_curve import plot as plot
    from asmpg.study.study_commands import report as report
    from asmpg.training import Agent as Agent
    from asmpg.training import Callback as Callback
    from asmpg.training import CheckpointError as CheckpointError
    from asmpg.training import Progress as Progress
    from asmpg.training import RunConfig as RunConfig
    from asmpg.training import TrainingError as TrainingError
    from asmpg.training import TrainingResult as TrainingResult
    from asmpg.training import evaluate as evaluate
    from asmpg.training import learn as learn
    from asmpg.training import load as load
    from asmpg.training import train as train

__version__ = "0.1.0"

#: Where each name lives; nothing is imported, jax least of all, before it is asked for.
_HOME = {
    "AIS": "asmpg.methods",
    "ASMPG": "asmpg.methods",
    "ASMPPO": "asmpg.methods",
    "Agent": "asmpg.training",
    "Callback": "asmpg.training",
    "CheckReport": "asmpg.study.check",
    "CheckpointError": "asmpg.training",
    "Environment": "asmpg.envs",
    "Episode": "asmpg.envs",
    "FiniteEnvironment": "asmpg.envs",
    "FiniteModel": "asmpg.envs",
    "GRUPPO": "asmpg.methods",
    "MemorylessPPO": "asmpg.methods",
    "Progress": "asmpg.training",
    "RunConfig": "asmpg.training",
    "TrainingError": "asmpg.training",
    "TrainingResult": "asmpg.training",
    "check": "asmpg.study.check",
    "evaluate": "asmpg.training",
    "from_gymnax": "asmpg.envs",
    "learn": "asmpg.training",
    "load": "asmpg.training",
    "make": "asmpg.envs",
    "plot": "asmpg.study.learning_curve",
    "register": "asmpg.envs",
    "registered_names": "asmpg.envs",
    "report": "asmpg.study.study_commands",
    "to_gymnasium": "asmpg._gymnasium",
    "to_gymnasium_vector": "asmpg._gymnasium",
    "train": "asmpg.training",
    "verify": "asmpg.commands",
}


def __getattr__(name: str) -> Any:
    if name == "commands":
        return importlib.import_module("asmpg.commands")
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME, "commands"})


_leave_on_interrupt()
_register_with_gymnasium()
