"""Where Gymnasium environments come from: an id, an instance, or a function."""

import copy
import dataclasses
import functools
import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv

from asmpg._support.checks import check_number, check_one_of
from asmpg.interop._interface import Interface
from asmpg.interop._writers import mask_size
from asmpg.interop.host._driver import VectorDriver, autoreset_mode, time_limit
from asmpg.interop.host._faults import MASK, Guarded, Watchdog, close_quietly, mask_method
from asmpg.interop.host._spaces import read_action_space, read_observation_space
from asmpg.interop.host._vec_env import VecEnvAdapter, is_vec_env, vec_env_name

Vectorization = Literal["sync", "async"]


@dataclasses.dataclass(frozen=True)
class HostSource:
    """Makes the environments of a run: as many, side by side, as are asked for.

    `make` returns a Gymnasium environment, or a whole vector environment, Stable-Baselines3's
    included, with a number of copies of its own. An episode without a time limit of its own is
    truncated after 10,000 steps. A step that takes more than `step_timeout` seconds is an error.
    """

    name: str
    make: Callable[[], Any]
    by_name: bool
    vectorization: Vectorization = "sync"
    step_timeout: float | None = None
    #: The time limit, once a single environment was looked at: none is made for it again.
    _limits: list[int] = dataclasses.field(default_factory=list, compare=False, repr=False)

    def __post_init__(self):
        check_one_of("vectorization", self.vectorization, ("sync", "async"))
        if self.step_timeout is not None:
            check_number("step_timeout", self.step_timeout, low=1e-3)

    def interface(self) -> Interface:
        """Look at one environment; a `ValueError` if it does not fit."""
        made = self._made()
        try:
            vector = isinstance(made, VectorEnv)
            seen = made.single_observation_space if vector else made.observation_space
            acted = made.single_action_space if vector else made.action_space
            writer = read_action_space(acted)
            reader = read_observation_space(seen)
            info = self._info(made)
            masked = MASK in info
            if masked:
                mask_size(writer.space)
            latents = tuple(
                (str(name), False, size)
                for name, value in info.items()
                if (size := _numbers(value))
            )
            if vector:
                autoreset_mode(made)
            limit = time_limit(made)
            if not vector:
                self._limits.append(limit)
        finally:
            self.close(made)
        return Interface(
            self.name,
            reader,
            writer,
            limit,
            on_host=True,
            by_name=self.by_name,
            masked=masked,
            latents=latents,
        )

    def open(self, copies: int, *, exactly: bool = True, latent: str | None = None) -> VectorDriver:
        """So many copies, ready to be reset; a vector environment keeps its own number.

        `latent` names an entry of `info` that holds latent states.
        """
        made = self._vector(copies) if self._limits else self._made()
        limit = self._limits[0] if self._limits else time_limit(made)
        if not isinstance(made, VectorEnv):
            self._limits.append(limit)
            self.close(made)
            made = self._vector(copies)
        elif not self._limits and exactly and made.num_envs != copies:
            number = made.num_envs
            self.close(made)
            raise ValueError(
                f"the vector environment must have {copies} copies, as the method plays in so "
                f"many at a time; got {number}"
            )
        try:
            return VectorDriver(
                self.name, made, limit=limit, step_timeout=self.step_timeout, latent=latent
            )
        except ValueError:
            self.close(made)
            raise

    def _info(self, made: Any) -> dict[str, Any]:
        """What a reset tells, with what the environment's method says of the actions allowed."""
        watchdog = None if self.step_timeout is None else Watchdog(self.step_timeout)
        try:
            reset = made.reset if watchdog is None else functools.partial(watchdog.call, made.reset)
            _, info = reset()
            if isinstance(made, VectorEnv):
                # Entries of all copies, those that begin with _ saying which copies have them.
                return {n: v[0] for n, v in info.items() if not n.startswith("_") and len(v)}
            told = mask_method(made)
            return dict(info) if told is None else {**info, MASK: told()}
        except (Exception, SystemExit):
            # It will be raised again, and told, where the environment is played in.
            return {}
        finally:
            if watchdog is not None:
                watchdog.stop()

    def close(self, made: Any) -> None:
        """Close what `make` made; what that raises is a warning."""
        close_quietly(self.name, made)

    def _vector(self, copies: int) -> Any:
        makers = [self._guarded] * copies
        # Environments may write every observation into the same array: with this mode the last one
        # of an episode is read before the environment is reset.
        mode = AutoresetMode.DISABLED
        if self.vectorization == "sync":
            return SyncVectorEnv(makers, autoreset_mode=mode, copy=False)
        # Forked, a process with the threads of jax can hang.
        return AsyncVectorEnv(makers, autoreset_mode=mode, context="spawn")

    def _guarded(self) -> Any:
        return Guarded(self._made())

    def _made(self) -> Any:
        try:
            made = self.make()
        except SystemExit as stop:
            raise ValueError(
                f"environment must be made without ending the program: {self.name} raised "
                f"SystemExit: {stop}"
            ) from stop
        if is_vec_env(made):
            return VecEnvAdapter(made)
        if not isinstance(made, gymnasium.Env | VectorEnv):
            raise ValueError(
                "environment must be a function that returns a Gymnasium environment, "
                f"this one returned {made!r}"
            )
        return made


def _numbers(value: Any) -> int:
    """How many numbers an entry of `info` holds; 0 if it holds anything else."""
    try:
        array = np.asarray(value)
    except ValueError:
        return 0
    return int(array.size) if array.dtype.kind in "biuf" else 0


def source_of_id(
    name: str, options: Mapping[str, Any], *, vectorization: Vectorization, trust: bool = True
) -> HostSource:
    """From a Gymnasium id, `module:Name-v0` included; a `ValueError` if there is none such.

    Without `trust` a module that was not imported yet is not imported now.
    """
    module, _, plain = name.rpartition(":")
    if module and not trust and module not in sys.modules:
        raise ValueError(
            f"environment {name!r} would import the module {module!r}, whatever it does; allow it "
            "with trust=True, or --trust on the command line"
        )
    try:
        if module:
            importlib.import_module(module)
        spec = gymnasium.spec(plain)
    except (gymnasium.error.Error, ImportError, TypeError) as error:
        raise ValueError(f"environment {name!r} is not a Gymnasium id: {error}") from None
    return HostSource(name, _MakeById(spec, dict(options)), True, vectorization)


def is_environment(given: Any) -> bool:
    """Whether `given` is an environment, or several copies of one, stepped on the host."""
    return isinstance(given, gymnasium.Env | VectorEnv) or is_vec_env(given)


def source_of(given: Any, *, name: str | None, vectorization: Vectorization) -> HostSource:
    """From an instance, which is copied, or from a function without arguments."""
    if is_vec_env(given):
        return HostSource(name or vec_env_name(given), _Copy(given), False, vectorization)
    if isinstance(given, VectorEnv):
        raise ValueError(
            "environment must not be a vector environment, as evaluations need one of their own: "
            "hand in a function that makes it, lambda: gymnasium.make_vec(...)"
        )
    if not isinstance(given, gymnasium.Env):
        named = given.func if isinstance(given, functools.partial) else given
        label = getattr(named, "__name__", type(named).__name__).replace("<lambda>", "environment")
        return HostSource(name or label, given, False, vectorization)
    label = given.spec.id if given.spec is not None else type(given.unwrapped).__name__
    return HostSource(name or label, _Copy(given), False, vectorization)


@dataclasses.dataclass(frozen=True)
class _MakeById:
    spec: Any
    options: dict[str, Any]

    def __call__(self) -> Any:
        return gymnasium.make(self.spec, disable_env_checker=True, **self.options)


@dataclasses.dataclass(frozen=True)
class _Copy:
    original: Any

    def __call__(self) -> Any:
        try:
            return copy.deepcopy(self.original)
        except Exception as error:
            spec = getattr(self.original, "spec", None)
            if spec is not None and all(w.kwargs is not None for w in spec.additional_wrappers):
                return _MakeById(spec, {})()
            raise ValueError(
                f"environment cannot be copied ({error}): hand in a function that makes it"
            ) from None
