"""What can go wrong in somebody else's environment, told in one line."""

import contextlib
import functools
import queue
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AsyncVectorEnv
from jaxtyping import Bool

from asmpg._support.errors import TrainingError


class Guarded(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Refuses what a vector environment would no longer show: flags that are no booleans, exits.

    What `action_masks()` says, where the environment has such a method, goes into `info`.
    """

    def __init__(self, env: Any):
        """Guard `env`."""
        super().__init__(env)
        self._masks = mask_method(env)

    def reset(self, **options: Any) -> Any:
        """Reset."""
        try:
            observation, info = expect(2, "reset", self.env.reset(**options))
        except SystemExit as stop:
            raise TrainingError(raised("reset", stop)) from stop
        return observation, self._with_mask(info)

    def step(self, action: Any) -> Any:
        """Step."""
        try:
            result = self.env.step(action)
        except SystemExit as stop:
            raise TrainingError(raised("step", stop)) from stop
        observation, reward, terminated, truncated, info = expect(5, "step", result)
        if not (isinstance(terminated, bool) and isinstance(truncated, bool)):
            terminated = bool(read_flags("terminated", terminated, ()))
            truncated = bool(read_flags("truncated", truncated, ()))
        return observation, reward, terminated, truncated, self._with_mask(info)

    def _with_mask(self, info: Any) -> Any:
        return info if self._masks is None else {**info, MASK: np.asarray(self._masks())}

    def close(self) -> None:
        """Close. What that raises was told of the first environment made; a copy repeats it."""
        with contextlib.suppress(Exception, SystemExit):
            self.env.close()


#: Where the info of an environment says which actions are allowed.
MASK = "action_mask"


def mask_method(environment: Any) -> Callable[[], Any] | None:
    """The method that says which actions are allowed, as sb3-contrib spells it, if there is one."""
    if not environment.has_wrapper_attr("action_masks"):
        return None
    return environment.get_wrapper_attr("action_masks")


def read_flags(name: str, given: Any, shape: tuple[int, ...]) -> Bool[np.ndarray, "..."]:
    """`given` as booleans; a `TrainingError` for anything but booleans, zeros and ones."""
    flags = np.asarray(given)
    plain = flags.dtype.kind == "b" or (
        flags.dtype.kind in "iu" and bool(((flags == 0) | (flags == 1)).all())
    )
    if not plain or flags.shape != shape:
        size = " x ".join(map(str, shape))
        accepted = f"an array of {size} booleans" if shape else "True or False"
        raise TrainingError(f"{name} must be {accepted}, got {given!r}")
    return flags.astype(bool)


def expect(number: int, name: str, result: Any) -> tuple[Any, ...]:
    """`result` if it is so many values."""
    if isinstance(result, tuple | list) and len(result) == number:
        return tuple(result)
    count = f"{len(result)} values" if isinstance(result, tuple | list) else repr(result)
    raise TrainingError(f"{name} must return {number} values, got {count}")


def raised(name: str, error: BaseException) -> str:
    """What `name` raised, in one line."""
    text = " ".join(str(error).split()) or "no message"
    return f"the environment raised {type(error).__name__} in {name}: {text}"


def close_quietly(name: str, environment: Any, *, broken: bool = False) -> None:
    """Close `environment`; what that raises is a warning, and hides no result or error.

    With `broken`, processes are ended without asking them: they would not answer.
    """
    inner = environment.unwrapped
    try:
        if not broken:
            environment.close()
    except (Exception, SystemExit) as error:
        broken = True
        warnings.warn(f"{name}: {raised('close', error)}", stacklevel=2)
    if broken and isinstance(inner, AsyncVectorEnv):
        for process in inner.processes:
            process.terminate()
        for process in inner.processes:
            process.join()
        inner.closed = True


@contextlib.contextmanager
def quiet_gymnasium() -> Iterator[None]:
    """Keep Gymnasium from printing the tracebacks of its workers: the error itself is raised."""
    level = gymnasium.logger.min_level
    gymnasium.logger.min_level = gymnasium.logger.ERROR + 1
    try:
        yield
    finally:
        gymnasium.logger.min_level = level


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
