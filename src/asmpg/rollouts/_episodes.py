"""Playing whole episodes."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from asmpg.envs import Environment
from asmpg.gradients import Episodes
from asmpg.policies import AgentMemory, ASMActor


def play_episodes(
    environment: Environment[Any], actor: ASMActor, key: Key[Array, ""], *, num_episodes: int
) -> Episodes:
    """Play `num_episodes` side by side, until the last one has ended or met the time limit.

    The time this takes is that of the longest episode, not of the time limit.
    """
    reset_key, step_key = jax.random.split(key)
    observation, state = jax.vmap(environment.reset)(jax.random.split(reset_key, num_episodes))
    limit = environment.max_steps

    def rows(example: Array) -> Array:
        return jnp.zeros((limit, *example.shape), example.dtype)

    running = jnp.ones(num_episodes, bool)
    memory = AgentMemory.empty((num_episodes,))
    rewards = jnp.zeros(num_episodes)
    record = jax.tree.map(rows, (observation, memory.state, memory.action, rewards, running))

    def unfinished(carry: tuple[Any, ...]) -> Array:
        time, *_, running, _ = carry
        return (time < limit) & running.any()

    def step(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        time, state, memory, observation, running, record = carry
        now = jax.random.fold_in(step_key, time)
        act_key, environment_key = jax.random.split(now)
        uniforms = jax.random.uniform(act_key, (num_episodes, 2))
        memory = jax.vmap(actor.act)(memory, observation, rewards, uniforms)
        following, state, reward, terminated = jax.vmap(environment.step)(
            jax.random.split(environment_key, num_episodes), state, memory.action
        )
        row = (observation, memory.state, memory.action, reward, running)
        record = jax.tree.map(lambda all, one: all.at[time].set(one), record, row)
        return time + 1, state, memory, following, running & ~terminated, record

    first: tuple[Int[Array, ""], *tuple[Any, ...]]
    first = (jnp.zeros((), jnp.int32), state, memory, observation, running, record)
    *_, record = jax.lax.while_loop(unfinished, step, first)
    observations, states, actions, rewards, ran = record
    return Episodes(observations, states, actions, rewards, ran)
