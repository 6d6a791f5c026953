"""A lock on a folder: one process at a time writes there."""

import contextlib
import errno
import os
import time
from collections.abc import Iterator
from pathlib import Path

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
