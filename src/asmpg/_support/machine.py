"""What a run was made with and on: the machine, the device, the versions."""

import functools
import os
import platform
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Literal

import jax

from asmpg._support.devices import current_device
from asmpg._support.version import __version__


def available_cores() -> int:
    """How many CPU cores this process may use; `NPROC` can make them fewer, as it does for XLA."""
    limit = os.environ.get("NPROC", "")
    cores = len(core_numbers())
    return max(1, min(cores, int(limit))) if limit.isdecimal() else cores


def core_numbers() -> list[int]:
    """The numbers of the CPU cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


@functools.cache
def machine() -> dict[str, Any]:
    """Processor, available cores, memory and system."""
    return {
        "processor": _processor(),
        "cores": available_cores(),
        "memory_gib": _memory(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def _processor() -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text(errors="replace").splitlines() if path.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _memory() -> int | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)
    except (AttributeError, ValueError, OSError):
        return None


def versions() -> dict[str, str | None]:
    """Versions, the kind of device, and the commit where the package lies in its repository."""
    return {
        "asmpg": __version__,
        "jax": jax.__version__,
        "python": platform.python_version(),
        "device": current_device().device_kind,
        "commit": _commit(),
    }


def _commit() -> str | None:
    package = Path(__file__).resolve().parents[1]
    root = _git(package, "rev-parse", "--show-toplevel")
    # A repository around a virtual environment is not ours.
    if root is None or Path(root) / "src" / "asmpg" != package:
        return None
    commit = _git(package, "rev-parse", "HEAD")
    changed = _git(package, "status", "--porcelain", "--", ".")
    return f"{commit}, changed" if commit and changed else commit


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


Device = Literal["cpu", "gpu"]


def find_device() -> Device:
    """`gpu` if jax, in a process of its own, finds something other than the CPU."""
    if os.environ.get("JAX_PLATFORMS") == "cpu" or not entry_points(group="jax_plugins"):
        return "cpu"
    code = "import jax; print(jax.default_backend())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    return "cpu" if done.stdout.strip() in ("cpu", "") else "gpu"
