"""What a run was made with."""

import platform
import subprocess
from pathlib import Path

import jax

import asmpg


def versions() -> dict[str, str | None]:
    """Versions, the kind of device, and the commit where the package lies in its repository."""
    return {
        "asmpg": asmpg.__version__,
        "jax": jax.__version__,
        "python": platform.python_version(),
        "device": jax.devices()[0].device_kind,
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
