"""Playing in compiled environments: rollouts that continue, and whole episodes."""

import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, Shaped

from asmpg.environments import Environment
from asmpg.experience._experience import Collection, Experience, WholeEpisodes
from asmpg.policies import Actor, MemoryUse, WatchedMemory


class Stream(eqx.Module):
    """Where `N` environments, and the one who plays in them, are between two rollouts."""

    state: Any
    observation: Shaped[Array, "*batch_and_observation"]
    reward: Float[Array, "*batch"]
    time: Int[Array, "*batch"]
    memory: Any


class EpisodeReturns(eqx.Module):
    """What `N` episodes yielded, and how agent states were used where that was `watched`."""

    discounted: Float[Array, " N"]
    undiscounted: Float[Array, " N"]
    lengths: Int[Array, " N"]
    use: MemoryUse | None = None

    @property
    def reward_per_step(self) -> Float[Array, ""]:
        """Pooled: all rewards over all steps."""
        return self.undiscounted.sum() / self.lengths.sum()


def open_stream(
    environment: Environment[Any], actor: Actor[Any], collection: Collection, key: Key[Array, ""]
) -> Stream | None:
    """Where the first rollouts start; `None` for what always starts from a reset."""
    if isinstance(collection, WholeEpisodes) or not collection.continuing:
        return None
    return _begin_all(environment, actor, key, collection.environments)


def collect(
    environment: Environment[Any],
    actor: Actor[Any],
    collection: Collection,
    stream: Stream | None,
    key: Key[Array, ""],
) -> tuple[Stream | None, Experience]:
    """Play what `collection` asks for, continuing from `stream` if there is one."""
    if isinstance(collection, WholeEpisodes):
        return None, play_episodes(environment, actor, key, num_episodes=collection.number)
    begin_key, step_key = jax.random.split(key)
    start = stream or _begin_all(environment, actor, begin_key, collection.environments)
    after, experience = play_rollouts(
        environment,
        actor,
        start,
        step_key,
        steps=collection.steps,
        latent=collection.latent is not None,
    )
    return (None if stream is None else after), experience


def play_rollouts(
    environment: Environment[Any],
    actor: Actor[Any],
    stream: Stream,
    key: Key[Array, ""],
    *,
    steps: int,
    latent: bool = False,
) -> tuple[Stream, Experience]:
    """Play `steps` steps in every environment; episodes that end are followed by new ones.

    If `latent`, what the latent states were comes along.
    """

    def step(stream: Stream, key: Key[Array, ""]) -> tuple[Stream, Any]:
        keys = jax.random.split(key, (len(stream.reward), 2))
        play = functools.partial(_step, environment, actor, latent=latent)
        return jax.vmap(play)(stream, keys)

    start = stream.memory
    stream, rows = jax.lax.scan(step, stream, jax.random.split(key, steps))
    valid = jnp.ones_like(rows["ended"])
    return stream, Experience(**rows, valid=valid, start=start)


def play_episodes(
    environment: Environment[Any], actor: Actor[Any], key: Key[Array, ""], *, num_episodes: int
) -> Experience:
    """Play `num_episodes` side by side, until the last one has ended or met the time limit."""

    def nothing(row: dict[str, Any]) -> Any:
        return jax.tree.map(
            lambda leaf: jnp.zeros((environment.max_steps, *leaf.shape), leaf.dtype), row
        )

    def write(time: Int[Array, ""], record: Any, row: dict[str, Any]) -> Any:
        return jax.tree.map(lambda rows, new: rows.at[time].set(new), record, row)

    start, record = _play_whole(environment, actor, key, num_episodes, nothing, write)
    time = jnp.broadcast_to(
        jnp.arange(environment.max_steps, dtype=jnp.int32)[:, None], record["valid"].shape
    )
    return Experience(**record, time=time, start=start)


def play_for_returns(
    environment: Environment[Any],
    actor: Actor[Any],
    key: Key[Array, ""],
    *,
    num_episodes: int,
    discount: float | Float[Array, ""],
) -> EpisodeReturns:
    """Play whole episodes for what they yield: nothing is recorded step by step."""

    def nothing(row: dict[str, Any]) -> EpisodeReturns:
        zero = jnp.zeros_like(row["rewards"])
        return EpisodeReturns(zero, zero, jnp.zeros(num_episodes, jnp.int32), _use(row))

    def add(time: Int[Array, ""], total: EpisodeReturns, row: dict[str, Any]) -> EpisodeReturns:
        paid = jnp.where(row["valid"], row["rewards"], 0.0)
        return EpisodeReturns(
            total.discounted + discount**time * paid,
            total.undiscounted + paid,
            total.lengths + row["valid"],
            # Counted since the start: what was there when the episode ended.
            jax.tree.map(
                lambda old, new: jax.vmap(jnp.where)(row["valid"], new, old), total.use, _use(row)
            ),
        )

    return _play_whole(environment, actor, key, num_episodes, nothing, add)[1]


def _use(row: dict[str, Any]) -> MemoryUse | None:
    memory = row["memories"]
    return memory.use if isinstance(memory, WatchedMemory) else None


def _play_whole(
    environment: Environment[Any],
    actor: Actor[Any],
    key: Key[Array, ""],
    num_episodes: int,
    nothing: Callable[[dict[str, Any]], Any],
    add: Callable[[Int[Array, ""], Any, dict[str, Any]], Any],
) -> tuple[Any, Any]:
    """The memories that episodes start with, and what `add` makes of their rows.

    This takes as long as the longest episode, not as the time limit.
    """
    begin_key, step_key = jax.random.split(key)
    stream = _begin_all(environment, actor, begin_key, num_episodes)
    limit = environment.max_steps

    def play(
        time: Int[Array, ""], stream: Stream, running: Bool[Array, " N"]
    ) -> tuple[Stream, dict[str, Any]]:
        act_key, environment_key = jax.random.split(jax.random.fold_in(step_key, time))
        uniforms = jax.random.uniform(act_key, (num_episodes, actor.draws))
        masks = jax.vmap(lambda state: _mask(environment, actor, state))(stream.state)
        memory = jax.vmap(actor.act)(
            stream.memory, stream.observation, stream.reward, uniforms, masks
        )
        observation, state, reward, terminated = jax.vmap(environment.step)(
            jax.random.split(environment_key, num_episodes),
            stream.state,
            actor.head.play(memory.action),
        )
        row = {
            "observations": stream.observation,
            "actions": memory.action,
            "rewards": reward,
            "next_observations": observation,
            "terminated": terminated,
            "ended": terminated | (time + 1 >= limit),
            "valid": running,
            "memories": memory,
            "masks": masks,
        }
        return Stream(state, observation, reward, stream.time, memory), row

    def unfinished(carry: tuple[Any, ...]) -> Bool[Array, ""]:
        time, _, running, _ = carry
        return (time < limit) & running.any()

    def step(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        time, stream, running, record = carry
        stream, row = play(time, stream, running)
        record = add(time, record, row)
        return time + 1, stream, running & ~row["terminated"], record

    zero, running = jnp.zeros((), jnp.int32), jnp.ones(num_episodes, bool)
    shapes = jax.eval_shape(lambda: play(zero, stream, running)[1])
    blank = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
    *_, record = jax.lax.while_loop(unfinished, step, (zero, stream, running, nothing(blank)))
    return stream.memory, record


def _mask(environment: Environment[Any], actor: Actor[Any], state: Any) -> Bool[Array, " M"] | None:
    """What may be played, if the environment says so.

    Nothing at all if some part of an action has no value that may be: `Experience.finite` tells.
    """
    mask = environment.action_mask(state)
    return None if mask is None else mask & actor.head.allows(mask)


def _begin_all(
    environment: Environment[Any], actor: Actor[Any], key: Key[Array, ""], number: int
) -> Stream:
    keys = jax.random.split(key, number)
    return jax.vmap(lambda key: _begin(environment, actor, key))(keys)


def _begin(environment: Environment[Any], actor: Actor[Any], key: Key[Array, ""]) -> Stream:
    reset_key, start_key = jax.random.split(key)
    observation, state = environment.reset(reset_key)
    zero = jnp.zeros((), jnp.int32)
    return Stream(state, observation, jnp.zeros(()), zero, actor.start(start_key))


def _step(
    environment: Environment[Any],
    actor: Actor[Any],
    stream: Stream,
    keys: Key[Array, "2"],
    *,
    latent: bool,
) -> tuple[Stream, dict[str, Any]]:
    act_key, environment_key = jax.random.split(keys[0])
    uniforms = jax.random.uniform(act_key, (actor.draws,))
    mask = _mask(environment, actor, stream.state)
    memory = actor.act(stream.memory, stream.observation, stream.reward, uniforms, mask)
    following, state, reward, terminated = environment.step(
        environment_key, stream.state, actor.head.play(memory.action)
    )
    time = stream.time + 1
    ended = terminated | (time >= environment.max_steps)
    row = {
        "observations": stream.observation,
        "time": stream.time,
        "actions": memory.action,
        "rewards": reward,
        "next_observations": following,
        "terminated": terminated,
        "ended": ended,
        "memories": memory,
        "masks": mask,
        "latents": environment.latent(stream.state) if latent else None,
        "next_latents": environment.latent(state) if latent else None,
    }
    afresh = _begin(environment, actor, keys[1])
    onward = Stream(state, following, reward, time, memory)
    return jax.tree.map(lambda new, old: jnp.where(ended, new, old), afresh, onward), row
