"""Many copies of one of our environments as a Gymnasium vector environment, one compiled batch."""

from collections.abc import Sequence
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from jaxtyping import Array, Bool, Float, Shaped, UInt32

from asmpg._support.checks import check_integer
from asmpg.environments import Environment
from asmpg.interop.adapters._dynamics import Outcome, Running, advance, compiled, start, stream_of
from asmpg.interop.adapters._single import (
    Recorder,
    check_actions,
    check_autoreset_mode,
    check_render_mode,
    check_reset_mask,
    check_seeds,
    frame,
    gymnasium_observation,
    gymnasium_observations,
    gymnasium_space,
    mask_of,
    render_metadata,
    resolve_environment,
)


def restart_where(
    environment: Environment[Any],
    running: Running,
    outcome: Outcome,
    stream: UInt32[Array, "2"],
    chosen: Bool[Array, ""],
) -> tuple[Running, Outcome]:
    """The first episode of `stream` if `chosen`, else what was."""
    return jax.tree.map(
        lambda started, was: jnp.where(chosen, started, was),
        start(environment, stream),
        (running, outcome),
    )


def _next_step(
    environment: Environment[Any],
    running: Running,
    action: Shaped[Array, "*action"],
    ended: Bool[Array, ""],
) -> tuple[Running, Outcome, Outcome]:
    """The step after the end starts the next episode, whatever the action."""
    stepped, outcome = advance(environment, running, action)
    running, outcome = restart_where(environment, stepped, outcome, running.stream, ended)
    return running, outcome, outcome


def _same_step(
    environment: Environment[Any],
    running: Running,
    action: Shaped[Array, "*action"],
    ended: Bool[Array, ""],
) -> tuple[Running, Outcome, Outcome]:
    """The step that ends an episode starts the next."""
    del ended
    running, outcome = advance(environment, running, action)
    over = (outcome[-2:] > 0).any()
    running, seen = restart_where(environment, running, outcome, running.stream, over)
    return running, outcome, seen


def _disabled(
    environment: Environment[Any],
    running: Running,
    action: Shaped[Array, "*action"],
    ended: Bool[Array, ""],
) -> tuple[Running, Outcome, Outcome]:
    """Restarting is the caller's business."""
    del ended
    running, outcome = advance(environment, running, action)
    return running, outcome, outcome


ADVANCE = {
    AutoresetMode.NEXT_STEP: _next_step,
    AutoresetMode.SAME_STEP: _same_step,
    AutoresetMode.DISABLED: _disabled,
}


class GymnasiumVectorEnv(gymnasium.vector.VectorEnv[Any, Any, np.ndarray]):
    """Copies of an environment behind Gymnasium's vector interface, in one compiled call a step.

    A copy seeded with `s` plays the very episodes of a `GymnasiumEnv` reset with seed `s`. The
    three autoreset modes are Gymnasium's; `reset(options={"reset_mask": mask})` resets the copies
    that `mask` chooses.
    """

    metadata: dict[str, Any] = render_metadata()

    def __init__(
        self,
        environment: Environment[Any] | str,
        *,
        num_envs: int = 1,
        render_mode: str | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        **options: Any,
    ):
        """Adapt `environment`, or the one that `make(environment, **options)` builds."""
        self.environment = resolve_environment(environment, options)
        self.num_envs = check_integer("num_envs", num_envs, low=1)
        self.render_mode = check_render_mode(render_mode)
        self.autoreset_mode = check_autoreset_mode(autoreset_mode)
        self.metadata = {**render_metadata(), "autoreset_mode": self.autoreset_mode}
        self._space = self.environment.observation_space
        self.single_observation_space = gymnasium_space(self._space)
        self.single_action_space = gymnasium_space(self.environment.action_space)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._actions = self.environment.action_space
        self._start = compiled(start, self.environment, batched=True)
        self._restart = compiled(restart_where, self.environment, batched=True)
        self._advance = compiled(ADVANCE[self.autoreset_mode], self.environment, batched=True)
        masked = self.environment.masked
        self._mask = compiled(mask_of, self.environment, batched=True) if masked else None
        self._running: Running | None = None
        self._seen: Any = None
        self._ended = np.zeros(num_envs, bool)
        self._recorder = Recorder(num_envs)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start the next episode of every copy, or of those that `options["reset_mask"]` chooses.

        An integer seeds copy `i` with `seed + i`; a sequence has a seed, or none, for each.
        """
        seeds = check_seeds(seed, self.num_envs)
        chosen = check_reset_mask(options, self.num_envs)
        super().reset(seed=seeds[0])
        if self._running is None or chosen.all():
            if not chosen.all():
                raise gymnasium.error.ResetNeeded("the first reset() must be of all copies")
            running, self._seen = self._start(self._streams(seeds))
        else:
            streams = self._streams(seeds)
            running, self._seen = self._restart(self._running, self._seen, streams, chosen)
        self._running = running
        self._ended = self._ended & ~chosen
        observations = gymnasium_observations(self._space, np.asarray(self._seen)[:, :-3])
        if self.render_mode is not None:
            self._recorder.record(running.state, observations, chosen)
        return observations, self._masks(running)

    def step(
        self, actions: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        if self._running is None:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        if self._ended.any() and self.autoreset_mode is AutoresetMode.DISABLED:
            raise gymnasium.error.ResetNeeded(
                f"the episodes of copies {np.flatnonzero(self._ended).tolist()} have ended: "
                "reset them with reset(options={'reset_mask': ...}) before step()"
            )
        played = check_actions(actions, self._actions, ~self._ended)
        started = self._ended
        running, outcome, self._seen = self._advance(self._running, played, started)
        self._running = running
        values, seen = np.asarray(outcome), np.asarray(self._seen)
        observations = gymnasium_observations(self._space, seen[:, :-3])
        rewards = values[:, -3].astype(np.float64)
        terminated, truncated = values[:, -2] > 0, values[:, -1] > 0
        self._ended = terminated | truncated
        info: dict[str, Any] = {}
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            started, self._ended = self._ended, np.zeros(self.num_envs, bool)
            info = self._final(values[:, :-3], started)
        if self.render_mode is not None:
            columns = (played, rewards, terminated, truncated)
            steps = list(zip(*(column.tolist() for column in columns), strict=True))
            self._recorder.record(running.state, observations, started, steps)
        return observations, rewards, terminated, truncated, info | self._masks(running)

    def render(self) -> Any:
        if self.render_mode is None:
            return frame(self.environment, None, None)
        return tuple(
            frame(self.environment, episode, self.render_mode)
            for episode in self._recorder.episodes
        )

    def _masks(self, running: Running) -> dict[str, Any]:
        if self._mask is None:
            return {}
        masks = np.asarray(self._mask(running.state))
        return {"action_mask": masks, "_action_mask": np.ones(self.num_envs, bool)}

    def _streams(self, seeds: list[int | None]) -> UInt32[np.ndarray, "n 2"]:
        """The streams of the seeds, of entropy, or what is left of those begun before."""
        if self._running is None:
            return np.stack([stream_of(seeding.np_random(seed)[0]) for seed in seeds])
        streams = np.array(self._running.stream)
        for i, seed in enumerate(seeds):
            if seed is not None:
                streams[i] = stream_of(seeding.np_random(seed)[0])
        return streams

    def _final(
        self, vectors: Float[np.ndarray, "n size"], ended: Bool[np.ndarray, " n"]
    ) -> dict[str, Any]:
        """The last observations of the episodes that ended, as Gymnasium lays them out."""
        if not ended.any():
            return {}
        final = np.full(self.num_envs, None, dtype=object)
        for i in np.flatnonzero(ended):
            final[i] = gymnasium_observation(self._space, vectors[i])
        return {
            "final_obs": final,
            "_final_obs": ended.copy(),
            "final_info": {},
            "_final_info": ended.copy(),
        }
