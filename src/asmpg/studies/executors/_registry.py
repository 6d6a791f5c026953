"""Executors by name, for the command line: `asmpg study quick --executor local`."""

from collections.abc import Callable
from typing import Any

from asmpg._support.checks import check_one_of
from asmpg.studies.executors._executor import Executor
from asmpg.studies.executors._local import LocalExecutor
from asmpg.studies.executors._ray import RayExecutor
from asmpg.studies.executors._settings import ExecutorSettings
from asmpg.studies.executors._slurm import SlurmExecutor

Factory = Callable[[ExecutorSettings], Any]

_factories: dict[str, Factory] = {
    "local": LocalExecutor.from_settings,
    "ray": RayExecutor,
    "slurm": SlurmExecutor,
}


def executor_names() -> list[str]:
    """The names that `--executor` accepts."""
    return list(_factories)


def register_executor(name: str, factory: Factory) -> None:
    """Register an executor: `--executor name` then uses `factory(settings)`.

    `settings` is an `ExecutorSettings`: the device, the number of jobs at a time, what each of them
    needs, and the options of `--executor-option`. For use on the command line, call this in a
    module that the study file lists in `imports`.

    >>> asmpg.register_executor("cluster", lambda settings: MyExecutor(settings.jobs or 100))
    """
    if name in _factories:
        raise ValueError(f"name {name!r} is already registered")
    if not callable(factory):
        raise ValueError(f"factory must be callable, got {factory!r}")
    _factories[name] = factory


def make_executor(name: str, settings: ExecutorSettings) -> Executor:
    """The executor called `name`."""
    executor = _factories[check_one_of("executor", name, executor_names())](settings)
    if not isinstance(executor, Executor):
        raise ValueError(f"the factory of {name!r} must return an Executor, got {executor!r}")
    return executor
