"""What users hand to an agent, checked and turned into arrays."""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Shaped
from numpy.typing import ArrayLike

from asmpg.environments import Discrete, Space
from asmpg.policies import ActionHead

#: As the environment gives it: an array, or where it consists of several, a dict or a tuple.
Observation = ArrayLike | Mapping[Any, Any] | tuple[Any, ...]


def observation_batch(
    observation: Observation, space: Space
) -> tuple[Shaped[Array, "n *observation"], bool]:
    """The observations with a batch axis, and whether there was a single one, without it."""
    given = np.asarray(observation)
    single = given.shape == space.shape
    fits = single or given.shape[1:] == space.shape
    if isinstance(space, Discrete):
        fits = fits and given.dtype.kind in "iu" and bool(((given >= 0) & (given < space.n)).all())
    else:
        fits = fits and given.dtype.kind in "iuf" and bool(np.isfinite(given).all())
    if not fits:
        raise ValueError(
            f"observation must be an element of {space}, or a batch of them, got {given}"
        )
    array = jnp.asarray(given, jnp.int32 if isinstance(space, Discrete) else jnp.float32)
    return (array[None] if single else array), single


def memory_batch(state: Sequence[ArrayLike], like: Any, number: int) -> Any:
    """The arrays of `state` as a batch of `number` memories, each in the shape of `like`."""
    leaves, structure = jax.tree.flatten(like)
    parts = [np.asarray(part) for part in state]
    given = [(part.shape, part.dtype.kind) for part in parts]
    if given != [((number, *leaf.shape), np.dtype(leaf.dtype).kind) for leaf in leaves]:
        raise ValueError(
            f"state must be None or what predict returned for {number} observations, got {state!r}"
        )
    arrays = [jnp.asarray(part, leaf.dtype) for part, leaf in zip(parts, leaves, strict=True)]
    return jax.tree.unflatten(structure, arrays)


def start_batch(episode_start: ArrayLike | None, number: int) -> Bool[Array, " n"]:
    """For each of `number` episodes, whether it starts."""
    if episode_start is None:
        return jnp.zeros(number, bool)
    start = np.ravel(episode_start)
    if start.shape != (number,) or start.dtype.kind not in "biuf":
        raise ValueError(
            f"episode_start must have a truth value for each of {number} observations, "
            f"got {episode_start!r}"
        )
    return jnp.asarray(start.astype(bool))


def reward_batch(reward: ArrayLike | None, number: int) -> Float[Array, " n"]:
    """The rewards of `number` episodes, none if not given."""
    if reward is None:
        return jnp.zeros(number)
    array = np.ravel(reward)
    if array.shape != (number,) or array.dtype.kind not in "iuf" or not np.isfinite(array).all():
        raise ValueError(
            f"reward must have a finite number for each of {number} observations, got {reward!r}"
        )
    return jnp.asarray(array, float)


def mask_batch(masks: ArrayLike | None, head: ActionHead, number: int) -> Bool[Array, "n M"] | None:
    """The action masks of `number` episodes; a single one may lack the batch axis."""
    if masks is None:
        return None
    given = np.asarray(masks)
    if given.shape == (head.mask_size,) and number == 1:
        given = given[None]
    if given.shape != (number, head.mask_size) or given.dtype.kind not in "biu":
        raise ValueError(
            f"action_masks must have {head.mask_size} truth values for each of {number} "
            f"observations, got {masks!r}"
            if head.mask_size
            else "action_masks must be None: real actions have none"
        )
    allowed = jnp.asarray(given.astype(bool))
    if not bool(head.allows(allowed).all()):
        raise ValueError(f"action_masks must allow some action, got {masks!r}")
    return allowed


def index(name: str, value: object, *, low: int = 0, high: int | None = None) -> Array:
    """An integer of Python or numpy as an array."""
    array = np.asarray(value)
    integral = array.shape == () and array.dtype.kind in "iu"
    if not (integral and array >= low and (high is None or array <= high)):
        accepted = f"of at least {low}" if high is None else f"in [{low}, {high}]"
        raise ValueError(f"{name} must be an integer {accepted}, got {value!r}")
    return jnp.asarray(array, jnp.int32)
