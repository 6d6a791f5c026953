"""Executors by name, for the command line: `asmpg study quick --executor local`."""

from collections.abc import Callable
from typing import Any

from asmpg._support.checks import check_one_of
from asmpg._support.machine import Device
from asmpg.studies.executors._executor import Executor
from asmpg.studies.executors._local import LocalExecutor

#: Called with the device and the number of jobs at a time, `None` if the executor may choose.
Factory = Callable[[Device, int | None], Any]

_factories: dict[str, Factory] = {"local": LocalExecutor}


def executor_names() -> list[str]:
    """The names that `--executor` accepts."""
    return list(_factories)


def register_executor(name: str, factory: Factory) -> None:
    """Let `--executor name` use `factory(device, slots)`.

    `device` is `"cpu"` or `"gpu"`, `slots` the number of jobs at a time or `None`. On the command
    line, the module that calls this is one that the study file names in `imports`.

    >>> asmpg.register_executor("cluster", lambda device, slots: MyExecutor(slots or 100))
    """
    if name in _factories:
        raise ValueError(f"name {name!r} is already registered")
    if not callable(factory):
        raise ValueError(f"factory must be callable, got {factory!r}")
    _factories[name] = factory


def make_executor(name: str, device: Device, slots: int | None) -> Executor:
    """The executor called `name`."""
    executor = _factories[check_one_of("executor", name, executor_names())](device, slots)
    if not isinstance(executor, Executor):
        raise ValueError(f"the factory of {name!r} must return an Executor, got {executor!r}")
    return executor
