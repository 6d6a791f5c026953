"""Stepping a vector environment of Gymnasium, whichever way it resets itself."""

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from jaxtyping import Shaped

from asmpg._errors import TrainingError
from asmpg.envs.host._spaces import read_action_space, read_observation_space
from asmpg.envs.host._stepping import HostDriver, HostStep


class VectorDriver(HostDriver):
    """Drives a vector environment, in any of Gymnasium's autoreset modes."""

    def __init__(self, name: str, vector: gymnasium.vector.VectorEnv[Any, Any, Any]):
        """`vector` is closed by `close`."""
        self.name = name
        self.copies = vector.num_envs
        self._vector = vector
        self._reader = read_observation_space(vector.single_observation_space)
        _, self._first_action = read_action_space(vector.single_action_space)
        mode = vector.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
        self._mode = AutoresetMode(mode)
        self._ended = np.zeros(self.copies, bool)

    def reset(self, seeds: Sequence[int] | None = None) -> Shaped[np.ndarray, "n *observation"]:
        """Reset every copy."""
        self._ended = np.zeros(self.copies, bool)
        given = None if seeds is None else [int(seed) for seed in seeds]
        observations, _ = self._call("reset", seed=given)
        return self._read(observations)

    def step(self, actions: Shaped[np.ndarray, " n"]) -> HostStep:
        """Step, and reset what has ended."""
        resetting = self._ended
        played = np.asarray(actions, np.int64) + self._first_action
        observations, rewards, terminated, truncated, info = self._call("step", played)
        rewards = np.array(rewards, np.float32)
        if not np.isfinite(rewards).all():
            copy = int(np.argmin(np.isfinite(rewards)))
            raise TrainingError(
                f"{self.name}: rewards must be finite, copy {copy} paid {rewards[copy]}"
            )
        terminated = np.array(terminated, bool)
        ended = terminated | np.asarray(truncated, bool)
        seen = self._read(observations)
        after, started = seen, ended
        match self._mode:
            case AutoresetMode.NEXT_STEP:
                self._ended, started = ended, resetting
            case AutoresetMode.SAME_STEP if ended.any():
                seen = seen.copy()
                for copy in np.flatnonzero(ended):
                    seen[copy] = self._read(np.asarray(info["final_obs"][copy])[None])[0]
            case AutoresetMode.DISABLED if ended.any():
                fresh, _ = self._call("reset", options={"reset_mask": ended.copy()})
                after = seen.copy()
                after[ended] = self._read(fresh)[ended]
            case _:
                pass
        return HostStep(~resetting, seen, rewards, terminated, ended, after, started)

    def close(self) -> None:
        """Close the vector environment."""
        self._vector.close()

    def _call(self, name: str, *arguments: Any, **options: Any) -> Any:
        try:
            return getattr(self._vector, name)(*arguments, **options)
        except Exception as error:
            text = " ".join(str(error).split()) or "no message"
            raise TrainingError(
                f"{self.name}: the environment raised {type(error).__name__} in {name}: {text}"
            ) from error

    def _read(self, observations: Any) -> np.ndarray:
        try:
            return self._reader.read(np.asarray(observations))
        except ValueError as error:
            raise TrainingError(f"{self.name}: {error}") from None
