"""One environment, as a `gymnasium.Env`."""

from typing import Any

import gymnasium
import jax
import numpy as np
from jaxtyping import Float

from asmpg.envs._environment import Environment
from asmpg.envs._episode import Episode
from asmpg.envs.gymnasium_adapters._arguments import (
    check_render_mode,
    render_metadata,
    resolve_environment,
)
from asmpg.envs.gymnasium_adapters._dynamics import Running, advance, compiled, start, stream_of
from asmpg.envs.gymnasium_adapters._rendering import frame
from asmpg.envs.gymnasium_adapters._spaces import gymnasium_observation, gymnasium_space

#: Types that need no closer look than their value.
_INTEGERS = (int, np.int64, np.int32)


class GymnasiumEnv(gymnasium.Env[Any, Any]):
    """An environment behind Gymnasium's interface.

    `reset(seed=s)` fixes all the episodes that follow, up to the next seed. An episode is
    truncated after `max_steps` steps unless that step terminates it. `info` is always empty, and
    `reset` takes no options: any are ignored.
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
        self._actions = self.environment.action_space.n
        self._start = compiled(start, self.environment)
        self._advance = compiled(advance, self.environment)
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
        return observation, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Play `action`."""
        if self._running is None:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        if self._ended:
            raise gymnasium.error.ResetNeeded("the episode has ended: call reset() before step()")
        if not (type(action) in _INTEGERS and 0 <= action < self._actions):
            self.environment.check_action(action)
        running, outcome = self._advance(self._running, np.int32(action))
        vector = np.asarray(outcome)
        observation = self._observation(vector)
        reward, terminated, truncated = vector[-3:].tolist()
        self._running, self._ended = running, bool(terminated or truncated)
        if self._episode is not None:
            self._episode.append(
                jax.device_get(running.state),
                np.array(observation),
                int(action),
                reward,
                bool(terminated),
            )
            self._episode.truncated = bool(truncated)
        return observation, reward, bool(terminated), bool(truncated), {}

    def render(self) -> Any:
        """A picture (`rgb_array`) or a text (`ansi`) of the episode so far."""
        return frame(self.environment, self._episode, self.render_mode)

    def _observation(self, vector: Float[np.ndarray, " size"]) -> Any:
        return gymnasium_observation(self._space, vector[:-3])
