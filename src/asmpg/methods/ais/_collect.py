"""Collecting batches: a fixed number of steps, as the reference does, or whole episodes."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Key

from asmpg.environments import Environment
from asmpg.methods.ais._losses import Segments
from asmpg.methods.ais._networks import AISActor, AISMemory, LSTMState


def collect_steps(
    environment: Environment[Any], actor: AISActor, key: Key[Array, ""], *, steps: int
) -> Segments:
    """Play exactly `steps` steps of one environment, from a reset, through as many episodes.

    The unfinished episode at the end is cut there and never taken up again.
    """
    begin_key, step_key = jax.random.split(key)

    def begin(key: Key[Array, ""]) -> tuple[Any, Any, AISMemory]:
        reset_key, start_key = jax.random.split(key)
        observation, state = environment.reset(reset_key)
        return observation, state, actor.start(start_key)

    def step(carry: tuple[Any, ...], key: Key[Array, ""]) -> tuple[tuple[Any, ...], Any]:
        observation, state, memory, reward, elapsed = carry
        act_key, environment_key, next_key = jax.random.split(key, 3)
        uniforms = jax.random.uniform(act_key, (2,))
        following = actor.act(memory, observation, reward, uniforms)
        action = following.action
        seen, state, reward, terminated = environment.step(environment_key, state, action)
        row = (observation, action, reward, seen, terminated, memory.first, memory.recurrent)
        elapsed = elapsed + 1
        over = terminated | (elapsed >= environment.max_steps)
        onward = (seen, state, following, reward, elapsed)
        afresh = (*begin(next_key), jnp.zeros_like(reward), jnp.zeros_like(elapsed))
        return jax.tree.map(lambda new, old: jnp.where(over, new, old), afresh, onward), row

    first = (*begin(begin_key), jnp.zeros(()), jnp.zeros((), jnp.int32))
    _, rows = jax.lax.scan(step, first, jax.random.split(step_key, steps))
    observations, actions, rewards, seen, terminated, starts_here, starts = jax.tree.map(
        lambda leaf: leaf[:, None], rows
    )
    valid = jnp.ones_like(starts_here)
    return Segments(observations, actions, rewards, seen, terminated, starts_here, valid, starts)


def collect_episodes(
    environment: Environment[Any], actor: AISActor, key: Key[Array, ""], *, episodes: int
) -> Segments:
    """Play whole episodes side by side, a lane each, until the last one has ended."""
    reset_key, start_key, step_key = jax.random.split(key, 3)
    observation, state = jax.vmap(environment.reset)(jax.random.split(reset_key, episodes))
    memory = jax.vmap(actor.start)(jax.random.split(start_key, episodes))
    limit = environment.max_steps
    nothing, running = jnp.zeros(episodes), jnp.ones(episodes, bool)

    def unfinished(carry: tuple[Any, ...]) -> Bool[Array, ""]:
        time, *_, running, _ = carry
        return (time < limit) & running.any()

    def step(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        time, observation, state, memory, reward, running, record = carry
        act_key, environment_key = jax.random.split(jax.random.fold_in(step_key, time))
        uniforms = jax.random.uniform(act_key, (episodes, 2))
        memory = jax.vmap(actor.act)(memory, observation, reward, uniforms)
        action = memory.action
        seen, state, reward, terminated = jax.vmap(environment.step)(
            jax.random.split(environment_key, episodes), state, action
        )
        row = (observation, action, reward, seen, terminated, running)
        record = jax.tree.map(lambda rows, row: rows.at[time].set(row), record, row)
        return time + 1, seen, state, memory, reward, running & ~terminated, record

    row = (observation, memory.action, nothing, observation, running, running)
    record = jax.tree.map(lambda leaf: jnp.zeros((limit, *leaf.shape), leaf.dtype), row)
    carry = (jnp.zeros((), jnp.int32), observation, state, memory, nothing, running, record)
    *_, record = jax.lax.while_loop(unfinished, step, carry)
    observations, actions, rewards, seen, terminated, valid = record
    first = jnp.zeros_like(valid).at[0].set(True)
    starts = jax.tree.map(
        lambda leaf: jnp.broadcast_to(leaf, (limit, *leaf.shape)), memory.recurrent
    )
    return Segments(
        observations,
        actions,
        rewards,
        seen,
        terminated,
        first,
        valid,
        LSTMState(starts.hidden, starts.cell),
    )
