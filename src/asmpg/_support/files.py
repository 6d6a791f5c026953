"""Files: written whole or not at all, read with errors that name them, locked while in use."""

import contextlib
import errno
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from asmpg._support.errors import CheckpointError

#: How deep lists and objects may be nested, and how long a reason may be.
_MOST_LEVELS, _MOST_CHARACTERS = 30, 400


@contextlib.contextmanager
def naming(path: Path, fault: str = "is damaged, or of another version") -> Iterator[None]:
    """Turn what goes wrong with the contents of `path` into a `CheckpointError` that names it."""
    try:
        yield
    except CheckpointError:
        raise
    except (
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        ArithmeticError,
        RecursionError,
    ) as error:
        raise CheckpointError(f"{path} {fault}: {one_line(error)}") from None


def one_line(error: BaseException) -> str:
    """What `error` says, on one line that is not too long."""
    reason = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, KeyError):
        reason = f"it has no {reason}"
    return reason if len(reason) <= _MOST_CHARACTERS else f"{reason[:_MOST_CHARACTERS]}..."


def read_text(path: Path) -> str:
    """The UTF-8 text in `path`."""
    content = path.read_bytes()
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise CheckpointError(
            f"{path} is damaged: it is not UTF-8 text from byte {error.start} on"
        ) from None


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in `path`."""
    text = read_text(path)
    with naming(path):
        return parse_object(text)


def parse_object(text: str | bytes) -> dict[str, Any]:
    """The JSON object in `text`; a `ValueError` for anything else."""
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError(_too_deep()) from None
    if not isinstance(value, dict):
        raise ValueError(f"it must be a JSON object, not a {type(value).__name__}")
    check_depth(value)
    return value


def check_depth(value: Any) -> None:
    """A `ValueError` if lists and dictionaries are nested so deep that recursion may fail."""
    level = [value]
    for _ in range(_MOST_LEVELS):
        level = [
            item
            for each in level
            if isinstance(each, dict | list)
            for item in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return
    raise ValueError(_too_deep())


def _too_deep() -> str:
    return f"it is nested more than {_MOST_LEVELS} levels deep"


def write_atomically(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Let `write` fill a file beside `path`, then put it in the place of `path`.

    Whatever happens on the way, `path` is the old file or the new one, and nothing else stays.
    """
    partial = path.with_name(path.name + ".partial")
    try:
        with open(partial, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


try:
    import fcntl
except ImportError:  # Windows has no such locks.
    fcntl = None

#: The file that is locked. It stays behind; the lock itself never does.
LOCK_NAME = ".lock"
#: What file systems without locks say.
_UNSUPPORTED = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}


@contextlib.contextmanager
def folder_lock(path: Path, *, wait: float, taken: str) -> Iterator[int]:
    """Keep other processes out of the folder `path`; yields the descriptor that holds the lock.

    The operating system releases it with the last process that has the descriptor open, so a lock
    does not survive `kill -9`, and workers that inherit the descriptor keep the folder locked. If
    another process still has it after `wait` seconds, a `ValueError` says `taken`.
    """
    descriptor = _acquire(path / LOCK_NAME, time.monotonic() + wait, taken)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def is_in_place(path: Path, descriptor: int) -> bool:
    """Whether the folder `path` is still the one that was locked, not deleted and not replaced."""
    try:
        return os.path.samestat(os.stat(path / LOCK_NAME), os.fstat(descriptor))
    except (FileNotFoundError, NotADirectoryError):
        return False


def _acquire(path: Path, until: float, taken: str) -> int:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            # Whoever deletes a folder may delete the file between the two calls.
            if _lock(descriptor) and is_in_place(path.parent, descriptor):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
        if time.monotonic() > until:
            raise ValueError(taken)
        time.sleep(0.05)


def _lock(descriptor: int) -> bool:
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
    return True
