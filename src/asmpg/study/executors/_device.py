"""Which device the jobs of a study will find."""

import os
import subprocess
import sys
from importlib.metadata import entry_points
from typing import Literal

Device = Literal["cpu", "gpu"]


def find_device() -> Device:
    """`gpu` if jax, in a process of its own, finds something other than the CPU."""
    if os.environ.get("JAX_PLATFORMS") == "cpu" or not entry_points(group="jax_plugins"):
        return "cpu"
    code = "import jax; print(jax.default_backend())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    return "cpu" if done.stdout.strip() in ("cpu", "") else "gpu"
