"""Ray: a task for each job, on a cluster or on this machine."""

import importlib
import socket
from collections.abc import Callable, Sequence
from typing import Any

from asmpg._support.files import one_line
from asmpg._support.remote import Probe, call
from asmpg.studies.executors._remote import Launched, RemoteExecutor
from asmpg.studies.executors._settings import ExecutorSettings

#: Seconds that a cluster may take to answer.
_ANSWER_SECONDS = 10.0


class RayExecutor(RemoteExecutor):
    """Tasks on a Ray cluster, which get the CPUs, GPUs and memory that the settings ask for.

    Without an address it is the cluster that `RAY_ADDRESS` names, or one on this machine for as
    long as this process lives. Options are those of `ray.remote`, `scheduling_strategy=SPREAD` for
    example. A job that is lost with its node is started again by the runner, from its checkpoints.
    """

    def __init__(self, settings: ExecutorSettings):
        try:
            ray = importlib.import_module("ray")
        except ImportError as error:
            raise ImportError("executor 'ray' needs ray: pip install 'asmpg[ray]'") from error
        self._ray = ray
        if not ray.is_initialized():
            _connect(ray, settings.address)
        self._needs: dict[str, Any] = {
            "num_cpus": settings.cpus or 1,
            "num_gpus": settings.remote_gpus,
            "max_retries": 0,
            **({"memory": int(settings.memory * 2**30)} if settings.memory else {}),
        }
        clash = sorted(self._needs.keys() & settings.options.keys())
        if clash:
            raise ValueError(
                f"executor_option must not have {', '.join(clash)}: use cpus, gpus and memory"
            )
        try:
            self._task = ray.remote(call).options(**self._needs, **settings.options)
        except (ValueError, TypeError) as error:
            raise ValueError(f"executor_option is refused by Ray: {one_line(error)}") from error
        super().__init__(settings, slots=self._capacity())

    def launch(self, task: Callable[[], Any], name: str) -> Launched:
        return _Task(self._ray, self._task.remote(task))

    def launch_probes(self, probe: Probe) -> Sequence[Launched]:
        """One on each node: they may differ."""
        strategies = importlib.import_module("ray.util.scheduling_strategies")
        function = self._ray.remote(call)
        nodes = [node["NodeID"] for node in self._ray.nodes() if self._fitting(node)]
        if not nodes:
            needs = {
                key: each for key, each in self._needs.items() if key != "max_retries" and each
            }
            raise ValueError(f"no node of the Ray cluster has what a job needs: {needs}")
        return [
            _Task(
                self._ray,
                function.options(
                    num_cpus=0,
                    max_retries=0,
                    scheduling_strategy=strategies.NodeAffinitySchedulingStrategy(node, soft=False),
                ).remote(probe),
            )
            for node in nodes
        ]

    def _fitting(self, node: dict[str, Any]) -> int:
        """How many jobs fit on a node."""
        has = node["Resources"]
        needs = {"CPU": "num_cpus", "GPU": "num_gpus", "memory": "memory"}
        shares = [
            has.get(kind, 0) // self._needs[key]
            for kind, key in needs.items()
            if self._needs.get(key)
        ]
        return int(min(shares)) if node["Alive"] else 0

    def _capacity(self) -> int:
        return max(1, sum(map(self._fitting, self._ray.nodes())))


class _Task:
    def __init__(self, ray: Any, reference: Any):
        self._ray, self._reference = ray, reference

    def done(self) -> bool:
        return bool(self._ray.wait([self._reference], timeout=0)[0])

    def result(self) -> Any:
        return self._ray.get(self._reference)

    def cancel(self) -> None:
        self._ray.cancel(self._reference, force=True)


def _connect(ray: Any, address: str | None) -> None:
    _, _, place = (address or "").rpartition("://")
    host, _, port = place.rpartition(":")
    try:
        if host and port.isdecimal():
            # Ray itself would take minutes to give up.
            socket.create_connection((host, int(port)), timeout=_ANSWER_SECONDS).close()
        ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except (OSError, RuntimeError, ValueError, AssertionError) as error:
        where = f"at address {address!r}" if address else "on this machine"
        raise ValueError(f"no Ray cluster {where}: {one_line(error)}") from error
