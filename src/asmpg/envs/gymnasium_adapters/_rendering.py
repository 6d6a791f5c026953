"""Frames of an episode."""

from collections.abc import Sequence
from typing import Any

import gymnasium
import jax
import numpy as np
from jaxtyping import Bool

from asmpg.envs._environment import Environment
from asmpg.envs._episode import Episode


def frame(
    environment: Environment[Any], episode: Episode | None, render_mode: str | None
) -> np.ndarray | str | None:
    """A picture or a text of where `episode` stands, as `render_mode` asks."""
    if render_mode is None:
        gymnasium.logger.warn(
            "render() does nothing without a render_mode; choose 'ansi' or 'rgb_array' when "
            "making the environment"
        )
        return None
    if episode is None:
        raise gymnasium.error.ResetNeeded("call reset() before render()")
    from asmpg.envs.drawing import picture, text

    return (picture if render_mode == "rgb_array" else text)(environment, episode)


class Recorder:
    """The running episodes of several copies of an environment."""

    def __init__(self, copies: int):
        """Nothing has been recorded yet."""
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
