"""Whole episodes: what they consist of, and playing them."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, Shaped

from asmpg.environments import Environment
from asmpg.policies import AgentMemory, ASMActor


class Episodes(eqx.Module):
    """`N` episodes of at most `T` steps, time first.

    Row `t` (counted from 0) holds `O_{t+1}, S_{t+1}, A_{t+1}, r_{t+1}` and whether the episode
    still ran when they came about; what lies beyond its end means nothing.
    """

    observations: Shaped[Array, "T N *observation"]
    states: Int[Array, "T N"]
    actions: Int[Array, "T N"]
    rewards: Float[Array, "T N"]
    running: Bool[Array, "T N"]

    @property
    def memories(self) -> AgentMemory:
        """The memory each step starts from: `(S_{t-1}, A_{t-1})`, the dummy pair at first."""
        steps, episodes = self.states.shape
        time = jnp.broadcast_to(jnp.arange(steps, dtype=jnp.int32)[:, None], (steps, episodes))
        return AgentMemory(_delayed(self.states), _delayed(self.actions), time)

    @property
    def lengths(self) -> Int[Array, " N"]:
        """Steps in each episode."""
        return self.running.sum(axis=0, dtype=jnp.int32)

    def returns(self, discount: float) -> Float[Array, " N"]:
        """`sum_t discount^(t-1) r_t` of each episode."""
        discounting = discount ** jnp.arange(self.rewards.shape[0], dtype=self.rewards.dtype)
        return discounting @ jnp.where(self.running, self.rewards, 0.0)


def _delayed(rows: Int[Array, "T N"]) -> Int[Array, "T N"]:
    return jnp.concatenate([jnp.zeros_like(rows[:1]), rows[:-1]])


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
