"""Folders that one process writes at a time, be it one of several machines that share them.

Between processes of one machine the operating system's lock decides, which `kill -9` releases. Not
every file system hands it on to other machines. So whoever holds a lock writes its name into the
file, and again every few seconds; another machine takes the lock only if it has watched the file
for long enough without a change. Clocks are never compared.
"""

import contextlib
import errno
import json
import os
import platform
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

try:
    import fcntl
except ImportError:  # Windows has no such locks.
    fcntl = None

#: The file that is locked. It stays behind, empty; the lock itself never does.
LOCK_NAME = ".lock"
#: Seconds between two signs of life, and without one until another machine takes the lock.
_BEAT_SECONDS, _LEASE_SECONDS = 10.0, 60.0
#: What file systems without locks say.
_UNSUPPORTED = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}
#: Longer than what a holder writes.
_MOST_BYTES = 1000
#: Whether holders can write their names.
_NAMED = hasattr(os, "pwrite")


class FolderInUseError(ValueError):
    """Another process works in the folder."""


class FolderLock(NamedTuple):
    """A lock that is held: the open file, the name under which it is held, and where."""

    descriptor: int
    token: str
    machine: str


@contextlib.contextmanager
def folder_lock(path: Path, *, wait: float, taken: str) -> Iterator[FolderLock]:
    """Keep other processes out of the folder `path`.

    Workers that inherit the descriptor keep the folder locked on this machine. If another process
    still has it after `wait` seconds, a `FolderInUseError` says `taken`, and where that process is.
    """
    lock = FolderLock(_acquire(path, wait, taken), uuid.uuid4().hex, _machine())
    released = threading.Event()
    beating = threading.Thread(target=_beat, args=(lock, released), daemon=True)
    try:
        _write_holder(lock, beats=0)
        beating.start()
        yield lock
    finally:
        released.set()
        if beating.is_alive():
            beating.join()
        with contextlib.suppress(OSError):
            if _is_ours(lock):
                os.ftruncate(lock.descriptor, 0)
        os.close(lock.descriptor)


def is_in_place(path: Path, lock: FolderLock) -> bool:
    """Whether `path` is still the folder that was locked, and no other machine took the lock."""
    return _same_file(path / LOCK_NAME, lock.descriptor) and _is_ours(lock)


def _same_file(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except (FileNotFoundError, NotADirectoryError):
        return False


def _acquire(path: Path, wait: float, taken: str) -> int:
    file, until = path / LOCK_NAME, time.monotonic() + wait
    while True:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            # Whoever deletes a folder may delete the file between the two calls.
            if _lock(descriptor) and _same_file(file, descriptor):
                if (host := _elsewhere(descriptor)) is None:
                    return descriptor
                raise FolderInUseError(f"{taken} on {host}")
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
        if time.monotonic() > until:
            raise FolderInUseError(taken)
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


def _elsewhere(descriptor: int) -> str | None:
    """The host whose process holds the lock and gives signs of life; `None` if there is none."""
    seen = _read_holder(descriptor)
    until = time.monotonic() + _LEASE_SECONDS
    while seen and seen.get("machine") != _machine() and time.monotonic() < until:
        time.sleep(min(0.5, _BEAT_SECONDS))
        now = _read_holder(descriptor)
        if now and now != seen:
            return str(now.get("host"))
        seen = now
    return None


def _beat(lock: FolderLock, released: threading.Event) -> None:
    beats = 0
    while not released.wait(_BEAT_SECONDS):
        beats += 1
        with contextlib.suppress(OSError):
            if not _is_ours(lock):
                return
            _write_holder(lock, beats=beats)


def _is_ours(lock: FolderLock) -> bool:
    return not _NAMED or _read_holder(lock.descriptor).get("token") == lock.token


def _write_holder(lock: FolderLock, *, beats: int) -> None:
    holder = {"token": lock.token, "machine": lock.machine, "host": platform.node()}
    text = json.dumps({**holder, "process": os.getpid(), "beats": beats}).encode()
    if _NAMED:
        # One write of one length: a reader never sees half of it.
        os.pwrite(lock.descriptor, text.ljust(_MOST_BYTES), 0)
        os.fsync(lock.descriptor)


def _read_holder(descriptor: int) -> dict[str, Any]:
    try:
        holder = json.loads((_NAMED and os.pread(descriptor, _MOST_BYTES, 0)) or b"{}")
    except ValueError:
        return {}
    return holder if isinstance(holder, dict) else {}


def _machine() -> str:
    """What all processes share between which the operating system's locks hold."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return platform.node()
