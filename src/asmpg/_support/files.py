"""Files: written whole or not at all, read with errors that name them."""

import contextlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from asmpg._support.errors import CheckpointError

#: How deep lists and objects may be nested, and how long a reason may be.
_MOST_LEVELS, _MOST_CHARACTERS = 30, 400
#: How many pieces POSIX systems take at a time.
_MOST_PIECES = 1024


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
    with _replacing(path) as partial, open(partial, "wb") as file:
        write(file)
        file.flush()
        os.fsync(file.fileno())


def write_pieces_atomically(path: Path, pieces: Iterable[Any]) -> None:
    """Put a file of bytes and other buffers, one after another, in the place of `path`.

    They are not copied, and it takes few system calls: between two, many threads that write wait
    for each other.
    """
    if not hasattr(os, "writev"):
        write_atomically(path, lambda file: file.writelines(pieces))
        return
    with _replacing(path) as partial:
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        try:
            _write_all(descriptor, pieces)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _write_all(descriptor: int, pieces: Iterable[Any]) -> None:
    left = [view for view in map(memoryview, pieces) if view.nbytes]
    while left:
        written = os.writev(descriptor, left[:_MOST_PIECES])
        whole = 0
        while whole < len(left) and written >= left[whole].nbytes:
            written -= left[whole].nbytes
            whole += 1
        del left[:whole]
        if written:
            left[0] = left[0].cast("B")[written:]


def link_atomically(path: Path, same: Path) -> None:
    """Put a second name for the file `same` in the place of `path`.

    It takes no time and no room on the disk; an `OSError` where the file system has no such names.
    """
    with _replacing(path) as partial:
        try:
            os.link(same, partial)
        except FileExistsError:  # left by a process that was killed
            partial.unlink()
            os.link(same, partial)


@contextlib.contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """A name beside `path`, of a file that takes its place at the end if nothing is raised."""
    partial = path.with_name(path.name + ".partial")
    try:
        yield partial
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
