"""The command line's settings for where and how jobs run."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal

from asmpg._support.checks import check_integer, check_number, check_one_of
from asmpg._support.machine import Device


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExecutorSettings:
    """The settings of an executor; `None` leaves the choice to it.

    `jobs` is the number of jobs at a time. `cpus`, `gpus` and `memory` (in GiB) are per job.
    `options` are those of `--executor-option NAME=VALUE`.
    """

    device: Literal["auto", "cpu", "gpu"] = "auto"
    jobs: int | None = None
    cpus: int | None = None
    gpus: float | None = None
    memory: float | None = None
    address: str | None = None
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def __post_init__(self):
        check_one_of("device", self.device, ("auto", "cpu", "gpu"))
        if self.jobs is not None:
            check_integer("jobs", self.jobs, low=1)
        if self.cpus is not None:
            check_integer("cpus", self.cpus, low=1)
        if self.gpus is not None:
            check_number("gpus", self.gpus, low=0)
        if self.memory is not None and check_number("memory", self.memory, low=0) == 0:
            raise ValueError("memory must be a number of GiB above 0, got 0")
        if self.device == "cpu" and self.gpus:
            raise ValueError(f"gpus must be 0 with device 'cpu', got {self.gpus}")

    def refuse(self, executor: str, *names: str) -> None:
        """Raise a `ValueError` if a setting in `names` was given, which `executor` cannot use."""
        for name in names:
            if value := getattr(self, name):
                shown = dict(value) if isinstance(value, Mapping) else value
                raise ValueError(f"{name} cannot be used with executor {executor!r}, got {shown!r}")

    @property
    def remote_device(self) -> Device:
        """The device of jobs elsewhere: GPUs if they ask for some, whatever this machine has."""
        return "gpu" if self.gpus or self.device == "gpu" else "cpu"

    @property
    def remote_gpus(self) -> float:
        """Number of GPUs per job elsewhere."""
        return self.gpus or (1 if self.remote_device == "gpu" else 0)
