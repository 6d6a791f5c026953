"""Playing on: environments side by side that never stop, a segment of steps at a time."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, Shaped

from asmpg.environments import Environment
from asmpg.policies import Actor, AgentMemory


class Stream(eqx.Module):
    """Where `N` environments and the one who plays in them stand between two segments."""

    state: Any
    observation: Shaped[Array, "*batch_and_observation"]
    reward: Float[Array, "*batch"]
    memory: Any


class Segment(eqx.Module):
    """`T` steps of `N` environments, time first, with episodes ending and starting anywhere.

    Row `t` holds `o_t`, the number of actions played in the episode before it, `a_t`, `r_t`, the
    observation that really came next (not the first one of the next episode), whether the episode
    terminated there, and whether it ended there, by termination or by the time limit.
    """

    observations: Shaped[Array, "T N *observation"]
    time: Int[Array, "T N"]
    actions: Int[Array, "T N"]
    rewards: Float[Array, "T N"]
    next_observations: Shaped[Array, "T N *observation"]
    terminated: Bool[Array, "T N"]
    ended: Bool[Array, "T N"]
    #: The action before the first row; means nothing where an episode starts there.
    action_before: Int[Array, " N"]
    #: Which rows were played; the others, where there are any, are padding: episodes of one step
    #: that mean nothing. `None`: all of them.
    valid: Bool[Array, "T N"] | None = None

    @property
    def played_steps(self) -> Int[Array, ""]:
        """The number of steps."""
        if self.valid is None:
            return jnp.asarray(self.rewards.size, jnp.int32)
        return self.valid.sum(dtype=jnp.int32)

    @property
    def played_ends(self) -> Int[Array, ""]:
        """The number of episodes that ended."""
        ended = self.ended if self.valid is None else self.ended & self.valid
        return ended.sum(dtype=jnp.int32)

    @property
    def past(self) -> AgentMemory:
        """For each step, the action before it and the number of actions played."""
        action = jnp.concatenate([self.action_before[None], self.actions[:-1]])
        return AgentMemory(jnp.zeros_like(action), action, self.time)

    def environments(self, chosen: Int[Array, " M"]) -> "Segment":
        """The part of some of the environments."""
        start = self.action_before[chosen]
        rows = eqx.tree_at(lambda segment: segment.action_before, self, self.actions)
        rows = jax.tree.map(lambda leaf: leaf[:, chosen], rows)
        return eqx.tree_at(lambda segment: segment.action_before, rows, start)


def open_stream(
    environment: Environment[Any], actor: Actor[Any], key: Key[Array, ""], *, num_environments: int
) -> Stream:
    """Start an episode in each environment."""
    keys = jax.random.split(key, num_environments)
    observation, state, memory = jax.vmap(lambda key: _begin(environment, actor, key))(keys)
    return Stream(state, observation, jnp.zeros(num_environments), memory)


def play_on(
    environment: Environment[Any],
    actor: Actor[Any],
    stream: Stream,
    key: Key[Array, ""],
    *,
    steps: int,
) -> tuple[Stream, Segment]:
    """Play `steps` steps in every environment; episodes that end are followed by new ones."""

    def step(stream: Stream, key: Key[Array, ""]) -> tuple[Stream, Any]:
        keys = jax.random.split(key, (len(stream.reward), 2))
        stream, row = jax.vmap(_step, in_axes=(None, None, 0, 0))(environment, actor, stream, keys)
        return stream, row

    before = stream.memory.action
    stream, rows = jax.lax.scan(step, stream, jax.random.split(key, steps))
    return stream, Segment(*rows, action_before=before)


def _begin(
    environment: Environment[Any], actor: Actor[Any], key: Key[Array, ""]
) -> tuple[Any, Any, Any]:
    reset_key, start_key = jax.random.split(key)
    observation, state = environment.reset(reset_key)
    return observation, state, actor.start(start_key)


def _step(
    environment: Environment[Any], actor: Actor[Any], stream: Stream, keys: Key[Array, "2"]
) -> tuple[Stream, tuple[Array, ...]]:
    act_key, environment_key = jax.random.split(keys[0])
    uniforms = jax.random.uniform(act_key, (2,))
    memory = actor.act(stream.memory, stream.observation, stream.reward, uniforms)
    action = memory.action
    following, state, reward, terminated = environment.step(environment_key, stream.state, action)
    ended = terminated | (memory.time >= environment.max_steps)
    row = (
        stream.observation,
        stream.memory.time,
        action,
        reward,
        following,
        terminated,
        ended,
    )
    observation, fresh, empty = _begin(environment, actor, keys[1])
    afresh = Stream(fresh, observation, jnp.zeros_like(reward), empty)
    onward = Stream(state, following, reward, memory)
    return jax.tree.map(lambda new, old: jnp.where(ended, new, old), afresh, onward), row
