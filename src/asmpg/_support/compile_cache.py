"""JAX's compilation cache in the user's cache folder: what was compiled once starts quickly."""

import contextlib
import hashlib
import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import jax

#: `off`, or the folder to use instead of the user's cache folder.
VARIABLE = "ASMPG_COMPILE_CACHE"
#: What lies in the folder is kept below this many bytes; a training program takes about one MB.
MOST_BYTES = 512 * 2**20
#: JAX's own choice, in seconds: programs that took less time to compile are not kept.
_DEFAULT_MIN_COMPILE_TIME = 1.0


def use_compile_cache() -> Path | None:
    """Let JAX keep what it compiles from now on, and return where; `None` where it does not.

    A program that has chosen a folder itself, or switched caching off, in `jax.config` or by JAX's
    environment variables, keeps its choice. So does one whose user cannot write to the folder.
    """
    chosen = jax.config.values["jax_compilation_cache_dir"] is not None
    if chosen or not jax.config.values["jax_enable_compilation_cache"]:
        return None
    root = cache_folder()
    folder = None if root is None else root / processor_digest()
    if root is None or folder is None or not _writable(folder):
        return None
    prune(root, MOST_BYTES)
    jax.config.update("jax_compilation_cache_dir", str(folder))
    if jax.config.values["jax_persistent_cache_min_compile_time_secs"] == _DEFAULT_MIN_COMPILE_TIME:
        # Many programs are small: together they take as long as a large one.
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    return folder


def switch_compile_cache_off() -> None:
    """For this process, and for those that it starts."""
    os.environ[VARIABLE] = "off"


def cache_folder() -> Path | None:
    """Where compiled programs are kept; `None` if that was switched off or there is no home."""
    chosen = os.environ.get(VARIABLE, "")
    if chosen.lower() in ("off", "0", "no", "false"):
        return None
    try:
        return Path(chosen).expanduser() if chosen else _user_caches() / "asmpg" / "compiled"
    except RuntimeError:  # nobody's home
        return None


def _user_caches() -> Path:
    """The folder for caches, by the customs of the system."""
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if named.is_absolute():
        return named
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    return Path.home() / ".cache"


def processor_digest() -> str:
    """Stands for what code a processor can run: JAX's keys tell versions and flags apart, not that.

    A home folder may be shared by machines.
    """
    facts = [platform.machine(), platform.processor()]
    try:
        with open("/proc/cpuinfo", errors="replace") as file:
            for line in file:
                if not line.strip():  # the other cores
                    break
                if line.startswith(("model name", "flags", "Features")):
                    facts.append(line.strip())
    except OSError:
        pass
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]


def _writable(folder: Path) -> bool:
    """Whether files can be written there; the folder is made if need be, for its owner only."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def prune(root: Path, most_bytes: int) -> None:
    """Delete what was not used for longest, a quarter more than necessary.

    JAX can do so itself, but only with a package that it does not depend on, and under a lock for
    which all processes wait. A file that another process deletes first is none of our business.
    """
    files = sorted(_files(root))
    total = sum(size for _, size, _ in files)
    if total <= most_bytes:
        return
    for _, size, path in files:
        with contextlib.suppress(OSError):
            path.unlink()
        total -= size
        if total <= 0.75 * most_bytes:
            return


def _files(root: Path) -> Iterator[tuple[float, int, Path]]:
    """When each was last used, its size, and its path."""
    for path in root.rglob("*-cache"):
        try:
            found = path.stat()
        except OSError:
            continue
        yield max(found.st_atime, found.st_mtime), found.st_size, path
