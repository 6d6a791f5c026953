"""Playing for the returns alone: nothing is recorded."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from asmpg.environments import Environment
from asmpg.policies import Actor


class EpisodeReturns(eqx.Module):
    """What `N` episodes yielded."""

    discounted: Float[Array, " N"]
    undiscounted: Float[Array, " N"]
    lengths: Int[Array, " N"]

    @property
    def reward_per_step(self) -> Float[Array, ""]:
        """Pooled: all rewards over all steps."""
        return self.undiscounted.sum() / self.lengths.sum()


def play_for_returns(
    environment: Environment[Any],
    actor: Actor[Any],
    key: Key[Array, ""],
    *,
    num_episodes: int,
    discount: float,
) -> EpisodeReturns:
    """Play `num_episodes` side by side, until the last one has ended or met the time limit."""
    reset_key, start_key, step_key = jax.random.split(key, 3)
    observation, state = jax.vmap(environment.reset)(jax.random.split(reset_key, num_episodes))
    memory = jax.vmap(actor.start)(jax.random.split(start_key, num_episodes))

    def unfinished(carry: tuple[Any, ...]) -> Bool[Array, ""]:
        time, *_, running, _ = carry
        return (time < environment.max_steps) & running.any()

    def step(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        time, state, memory, observation, reward, running, total = carry
        act_key, environment_key = jax.random.split(jax.random.fold_in(step_key, time))
        uniforms = jax.random.uniform(act_key, (num_episodes, 2))
        memory = jax.vmap(actor.act)(memory, observation, reward, uniforms)
        observation, state, reward, terminated = jax.vmap(environment.step)(
            jax.random.split(environment_key, num_episodes), state, memory.action
        )
        paid = jnp.where(running, reward, 0.0)
        total = EpisodeReturns(
            total.discounted + discount**time * paid,
            total.undiscounted + paid,
            total.lengths + running,
        )
        return time + 1, state, memory, observation, reward, running & ~terminated, total

    nothing = jnp.zeros(num_episodes)
    total = EpisodeReturns(nothing, nothing, jnp.zeros(num_episodes, jnp.int32))
    running = jnp.ones(num_episodes, bool)
    first = (jnp.zeros((), jnp.int32), state, memory, observation, nothing, running, total)
    *_, total = jax.lax.while_loop(unfinished, step, first)
    return total
