"""A time limit for calls that may never return."""

import functools
import queue
import threading
from collections.abc import Callable
from typing import Any


class HangError(Exception):
    """A call did not return in time."""


class Watchdog:
    """Makes calls in a thread of its own, and gives up on one that takes more than `seconds`.

    A call that hangs cannot be stopped: its thread is left behind, and does not keep the program
    from ending.
    """

    def __init__(self, seconds: float):
        """Start the thread."""
        self.seconds = seconds
        self._calls: queue.SimpleQueue[Callable[[], Any] | None] = queue.SimpleQueue()
        self._results: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()
        threading.Thread(target=self._work, daemon=True).start()

    def call(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """What `function` returns or raises; a `HangError` if it takes too long."""
        self._calls.put(functools.partial(function, *arguments, **options))
        try:
            result, error = self._results.get(timeout=self.seconds)
        except queue.Empty:
            raise HangError from None
        if error is not None:
            raise error
        return result

    def stop(self) -> None:
        """Let the thread end, once its last call returns."""
        self._calls.put(None)

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            try:
                self._results.put((call(), None))
            except BaseException as error:
                self._results.put((None, error))
