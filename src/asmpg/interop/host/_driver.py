"""Stepping a Gymnasium vector environment, whichever way it resets itself."""

import contextlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, VectorEnv
from gymnasium.wrappers import TimeLimit
from jaxtyping import Bool, Float, Shaped

from asmpg._support.errors import TrainingError
from asmpg.environments import Box
from asmpg.interop._readers import ObservationReader
from asmpg.interop._stepping import HostDriver, HostStart, HostStep
from asmpg.interop._writers import mask_size, part_edges
from asmpg.interop.host._faults import (
    MASK,
    HangError,
    Watchdog,
    close_quietly,
    expect,
    quiet_gymnasium,
    raised,
    read_flags,
)
from asmpg.interop.host._spaces import read_action_space, read_observation_space

#: Where nothing else limits the length of an episode.
MOST_STEPS = 10_000


def time_limit(environment: Any) -> int:
    """The time limit that `environment` declares, by its spec or a wrapper, or else 10,000."""
    inner = environment.unwrapped
    within = getattr(inner, "envs", None)
    if isinstance(environment, VectorEnv) and within:
        return max(map(time_limit, within))
    spec = environment.spec
    limits = [] if spec is None else [spec.max_episode_steps]
    while isinstance(environment, gymnasium.Wrapper):
        if isinstance(environment, TimeLimit):
            limits.append(environment.get_wrapper_attr("_max_episode_steps"))
        environment = environment.env
    return min((limit for limit in limits if limit and limit > 0), default=MOST_STEPS)


class VectorDriver(HostDriver):
    """Drives a vector environment, in any of Gymnasium's autoreset modes.

    Episodes are truncated after `limit` steps, by default what the vector environment declares, or
    else 10,000. One that resets itself cannot be told to do so: there a longer episode is an error.
    """

    def __init__(
        self,
        name: str,
        vector: gymnasium.vector.VectorEnv[Any, Any, Any],
        *,
        limit: int | None = None,
        step_timeout: float | None = None,
        latent: str | None = None,
    ):
        """`vector` is closed by `close`. A step may take `step_timeout` seconds.

        Latent states are read from the entry `latent` of `info`, if it has a name.
        """
        self.name = name
        self.copies = vector.num_envs
        self._vector = vector
        self._reader = read_observation_space(vector.single_observation_space)
        self._bounds = None if self._reader.finite else _Bounds(self._reader)
        self._writer = read_action_space(vector.single_action_space)
        self._masked: bool | None = None
        self._latent = latent
        self._latent_shape: tuple[int, ...] | None = None
        self._mode = autoreset_mode(vector)
        self._limit = limit or time_limit(vector)
        self._processes = isinstance(vector.unwrapped, AsyncVectorEnv)
        self._quiet = quiet_gymnasium if self._processes else contextlib.nullcontext
        self._watchdog = None if step_timeout is None else Watchdog(step_timeout)
        self._broken = False
        self._steps = 0
        self._begin()

    def reset(self, seeds: Sequence[int] | None = None) -> HostStart:
        """Reset every copy."""
        self._begin()
        given = None if seeds is None else [int(seed) for seed in seeds]
        observations, info = self._call(2, "reset", seed=given)
        if self._masked is None:
            self._masked = MASK in info
        masks = self._read_masks(info, np.zeros(self.copies, bool))
        return HostStart(self._read(observations), masks, self._read_latents(info))

    def step(self, actions: Shaped[np.ndarray, "n *action"]) -> HostStep:
        """Step, and reset what has ended."""
        resetting = self._ended
        self._steps += 1
        written = self._writer.write(actions)
        observations, rewards, terminated, truncated, info = self._call(5, "step", written)
        rewards = self._read_rewards(rewards)
        terminated = self._read_flags("terminated", terminated)
        ended = terminated | self._read_flags("truncated", truncated)
        ended = self._truncate(ended, resetting)
        seen = self._read(observations)
        after, started = seen, ended
        over = np.zeros_like(ended)
        latents = seen_latents = self._read_latents(info)
        match self._mode:
            case AutoresetMode.NEXT_STEP:
                self._ended, started, over = ended, resetting, ended
            case AutoresetMode.SAME_STEP if ended.any():
                if "final_obs" not in info:
                    raise TrainingError(
                        f"{self.name}: in the same-step autoreset mode the info of step must have "
                        f"final_obs where an episode ends, got {', '.join(info) or 'nothing'}"
                    )
                seen = seen.copy()
                for copy in np.flatnonzero(ended):
                    final = _of_copy(info["final_obs"], int(copy))
                    seen[copy] = self._read(final, self._reader.read_any)
                if latents is not None:
                    seen_latents = self._with_latents(latents, info.get("final_info", {}), ended)
            case AutoresetMode.DISABLED if ended.any():
                fresh, news = self._call(2, "reset", options={"reset_mask": ended.copy()})
                after = seen.copy()
                after[ended] = self._read(fresh)[ended]
                if self._masked:
                    info = {MASK: _merged(info.get(MASK), news.get(MASK), ended)}
                if latents is not None:
                    latents = self._with_latents(latents, news, ended)
            case _:
                pass
        masks = self._read_masks(info, over)
        return HostStep(
            ~resetting,
            seen,
            rewards,
            terminated,
            ended,
            after,
            started,
            masks,
            seen_latents,
            latents,
        )

    def close(self) -> None:
        """Close the vector environment."""
        if self._watchdog is not None:
            self._watchdog.stop()
        with self._quiet():
            close_quietly(self.name, self._vector, broken=self._broken)

    def _begin(self) -> None:
        self._ended = np.zeros(self.copies, bool)
        self._time = np.zeros(self.copies, int)

    def _truncate(
        self, ended: Bool[np.ndarray, " n"], resetting: Bool[np.ndarray, " n"]
    ) -> Bool[np.ndarray, " n"]:
        """Where episodes end, the time limit included."""
        self._time = np.where(resetting, 0, self._time + 1)
        if self._mode is AutoresetMode.DISABLED:
            ended = ended | (self._time >= self._limit)
        longer = (self._time > self._limit) & ~ended
        if longer.any():
            raise TrainingError(
                f"{self.name}: copy {int(np.argmax(longer))} has played more than {self._limit} "
                "steps without an end of its episode, and a vector environment that resets itself "
                "cannot be truncated from outside: give it a time limit, or make it with "
                "autoreset_mode=AutoresetMode.DISABLED"
            )
        self._time = np.where(ended, 0, self._time)
        return ended

    def _call(self, number: int, name: str, *arguments: Any, **options: Any) -> tuple[Any, ...]:
        function = getattr(self._vector, name)
        try:
            with self._quiet():
                if self._watchdog is None:
                    result = function(*arguments, **options)
                else:
                    result = self._watchdog.call(function, *arguments, **options)
            return expect(number, name, result)
        except TrainingError as error:
            raise TrainingError(f"{self.name}: {error}") from error
        except HangError as error:
            self._broken = True
            assert self._watchdog is not None
            raise TrainingError(
                f"{self.name}: {name} did not return within {self._watchdog.seconds:g} s, the "
                f"step_timeout, in step {self._steps} of {self.copies} copies"
            ) from error
        except (Exception, SystemExit) as error:
            if self._processes and isinstance(error, EOFError | ConnectionError):
                self._broken = True
                raise TrainingError(
                    f"{self.name}: a process that steps the environment died in {name}"
                ) from error
            raise TrainingError(f"{self.name}: {raised(name, error)}") from error

    def _read(self, observations: Any, by: Callable[[Any], np.ndarray] | None = None) -> np.ndarray:
        try:
            read = (by or self._reader.read)(observations)
        except ValueError as error:
            raise TrainingError(f"{self.name}: {error}") from None
        stray = None if self._bounds is None else self._bounds.stray(read)
        if stray:
            # Once: many environments stray a little, and none of it keeps from learning.
            self._bounds = None
            warnings.warn(f"{self.name}: {stray}", RuntimeWarning, stacklevel=2)
        return read

    def _read_masks(
        self, info: Any, over: Bool[np.ndarray, " n"]
    ) -> Bool[np.ndarray, "n M"] | None:
        """What may be played next; anything where the episode is over and a reset comes next."""
        if not self._masked:
            return None
        space = self._writer.space
        masks = (
            self._read_flags(MASK, info.get(MASK), (self.copies, mask_size(space))) | over[:, None]
        )
        for part in np.split(masks, part_edges(space), axis=1):
            if not part.any(axis=1).all():
                copy = int(np.argmin(part.any(axis=1)))
                raise TrainingError(
                    f"{self.name}: action_mask must allow some action, that of copy {copy} allows "
                    f"none after step {self._steps}"
                )
        return masks

    def _read_latents(
        self, info: Any, needed: Bool[np.ndarray, " n"] | None = None
    ) -> Float[np.ndarray, "n L"] | None:
        """The latent states of `info`; those not `needed` may be missing."""
        if self._latent is None:
            return None
        needed = np.ones(self.copies, bool) if needed is None else needed
        told = f"{self.name}: info[{self._latent!r}] must hold the same finite numbers every time"
        try:
            given = info[self._latent]
            rows = [np.ravel(given[copy]).astype(np.float32) for copy in np.flatnonzero(needed)]
            latents = np.zeros((self.copies, len(rows[0])), np.float32)
            latents[needed] = rows
        except (KeyError, TypeError, ValueError, IndexError):
            have = ", ".join(map(str, info)) or "nothing"
            raise TrainingError(f"{told}; after step {self._steps} the info has {have}") from None
        self._latent_shape = self._latent_shape or latents.shape
        if latents.shape != self._latent_shape or not np.isfinite(latents[needed]).all():
            raise TrainingError(f"{told}; after step {self._steps} it is {latents.tolist()}")
        return latents

    def _with_latents(
        self, latents: Float[np.ndarray, "n L"], info: Any, where: Bool[np.ndarray, " n"]
    ) -> Float[np.ndarray, "n L"]:
        """Those of `info` in some places."""
        others = self._read_latents(info, where)
        assert others is not None
        return np.where(where[:, None], others, latents)

    def _read_rewards(self, given: Any) -> np.ndarray:
        try:
            rewards = np.array(given, np.float32)
        except (TypeError, ValueError):
            raise TrainingError(f"{self.name}: rewards must be numbers, got {given!r}") from None
        if rewards.shape != (self.copies,):
            raise TrainingError(
                f"{self.name}: rewards must be {self.copies} numbers, got {given!r}"
            )
        if not np.isfinite(rewards).all():
            copy = int(np.argmin(np.isfinite(rewards)))
            raise TrainingError(
                f"{self.name}: rewards must be finite, copy {copy} paid {rewards[copy]}"
            )
        return rewards

    def _read_flags(
        self, name: str, given: Any, shape: tuple[int, ...] | None = None
    ) -> Bool[np.ndarray, "n *rest"]:
        try:
            return read_flags(name, given, shape or (self.copies,))
        except TrainingError as error:
            raise TrainingError(f"{self.name}: {error}") from None


def _merged(before: Any, news: Any, ended: Bool[np.ndarray, " n"]) -> Any:
    """The masks after a step, and those after a reset where episodes `ended`."""
    try:
        merged = np.array(news if before is None else before)
        merged[ended] = np.asarray(news)[ended]
    except (TypeError, ValueError, IndexError):
        # Whatever it is, it is no mask; who reads it says so.
        return news
    return merged


def autoreset_mode(vector: gymnasium.vector.VectorEnv[Any, Any, Any]) -> AutoresetMode:
    """That of `vector`: a wrong guess would lose or invent a step of every episode."""
    given = vector.metadata.get("autoreset_mode")
    try:
        return AutoresetMode(given)
    except ValueError:
        accepted = ", ".join(f"AutoresetMode.{mode.name}" for mode in AutoresetMode)
        raise ValueError(
            "the vector environment must say how it resets itself, by "
            'metadata["autoreset_mode"] = one of gymnasium.vector\'s '
            f"{accepted}; got {given!r}"
        ) from None


def _of_copy(final: Any, copy: int) -> Any:
    """What `copy` saw last, out of an array of observations, or of parts that are arrays."""
    match final:
        case Mapping():
            return {key: _of_copy(part, copy) for key, part in final.items()}
        case tuple():
            return tuple(_of_copy(part, copy) for part in final)
        case _:
            return final[copy]


class _Bounds:
    """The bounds of a box, with a little room for rounding."""

    def __init__(self, reader: ObservationReader):
        space = reader.space
        assert isinstance(space, Box)
        self._names = reader.names
        self._declared = space.low, space.high
        low, high = np.asarray(space.low), np.asarray(space.high)
        largest = float(np.finfo(np.float32).max)
        self._low = np.where(low <= -largest, -np.inf, low - 1e-6 - 1e-5 * np.abs(low))
        self._high = np.where(high >= largest, np.inf, high + 1e-6 + 1e-5 * np.abs(high))

    def stray(self, read: np.ndarray) -> str | None:
        """What is wrong with observations outside; `None` if all are within."""
        outside = (read < self._low) | (read > self._high)
        if not outside.any():
            return None
        *row, part = np.unravel_index(int(np.argmax(outside)), outside.shape)
        low, high = (bounds[part] for bounds in self._declared)
        return (
            f"observations leave their declared bounds: component {self._names[part]} is "
            f"{read[(*row, part)]:g}, not in [{low:g}, {high:g}]; they are used as they are"
        )
