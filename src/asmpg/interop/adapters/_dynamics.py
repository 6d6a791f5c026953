"""Episodes that follow one another, as functions to be compiled.

A seed gives a stream of random numbers. Each episode splits its own key off the stream, and step
`t` of the episode uses that key folded with `t`: the episodes of a seed are the same however many
run side by side.

An outcome crosses from the device to the host as one vector: the observation, then the reward,
then the flags terminated and truncated.
"""

import functools
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, Shaped, UInt32

from asmpg.environments import Environment

Outcome = Float[Array, " size"]


class Running(NamedTuple):
    """An episode under way, and the stream that the next ones will come from."""

    stream: UInt32[Array, "2"]
    key: UInt32[Array, "2"]
    time: Int[Array, ""]
    state: Any


def start(environment: Environment[Any], stream: UInt32[Array, "2"]) -> tuple[Running, Outcome]:
    """The first episode of `stream`, before its first step."""
    rest, key = jax.random.split(_key(stream))
    observation, state = environment.reset(jax.random.fold_in(key, 0))
    running = Running(
        stream=jax.random.key_data(rest),
        key=jax.random.key_data(key),
        time=jnp.zeros((), jnp.int32),
        state=jax.tree.map(_strongly_typed, state),
    )
    return running, _outcome(observation, 0.0, False, False)


def advance(
    environment: Environment[Any], running: Running, action: Shaped[Array, "*action"]
) -> tuple[Running, Outcome]:
    """One step; an episode that has not terminated is truncated at `max_steps`."""
    time = running.time + 1
    observation, state, reward, terminated = environment.step(
        jax.random.fold_in(_key(running.key), time), running.state, action
    )
    truncated = (time >= environment.max_steps) & ~jnp.asarray(terminated)
    outcome = _outcome(observation, reward, terminated, truncated)
    state = jax.tree.map(_strongly_typed, state)
    return running._replace(time=time, state=state), outcome


def compiled(
    function: Callable[..., Any], environment: Environment[Any], *, batched: bool = False
) -> Callable[..., Any]:
    """`function` of `environment`, compiled; `batched` maps all other arguments.

    Environments of one type and equal static fields share the compiled function.
    """
    leaves, structure = jax.tree.flatten(environment)
    numbers = [jnp.asarray(leaf) if eqx.is_array_like(leaf) else None for leaf in leaves]
    constants = tuple(None if eqx.is_array_like(leaf) else leaf for leaf in leaves)
    return functools.partial(_compiled(function, batched, structure, constants), numbers)


@functools.lru_cache(maxsize=256)
def _compiled(
    function: Callable[..., Any],
    batched: bool,
    structure: Any,
    constants: tuple[Hashable, ...],
) -> Callable[..., Any]:
    def call(numbers: list[Array | None], *arguments: Any) -> Any:
        leaves = [
            constant if number is None else number
            for number, constant in zip(numbers, constants, strict=True)
        ]
        bound = functools.partial(function, jax.tree.unflatten(structure, leaves))
        if not batched:
            return _one_row(bound, arguments)
        if jax.tree.leaves(arguments)[0].shape[0] > 1:
            return jax.vmap(bound)(*arguments)
        row = _one_row(bound, jax.tree.map(lambda leaf: leaf[0], arguments))
        return jax.tree.map(lambda leaf: leaf[None], row)

    return jax.jit(call)


def _one_row(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Call `function` on a batch of two equal rows and keep one, so as to round as a batch does.

    The compiler takes a batch of one for lone numbers, and rounds those differently; the barriers
    keep it from seeing that the second row is not needed.
    """
    pair = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), arguments)
    results = jax.vmap(function)(*jax.lax.optimization_barrier(pair))
    return jax.tree.map(lambda leaf: leaf[0], jax.lax.optimization_barrier(results))


def stream_of(generator: np.random.Generator) -> UInt32[np.ndarray, "2"]:
    """The stream of episodes that Gymnasium's generator for a seed gives."""
    return generator.integers(2**32, size=2, dtype=np.uint32)


def _key(data: UInt32[Array, "2"]) -> Key[Array, ""]:
    return jax.random.wrap_key_data(data, impl="threefry2x32")


def _strongly_typed(leaf: Any) -> Array:
    """A weakly typed number in the state would have the next step compiled once more."""
    array = jnp.asarray(leaf)
    return array.astype(array.dtype)


def _outcome(
    observation: Array,
    reward: Float[Array, ""] | float,
    terminated: Bool[Array, ""] | bool,
    truncated: Bool[Array, ""] | bool,
) -> Outcome:
    """Floats hold the symbols of a discrete observation exactly, up to 2**24."""
    signals = jnp.asarray([reward, terminated, truncated], float)
    return jnp.concatenate([jnp.ravel(observation).astype(float), signals])
