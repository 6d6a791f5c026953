"""Reinforcement learning with a learned, finite memory."""

import importlib
from typing import TYPE_CHECKING, Any

from asmpg._support.gymnasium_ids import register_with_gymnasium as _register_with_gymnasium
from asmpg._support.interrupts import leave_on_interrupt as _leave_on_interrupt
from asmpg._support.version import __version__ as __version__

if TYPE_CHECKING:
    from asmpg._support.errors import CheckpointError as CheckpointError
    from asmpg._support.errors import TrainingError as TrainingError
    from asmpg.agents import Agent as Agent
    from asmpg.agents import load as load
    from asmpg.agents.machine import Machine as Machine
    from asmpg.analysis.check import CheckReport as CheckReport
    from asmpg.commands.check import check as check
    from asmpg.commands.compress import compress as compress
    from asmpg.commands.distil import distil as distil
    from asmpg.commands.envs import envs as envs
    from asmpg.commands.plot import plot as plot
    from asmpg.commands.report import report as report
    from asmpg.commands.show import show as show
    from asmpg.commands.solve import solve as solve
    from asmpg.commands.study import study as study
    from asmpg.commands.sweep import sweep as sweep
    from asmpg.commands.verify import verify as verify
    from asmpg.environments import Environment as Environment
    from asmpg.environments import Episode as Episode
    from asmpg.environments import FiniteEnvironment as FiniteEnvironment
    from asmpg.environments import FiniteModel as FiniteModel
    from asmpg.environments import make as make
    from asmpg.environments import register as register
    from asmpg.environments import registered_names as registered_names
    from asmpg.environments.pomdp_files import PomdpEnvironment as PomdpEnvironment
    from asmpg.environments.pomdp_files import PomdpModel as PomdpModel
    from asmpg.environments.pomdp_files import read_pomdp as read_pomdp
    from asmpg.environments.pomdp_files import write_pomdp as write_pomdp
    from asmpg.interop import from_gymnax as from_gymnax
    from asmpg.interop import to_gymnasium as to_gymnasium
    from asmpg.interop import to_gymnasium_vector as to_gymnasium_vector
    from asmpg.methods import AIS as AIS
    from asmpg.methods import ASMPG as ASMPG
    from asmpg.methods import ASMPPO as ASMPPO
    from asmpg.methods import GRUPPO as GRUPPO
    from asmpg.methods import MemorylessPPO as MemorylessPPO
    from asmpg.methods import Method as Method
    from asmpg.methods import MinGRUPPO as MinGRUPPO
    from asmpg.methods import register_method as register_method
    from asmpg.runs import RunConfig as RunConfig
    from asmpg.studies.executors import Executor as Executor
    from asmpg.studies.executors import register_executor as register_executor
    from asmpg.training import Callback as Callback
    from asmpg.training import Progress as Progress
    from asmpg.training import TensorBoardLogger as TensorBoardLogger
    from asmpg.training import TrainingResult as TrainingResult
    from asmpg.training import WandbLogger as WandbLogger
    from asmpg.training import evaluate as evaluate
    from asmpg.training import learn as learn
    from asmpg.training import train as train

#: The module of each name, imported on first use: `import asmpg` does not import jax.
_HOME = {
    "AIS": "asmpg.methods",
    "ASMPG": "asmpg.methods",
    "ASMPPO": "asmpg.methods",
    "Agent": "asmpg.agents",
    "Callback": "asmpg.training",
    "CheckReport": "asmpg.analysis.check",
    "CheckpointError": "asmpg._support.errors",
    "Environment": "asmpg.environments",
    "Episode": "asmpg.environments",
    "Executor": "asmpg.studies.executors",
    "FiniteEnvironment": "asmpg.environments",
    "FiniteModel": "asmpg.environments",
    "GRUPPO": "asmpg.methods",
    "Machine": "asmpg.agents.machine",
    "MemorylessPPO": "asmpg.methods",
    "Method": "asmpg.methods",
    "MinGRUPPO": "asmpg.methods",
    "PomdpEnvironment": "asmpg.environments.pomdp_files",
    "PomdpModel": "asmpg.environments.pomdp_files",
    "Progress": "asmpg.training",
    "RunConfig": "asmpg.runs",
    "TensorBoardLogger": "asmpg.training",
    "TrainingError": "asmpg._support.errors",
    "TrainingResult": "asmpg.training",
    "WandbLogger": "asmpg.training",
    "check": "asmpg.commands.check",
    "compress": "asmpg.commands.compress",
    "distil": "asmpg.commands.distil",
    "envs": "asmpg.commands.envs",
    "evaluate": "asmpg.training",
    "from_gymnax": "asmpg.interop",
    "learn": "asmpg.training",
    "load": "asmpg.agents",
    "make": "asmpg.environments",
    "plot": "asmpg.commands.plot",
    "read_pomdp": "asmpg.environments.pomdp_files",
    "register": "asmpg.environments",
    "register_executor": "asmpg.studies.executors",
    "register_method": "asmpg.methods",
    "registered_names": "asmpg.environments",
    "report": "asmpg.commands.report",
    "show": "asmpg.commands.show",
    "solve": "asmpg.commands.solve",
    "study": "asmpg.commands.study",
    "sweep": "asmpg.commands.sweep",
    "to_gymnasium": "asmpg.interop",
    "to_gymnasium_vector": "asmpg.interop",
    "train": "asmpg.training",
    "verify": "asmpg.commands.verify",
    "write_pomdp": "asmpg.environments.pomdp_files",
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
