"""Random play: what an environment shows and pays, and how fast."""

import dataclasses
import time
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Shaped

from asmpg.environments import Discrete
from asmpg.experience import Experience, Rollouts, Stream, open_stream, play_rollouts
from asmpg.interop import ResolvedEnvironment
from asmpg.policies import ActionHead, AgentMemory, AgentMemoryActor, Gaussian, head_of

_COMPILED_COPIES, _COMPILED_STEPS = 64, 256
_HOST_COPIES = 16


@dataclasses.dataclass(frozen=True)
class RandomPlay:
    """What uniformly random actions met.

    `seen` has the number of different symbols, or the lowest and the highest value of each
    component. `terminated` and `truncated` count episodes.
    """

    steps: int
    steps_per_second: float
    seen: int | tuple[tuple[float, float], ...]
    rewards: tuple[float, float]
    mean_length: float | None
    terminated: int
    truncated: int


def play_at_random(resolved: ResolvedEnvironment, *, seconds: float) -> RandomPlay:
    """Play for about so many seconds."""
    rows = (
        _on_host(resolved, seconds) if resolved.source is not None else _compiled(resolved, seconds)
    )
    observations, rewards, terminated, ended, took, steps = rows
    ends = int(ended.sum())
    if isinstance(resolved.interface.observation_space, Discrete):
        seen: Any = len(np.unique(observations))
    else:
        flat = observations.reshape(-1, observations.shape[-1])
        low, high = flat.min(axis=0).tolist(), flat.max(axis=0).tolist()
        seen = tuple(zip(low, high, strict=True))
    return RandomPlay(
        steps=steps,
        steps_per_second=steps / took,
        seen=seen,
        rewards=(float(rewards.min()), float(rewards.max())),
        mean_length=rewards.size / ends if ends else None,
        terminated=int(terminated.sum()),
        truncated=ends - int(terminated.sum()),
    )


def _on_host(resolved: ResolvedEnvironment, seconds: float) -> tuple[Any, ...]:
    assert resolved.source is not None
    driver = resolved.source.open(_HOST_COPIES, exactly=False)
    generator = np.random.default_rng(0)
    head = head_of(resolved.interface.action_space)
    act = jax.jit(jax.vmap(lambda *given: head.play(_random_action(head, *given))))
    rows = []
    try:
        seeds = generator.integers(2**31, size=driver.copies).tolist()
        begun = driver.reset(seeds)
        first, masks = begun.observations, begun.masks
        shape = (driver.copies, head.draws)
        act(np.zeros(shape, np.float32), masks)
        began = time.monotonic()
        while time.monotonic() - began < seconds:
            step = driver.step(np.asarray(act(generator.random(shape, np.float32), masks)))
            rows.append((step.seen, step.rewards, step.terminated, step.ended))
            masks = step.masks
        took = time.monotonic() - began
    finally:
        driver.close()
    seen, rewards, terminated, ended = (np.stack(column) for column in zip(*rows, strict=True))
    return np.concatenate([first[None], seen]), rewards, terminated, ended, took, rewards.size


def _compiled(resolved: ResolvedEnvironment, seconds: float) -> tuple[Any, ...]:
    environment = resolved.environment
    actor = _RandomActor(head_of(resolved.interface.action_space))
    rollouts = Rollouts(_COMPILED_COPIES, _COMPILED_STEPS)
    assert environment is not None
    stream = open_stream(environment, actor, rollouts, jax.random.key(0))
    stream, first = jax.block_until_ready(_play(environment, actor, stream, np.int32(0)))
    began, calls = time.monotonic(), 0
    while time.monotonic() - began < seconds:
        calls += 1
        stream, _ = jax.block_until_ready(_play(environment, actor, stream, np.int32(calls)))
    took = (time.monotonic() - began) / max(calls, 1)
    seen = np.concatenate([first.observations[:1], first.next_observations])
    columns = (first.rewards, first.terminated, first.ended)
    return seen, *(np.asarray(column) for column in columns), took, first.rewards.size


@eqx.filter_jit
def _play(environment: Any, actor: Any, stream: Any, call: Any) -> tuple[Stream, Experience]:
    key = jax.random.fold_in(jax.random.key(1), jnp.asarray(call))
    return play_rollouts(environment, actor, stream, key, steps=_COMPILED_STEPS)


def _random_action(
    head: ActionHead, uniforms: Float[Array, " draws"], mask: Bool[Array, " M"] | None
) -> Shaped[Array, "*action"]:
    """Uniform over what is allowed."""
    if isinstance(head, Gaussian):
        return 2 * uniforms - 1
    numbers = jnp.zeros(head.size)
    numbers = head.normalise(numbers) if mask is None else head.masked(numbers, mask)
    return head.draw(numbers, uniforms, greedy=False)


class _RandomActor(AgentMemoryActor):
    actions: ActionHead = eqx.field(static=True)

    @property
    def head(self) -> ActionHead:
        return self.actions

    def act(
        self,
        memory: AgentMemory,
        observation: Shaped[Array, "*observation"],
        reward: Float[Array, ""],
        uniforms: Float[Array, " draws"],
        mask: Bool[Array, " M"] | None = None,
    ) -> AgentMemory:
        del observation, reward
        action = _random_action(self.head, uniforms[1:], mask)
        return AgentMemory(memory.state, action, memory.time + 1)
