"""The language of a file, by how its name ends."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asmpg._support.files import write_atomically
from asmpg.agents.machine.exports._c import c_header
from asmpg.agents.machine.exports._dot import dot_text
from asmpg.agents.machine.exports._fsc import machine_fsc
from asmpg.agents.machine.exports._json import json_text
from asmpg.agents.machine.exports._network import NetworkKernel
from asmpg.agents.machine.exports._onnx import onnx_machine, onnx_network
from asmpg.agents.machine.exports._python import python_class
from asmpg.agents.machine.exports._python_network import python_network

if TYPE_CHECKING:
    from asmpg.agents.machine._machine import Machine

_MACHINE: dict[str, Callable[..., str | bytes]] = {
    ".h": c_header,
    ".py": python_class,
    ".json": json_text,
    ".dot": dot_text,
    ".fsc": machine_fsc,
    ".onnx": onnx_machine,
}
_NETWORK: dict[str, Callable[..., str | bytes]] = {".py": python_network, ".onnx": onnx_network}


def write_machine(machine: "Machine", path: Path) -> None:
    """Write a machine as C, Python, JSON, DOT, `.fsc` or ONNX."""
    _write(path, _MACHINE, machine)


def write_network(network: NetworkKernel, path: Path, *, deterministic: bool) -> None:
    """Write a policy for real observations, or with a window, as Python or ONNX."""
    _write(path, _NETWORK, network, deterministic=deterministic)


def _write(path: Path, writers: Any, subject: Any, **options: Any) -> None:
    if path.suffix not in writers:
        raise ValueError(f"path must end in {', '.join(writers)}, got {str(path)!r}")
    content = writers[path.suffix](subject, path, **options)
    encoded = content.encode() if isinstance(content, str) else content
    write_atomically(path, lambda file: file.write(encoded))
