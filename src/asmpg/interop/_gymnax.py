"""Gymnax-style environments, as ours."""

import copy
import dataclasses
import inspect
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key

from asmpg._support.checks import check_integer
from asmpg.environments import (
    Action,
    ActionSpace,
    Box,
    Discrete,
    Environment,
    Observation,
    Space,
)

#: Where neither the parameters nor the caller limit the length of an episode.
_MOST_STEPS = 1000
#: A time limit that no episode reaches.
_NO_LIMIT = 2**31 - 1
_LARGEST = float(np.finfo(np.float32).max)


class GymnaxEnvironment(Environment[Any]):
    """An environment of gymnax's interface, compiled as ours are.

    `reset_env` and `step_env` are called if they exist, as they do not reset automatically; else
    `reset` and `step`, whose state after an episode is then that of the next. The time limit of the
    parameters, `max_steps_in_episode`, is truncation, not termination: only a `done` that is also
    reported without the time limit counts as termination.
    """

    inner: Any = eqx.field(static=True)
    params: Any
    max_steps: int = eqx.field(static=True)
    _observations: Space = eqx.field(static=True)
    _actions: ActionSpace = eqx.field(static=True)

    def __init__(self, inner: Any, params: Any = None, *, max_steps: int | None = None):
        """`params` default to the environment's own."""
        self.inner = inner
        self.params = getattr(inner, "default_params", None) if params is None else params
        limits = [] if max_steps is None else [check_integer("max_steps", max_steps, low=1)]
        own = getattr(self.params, "max_steps_in_episode", None)
        if own is not None:
            limits.append(check_integer("max_steps_in_episode", int(own), low=1))
        self.max_steps = min(limits, default=_MOST_STEPS)
        self._observations = _observation_space(self._space("observation_space"))
        self._actions = _action_space(self._space("action_space"))

    def reset(self, key: Key[Array, ""]) -> tuple[Observation, Any]:
        """Start an episode."""
        observation, state = _with_params(self._find("reset_env", "reset"), self.params, key)[:2]
        return self._read(observation), state

    def step(
        self, key: Key[Array, ""], state: Any, action: Action
    ) -> tuple[Observation, Any, Float[Array, ""], Bool[Array, ""]]:
        """Play `action`."""
        self.check_action(action)
        step, arguments = self._find("step_env", "step"), (key, state, jnp.asarray(action))
        observation, after, reward, done, *_ = _with_params(step, self.params, *arguments)
        terminated = jnp.asarray(done, bool)
        limit = getattr(self.params, "max_steps_in_episode", None)
        if limit is not None:
            unlimited = _without_time_limit(self.params) if _takes_params(step) else None
            if unlimited is not None:
                # Only `done` is taken from this second call: compiled, the rest of it is dropped.
                done = _with_params(step, unlimited, *arguments)[3]
                terminated = terminated & jnp.asarray(done, bool)
            elif hasattr(state, "time"):
                terminated = terminated & (state.time + 1 < limit)
        return self._read(observation), after, jnp.asarray(reward, float), terminated

    @property
    def observation_space(self) -> Space:
        """Symbols, or real numbers, flattened."""
        return self._observations

    @property
    def action_space(self) -> ActionSpace:
        """One of several actions, or a real vector."""
        return self._actions

    @property
    def reward_bound(self) -> float:
        """Unknown, so infinite."""
        return float("inf")

    @property
    def name(self) -> str:
        """The name of the wrapped environment."""
        return str(getattr(self.inner, "name", type(self.inner).__name__))

    def _read(self, observation: Any) -> Array:
        if isinstance(self._observations, Discrete):
            return jnp.asarray(observation, jnp.int32)
        return jnp.ravel(jnp.asarray(observation, jnp.float32))

    def _space(self, name: str) -> Any:
        space = getattr(self.inner, name)
        return _with_params(space, self.params) if callable(space) else space

    def _find(self, *names: str) -> Any:
        return next(getattr(self.inner, name) for name in names if hasattr(self.inner, name))


def from_gymnax(
    environment: Any, params: Any = None, *, max_steps: int | None = None
) -> GymnaxEnvironment:
    """Wrap a gymnax-style environment object as an `Environment`.

    It must have `reset(key, params)` and `step(key, state, action, params)`, with or without
    `params`, and spaces with `n`, or with `low`, `high` and `shape`. Its time limit is the smaller
    of `max_steps` and its parameters' `max_steps_in_episode`; without either, 1000.

    >>> agent = asmpg.ASMPPO(num_states=4).learn(asmpg.from_gymnax(environment, params))
    """
    if not is_gymnax_style(environment):
        raise ValueError(
            "environment must have reset, step, observation_space and action_space in the style of "
            f"gymnax, got {environment!r}"
        )
    return GymnaxEnvironment(environment, params, max_steps=max_steps)


def is_gymnax_style(given: Any) -> bool:
    """Whether `given` has what gymnax's environments have: pure functions of a key."""
    parts = ("reset", "step", "observation_space", "action_space")
    if isinstance(given, type) or not all(hasattr(given, part) for part in parts):
        return False
    first = next(iter(inspect.signature(given.reset).parameters), None)
    return first in ("key", "rng", "rng_key")


def _takes_params(function: Any) -> bool:
    return "params" in inspect.signature(function).parameters


def _with_params(function: Any, params: Any, *arguments: Any) -> Any:
    return function(*arguments, params) if _takes_params(function) else function(*arguments)


def _without_time_limit(params: Any) -> Any | None:
    """`params` with a time limit that is never reached; `None` where they cannot be changed."""
    limit = params.max_steps_in_episode
    if isinstance(limit, int | float):
        never = type(limit)(_NO_LIMIT)
    else:
        kind = jnp.asarray(limit).dtype
        largest = jnp.inf if jnp.issubdtype(kind, jnp.floating) else jnp.iinfo(kind).max
        never = jnp.full_like(limit, largest)
    change = {"max_steps_in_episode": never}
    try:
        if dataclasses.is_dataclass(params) and not isinstance(params, type):
            return dataclasses.replace(params, **change)
        for replace in ("replace", "_replace"):
            if hasattr(params, replace):
                return getattr(params, replace)(**change)
        changed: Any = copy.copy(params)
        changed.max_steps_in_episode = never
    except (TypeError, ValueError, AttributeError):
        return None
    return changed


def _observation_space(space: Any) -> Space:
    if hasattr(space, "n"):
        return Discrete(int(space.n))
    if not hasattr(space, "low"):
        raise ValueError(
            f"observations must be of a space with n, or with low and high, got {space!r}"
        )
    low, high = (
        np.clip(np.broadcast_to(bound, space.shape).ravel().astype(float), -_LARGEST, _LARGEST)
        for bound in (space.low, space.high)
    )
    return Box(tuple(low.tolist()), tuple(high.tolist()))


def _action_space(space: Any) -> ActionSpace:
    if hasattr(space, "n"):
        return Discrete(int(space.n))
    low, high = (
        np.broadcast_to(getattr(space, name, np.nan), getattr(space, "shape", ())).ravel()
        for name in ("low", "high")
    )
    if not (np.isfinite(low).all() and np.isfinite(high).all() and (low < high).all()):
        raise ValueError(
            f"actions must be of a space with n, or with finite low and high, got {space!r}"
        )
    return Box(tuple(low.astype(float).tolist()), tuple(high.astype(float).tolist()))
