"""Ctrl-C: quiet at any moment, and with time to finish what is being done."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

_MODULES = ("asmpg", "asmpg.cli")


def is_command() -> bool:
    """Whether this process is `asmpg ...` or `python -m asmpg ...`."""
    program, *_ = [*getattr(sys, "argv", ()), ""]
    if program == "-m":
        # The package is imported before Python knows the path of the module that it will run.
        return any(
            flag == "-m" and module in _MODULES
            for flag, module in zip(sys.orig_argv, sys.orig_argv[1:], strict=False)
        )
    folder, name = os.path.split(program)
    if name in ("__main__.py", "cli.py"):
        return folder == os.path.dirname(os.path.dirname(__file__))
    return os.path.splitext(name)[0] in ("asmpg", "asmpg-script")


def leave_on_interrupt() -> None:
    """From now on, let Ctrl-C end the process at once, if it is the command line."""
    if _ours() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def raise_on_interrupt() -> None:
    """From now on, let Ctrl-C raise `KeyboardInterrupt`, for the command to tidy up."""
    if _ours() and signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.unraisablehook = _raise_elsewhere


def leave_interrupted(message: str) -> None:
    """Say `message` and end: at once if this is the command line, whatever threads still do."""
    if not _ours():
        print(f"asmpg: {message}", file=sys.stderr)
        sys.exit(130)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _end(message)


def _ours() -> bool:
    return is_command() and threading.current_thread() is threading.main_thread()


def _leave(number: int, frame: FrameType | None) -> None:
    del number, frame
    _end("stopped")


def _end(message: str) -> None:
    try:
        # Environments in processes of their own would complain that nobody listens any more.
        processes = sys.modules.get("multiprocessing")
        for process in processes.active_children() if processes else ():
            process.kill()
        sys.stdout.flush()
        # Not by print: the signal may have come in the middle of one.
        os.write(2, f"asmpg: {message}\n".encode(errors="replace"))
    finally:
        os._exit(130)


def _raise_elsewhere(unraisable: Any) -> None:
    """An interrupt in a destructor is told and forgotten by Python; ask for another one."""
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        # A little later: one that leaves this function is forgotten as well.
        with suppress(KeyboardInterrupt):
            _ask_soon()
            return
        _ask_soon()
    else:
        sys.__unraisablehook__(unraisable)


def _ask_soon() -> None:
    later = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    later.daemon = True
    later.start()


class Interrupt:
    """Whether somebody asked to stop."""

    def __init__(self):
        self.requested = False


@contextmanager
def deferred_interrupt() -> Iterator[Interrupt]:
    """Turn the first Ctrl-C into a request; a second one interrupts as ever.

    Outside the main thread, where signals do not arrive, nothing changes.
    """
    interrupt = Interrupt()
    if threading.current_thread() is not threading.main_thread():
        yield interrupt
        return
    before = signal.getsignal(signal.SIGINT)

    def request(number: int, frame: FrameType | None) -> None:
        interrupt.requested = True
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, request)
    try:
        yield interrupt
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def worker_threads(number: int) -> Iterator[ThreadPoolExecutor]:
    """Threads whose work in hand is waited for at the end, unless a `KeyboardInterrupt` ends it."""
    pool = ThreadPoolExecutor(number)
    patient = True
    try:
        yield pool
    except KeyboardInterrupt:
        patient = False
        raise
    finally:
        pool.shutdown(wait=patient, cancel_futures=True)
