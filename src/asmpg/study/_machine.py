"""The machine a session ran on, in words that mean something elsewhere."""

import functools
import os
import platform
from pathlib import Path
from typing import Any


@functools.cache
def machine() -> dict[str, Any]:
    """Processor, its cores that are ours to use, memory and system."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "processor": _processor(),
        "cores": cores,
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
