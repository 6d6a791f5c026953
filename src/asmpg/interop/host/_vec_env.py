"""Stable-Baselines3's `VecEnv`, known by its methods: stable-baselines3 itself is not needed."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from asmpg._support.errors import TrainingError
from asmpg.interop.host._faults import MASK

_METHODS = ("reset", "step_async", "step_wait", "seed", "env_method")


def is_vec_env(given: Any) -> bool:
    """Whether `given` is a `VecEnv`, or anything with its methods."""
    if isinstance(given, type | VectorEnv):
        return False
    return hasattr(given, "num_envs") and all(hasattr(given, name) for name in _METHODS)


def vec_env_name(given: Any) -> str:
    """What people call the environment inside."""
    envs = getattr(given.unwrapped, "envs", None)
    if not envs:
        return type(given).__name__
    spec = getattr(envs[0], "spec", None)
    return type(envs[0].unwrapped).__name__ if spec is None else spec.id


class VecEnvAdapter(VectorEnv[Any, Any, Any]):
    """A `VecEnv` as Gymnasium's vector environments are: it resets itself in the same step.

    Where `dones` is true, the last observation is that of `infos[i]["terminal_observation"]`, and
    the episode was truncated if `infos[i]["TimeLimit.truncated"]` says so. Copies get seeds that
    follow each other, as `VecEnv.seed` has it. Masks come from `action_masks()`, as in sb3-contrib.
    """

    def __init__(self, inner: Any):
        """`inner` is closed by `close`."""
        self._inner = inner
        self.num_envs = int(inner.num_envs)
        self.single_observation_space = inner.observation_space
        self.single_action_space = inner.action_space
        self.observation_space = batch_space(inner.observation_space, self.num_envs)
        self.action_space = batch_space(inner.action_space, self.num_envs)
        self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}
        self.spec = None
        #: The environments themselves, where they are in this process.
        self.envs = getattr(inner.unwrapped, "envs", None)
        self._masked = self._has_masks()

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset all copies."""
        first = seed[0] if isinstance(seed, list) else seed
        if first is not None:
            self._inner.seed(first)
        return self._inner.reset(), self._info(self._reset_infos())

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Step all copies; what has ended is reset already."""
        self._inner.step_async(actions)
        observations, rewards, dones, infos = self._inner.step_wait()
        ended = np.asarray(dones, bool)
        truncated = np.asarray([bool(info.get("TimeLimit.truncated", False)) for info in infos])
        now = [
            reset if over else info
            for info, reset, over in zip(infos, self._reset_infos(), ended, strict=True)
        ]
        info = self._info(now)
        if ended.any():
            info["final_obs"] = self._final_observations(infos, ended)
            # Of copies that go on nobody reads it.
            info["final_info"] = _by_name(infos)
        return observations, rewards, ended & ~truncated, ended & truncated, info

    def close(self, **kwargs: Any) -> None:
        """Close all copies."""
        self._inner.close()

    def _final_observations(self, infos: Sequence[dict[str, Any]], ended: Any) -> Any:
        final = np.empty(self.num_envs, object)
        for copy in np.flatnonzero(ended).tolist():
            if "terminal_observation" not in infos[copy]:
                raise TrainingError(
                    "the infos of a VecEnv must have terminal_observation where an episode ends, "
                    f"that of copy {copy} has {', '.join(infos[copy]) or 'nothing'}"
                )
            final[copy] = infos[copy]["terminal_observation"]
        return final

    def _reset_infos(self) -> Sequence[dict[str, Any]]:
        # A VecEnv from before Gymnasium has none.
        return getattr(self._inner, "reset_infos", None) or [{}] * self.num_envs

    def _has_masks(self) -> bool:
        known = getattr(self._inner, "has_attr", None)
        if known is not None:
            return bool(known("action_masks"))
        return all(hasattr(env, "action_masks") for env in self.envs or [None])

    def _info(self, infos: Sequence[dict[str, Any]]) -> dict[str, Any]:
        info = _by_name(infos)
        if self._masked:
            info[MASK] = np.stack(self._inner.env_method("action_masks"))
        return info


def _by_name(infos: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What all copies tell, as a list with the entry of each."""
    names = [name for name in infos[0] if all(name in info for info in infos)]
    return {name: [info[name] for info in infos] for name in names}
