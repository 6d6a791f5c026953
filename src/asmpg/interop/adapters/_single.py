"""One of our environments as a Gymnasium environment."""

import operator
from collections.abc import Sequence
from typing import Any

import gymnasium
import jax
import numpy as np
from gymnasium.vector import AutoresetMode
from jaxtyping import Array, Bool, Float, Shaped

from asmpg.environments import (
    ActionSpace,
    Box,
    Discrete,
    Environment,
    Episode,
    MultiDiscrete,
    Space,
    make,
)
from asmpg.environments.drawing import picture, text
from asmpg.interop.adapters._dynamics import Running, advance, compiled, start, stream_of

_RENDER_MODES = ("ansi", "rgb_array")


def render_metadata() -> dict[str, Any]:
    """Gymnasium's description of how an environment can be rendered."""
    return {"render_modes": list(_RENDER_MODES), "render_fps": 10}


def resolve_environment(environment: object, options: dict[str, Any]) -> Environment[Any]:
    """`environment` itself, or the one that a registered name and options make."""
    if isinstance(environment, str):
        return make(environment, **options)
    if not isinstance(environment, Environment):
        raise ValueError(
            f"environment must be a registered name or an Environment, got {environment!r}"
        )
    if options:
        raise ValueError(
            f"options go with the name of an environment, but {environment.name} is already "
            f"built; got: {', '.join(options)}"
        )
    return environment


def check_render_mode(render_mode: str | None) -> str | None:
    """Return `render_mode` if it is known."""
    if render_mode is not None and render_mode not in _RENDER_MODES:
        accepted = ", ".join(repr(mode) for mode in _RENDER_MODES)
        raise ValueError(f"render_mode must be None or one of {accepted}, got {render_mode!r}")
    return render_mode


def check_autoreset_mode(mode: AutoresetMode | str) -> AutoresetMode:
    """Return the mode, given itself or by its Gymnasium name."""
    try:
        return AutoresetMode(mode)
    except ValueError:
        accepted = ", ".join(repr(known.value) for known in AutoresetMode)
        raise ValueError(
            f"autoreset_mode must be an AutoresetMode or one of {accepted}, got {mode!r}"
        ) from None


def check_seeds(seed: int | Sequence[int | None] | None, num_envs: int) -> list[int | None]:
    """A seed, or none, for each sub-environment."""
    if seed is None:
        return [None] * num_envs
    if isinstance(seed, int | np.integer):
        return [int(seed) + i for i in range(num_envs)]
    if len(seed) != num_envs:
        raise ValueError(f"seed must have one entry for each of {num_envs}, got {len(seed)}")
    return [None if entry is None else operator.index(entry) for entry in seed]


def check_reset_mask(options: dict[str, Any] | None, num_envs: int) -> Bool[np.ndarray, " n"]:
    """Which sub-environments to reset: those of `options["reset_mask"]`, or all."""
    mask = (options or {}).get("reset_mask")
    if mask is None:
        return np.ones(num_envs, bool)
    mask = np.asarray(mask)
    if mask.shape != (num_envs,) or mask.dtype != bool or not mask.any():
        raise ValueError(
            f"reset_mask must hold {num_envs} booleans, at least one of them true, got {mask!r}"
        )
    return mask


def check_actions(
    actions: Any, space: ActionSpace, needed: Bool[np.ndarray, " n"]
) -> Shaped[np.ndarray, "n *action"]:
    """One action for each sub-environment; what is not `needed` may be anything."""
    wanted = f"integers in [0, {space.n - 1}]" if isinstance(space, Discrete) else str(space)
    array = np.asarray(actions)
    kinds = "iuf" if isinstance(space, Box) else "iu"
    if array.shape != (*needed.shape, *space.shape) or array.dtype.kind not in kinds:
        raise ValueError(f"actions must be {len(needed)} {wanted}, got {actions!r}")
    match space:
        case Discrete():
            low, high = 0, space.n - 1
        case MultiDiscrete():
            low, high = 0, np.asarray(space.sizes) - 1
        case Box():
            low, high = (np.asarray(bound, np.float32) for bound in (space.low, space.high))
            array = array.astype(np.float32)
    outside = ((array < low) | (array > high)).reshape(len(array), -1).any(axis=1)
    wrong = needed & outside
    if wrong.any():
        index = int(np.argmax(wrong))
        raise ValueError(f"actions must be {wanted}, got {array[index]} at index {index}")
    return array.astype(np.float32 if isinstance(space, Box) else np.int32)


def mask_of(environment: Environment[Any], state: Any) -> Bool[Array, " M"] | None:
    """Which actions are allowed, to be compiled."""
    return environment.action_mask(state)


def gymnasium_space(space: ActionSpace) -> gymnasium.spaces.Space[Any]:
    """The space of the same elements; boxes are of `float32`."""
    match space:
        case Discrete():
            return gymnasium.spaces.Discrete(space.n)
        case MultiDiscrete():
            return gymnasium.spaces.MultiDiscrete(list(space.sizes))
        case Box():
            low, high = np.asarray(space.low, np.float32), np.asarray(space.high, np.float32)
            return gymnasium.spaces.Box(low, high, dtype=np.float32)


def gymnasium_observation(space: Space, vector: Float[np.ndarray, " size"]) -> Any:
    """An element of `gymnasium_space(space)` of its own, from the numbers in `vector`."""
    return np.int64(vector[0]) if isinstance(space, Discrete) else vector.astype(np.float32)


def gymnasium_observations(space: Space, vectors: Float[np.ndarray, "batch size"]) -> np.ndarray:
    """The same for a batch."""
    if isinstance(space, Discrete):
        return vectors[:, 0].astype(np.int64)
    return vectors.astype(np.float32)


def frame(
    environment: Environment[Any], episode: Episode | None, render_mode: str | None
) -> np.ndarray | str | None:
    """The current state of `episode` as a picture or as text, as `render_mode` says."""
    if render_mode is None:
        gymnasium.logger.warn(
            "render() does nothing without a render_mode; choose 'ansi' or 'rgb_array' when "
            "making the environment"
        )
        return None
    if episode is None:
        raise gymnasium.error.ResetNeeded("call reset() before render()")
    return (picture if render_mode == "rgb_array" else text)(environment, episode)


class Recorder:
    """The running episodes of several copies of an environment."""

    def __init__(self, copies: int):
        self.episodes: list[Episode | None] = [None] * copies

    def record(
        self,
        states: Any,
        observations: np.ndarray,
        started: Bool[np.ndarray, " n"],
        steps: Sequence[tuple[int, float, bool, bool]] | None = None,
    ) -> None:
        """Begin a new episode where `started`; elsewhere append a step, if there were `steps`.

        A step is an action, its reward, and the flags terminated and truncated.
        """
        for i, episode in enumerate(self.episodes):
            state = jax.device_get(jax.tree.map(lambda leaf, i=i: leaf[i], states))
            observation = np.array(observations[i])
            if started[i]:
                self.episodes[i] = Episode([state], [observation])
            elif episode is not None and steps is not None:
                action, reward, terminated, truncated = steps[i]
                episode.append(state, observation, action, reward, terminated)
                episode.truncated = truncated


#: Types that need no closer look than their value.
_INTEGERS = (int, np.int64, np.int32)


class GymnasiumEnv(gymnasium.Env[Any, Any]):
    """An environment behind Gymnasium's interface.

    `reset(seed=s)` fixes all the episodes that follow, up to the next seed. An episode is
    truncated after `max_steps` steps unless that step terminates it. `info` is empty, but for the
    `action_mask` of an environment that has one, and `reset` takes no options: any are ignored.
    """

    metadata: dict[str, Any] = render_metadata()

    def __init__(
        self,
        environment: Environment[Any] | str,
        *,
        render_mode: str | None = None,
        **options: Any,
    ):
        """Adapt `environment`, or the one that `make(environment, **options)` builds."""
        self.environment = resolve_environment(environment, options)
        self.render_mode = check_render_mode(render_mode)
        self._space = self.environment.observation_space
        self.observation_space = gymnasium_space(self._space)
        self.action_space = gymnasium_space(self.environment.action_space)
        self._actions = self.environment.action_space
        self._start = compiled(start, self.environment)
        self._advance = compiled(advance, self.environment)
        masked = self.environment.masked
        self._mask = compiled(mask_of, self.environment) if masked else None
        self._running: Running | None = None
        self._ended = False
        self._episode: Episode | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start the next episode; the first one of `seed`, if given."""
        super().reset(seed=seed)
        if seed is not None or self._running is None:
            stream = stream_of(self.np_random)
        else:
            stream = self._running.stream
        running, outcome = self._start(stream)
        self._running, self._ended = running, False
        observation = self._observation(np.asarray(outcome))
        if self.render_mode is not None:
            self._episode = Episode([jax.device_get(running.state)], [np.array(observation)])
        return observation, self._info(running)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if self._running is None:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        if self._ended:
            raise gymnasium.error.ResetNeeded("the episode has ended: call reset() before step()")
        space = self._actions
        if isinstance(space, Discrete):
            if not (type(action) in _INTEGERS and 0 <= action < space.n):
                self.environment.check_action(action)
            played = np.int32(action)
        else:
            self.environment.check_action(action)
            played = np.asarray(action, np.float32 if isinstance(space, Box) else np.int32)
        running, outcome = self._advance(self._running, played)
        vector = np.asarray(outcome)
        observation = self._observation(vector)
        reward, terminated, truncated = vector[-3:].tolist()
        self._running, self._ended = running, bool(terminated or truncated)
        if self._episode is not None:
            self._episode.append(
                jax.device_get(running.state),
                np.array(observation),
                int(action) if isinstance(space, Discrete) else played,
                reward,
                bool(terminated),
            )
            self._episode.truncated = bool(truncated)
        return observation, reward, bool(terminated), bool(truncated), self._info(running)

    def render(self) -> Any:
        return frame(self.environment, self._episode, self.render_mode)

    def _info(self, running: Running) -> dict[str, Any]:
        return {} if self._mask is None else {"action_mask": np.asarray(self._mask(running.state))}

    def _observation(self, vector: Float[np.ndarray, " size"]) -> Any:
        return gymnasium_observation(self._space, vector[:-3])
