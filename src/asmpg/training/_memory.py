"""Refusing what no machine could hold, before anything is allocated."""

import math
from typing import Any

import jax
import jax.numpy as jnp

from asmpg.environments import Discrete
from asmpg.experience import WholeEpisodes
from asmpg.interop import Interface
from asmpg.methods import Method

#: What one seed may take up: its policy, critic, optimisers and environments, in bytes.
_MOST_BYTES = 8 * 2**30
#: Steps are counted in 32 bits, and those of one update are in memory together.
_MOST_STEPS_OF_UPDATE = 100_000_000


def check_memory(method: Method[Any], interface: Interface, state: Any) -> None:
    """Raise a `ValueError` if a seed with a state of these shapes, or one update, is too large."""
    size = sum(_bytes(leaf) for leaf in jax.tree.leaves(state))
    space = interface.observation_space
    if size > _MOST_BYTES:
        shown = f"{space.n:,}" if isinstance(space, Discrete) else "real"
        raise ValueError(
            f"the method's options must fit in memory: one seed would take {_gib(size)} with "
            f"{shown} observations and {interface.num_actions:,} actions, at most "
            f"{_gib(_MOST_BYTES)} is accepted; use fewer agent states or narrower networks, or "
            "make many observations a few real features"
        )
    collects = method.collects
    limit = interface.max_steps if isinstance(collects, WholeEpisodes) else collects.steps
    steps = collects.environments * limit
    if steps > _MOST_STEPS_OF_UPDATE:
        raise ValueError(
            f"an update must play at most {_MOST_STEPS_OF_UPDATE:,} steps, got up to {steps:,}: "
            f"{collects.environments:,} environments of {limit:,} steps; use fewer environments, "
            "episodes or steps for an update, or a smaller max_steps"
        )
    seen = 1 if isinstance(space, Discrete) else len(space.low)
    size = 4 * steps * (seen + 4 + int(getattr(method, "num_states", None) or 0))
    if size > _MOST_BYTES:
        raise ValueError(
            f"an update must fit in memory: {steps:,} steps would take {_gib(size)}, at most "
            f"{_gib(_MOST_BYTES)} is accepted; use fewer environments, episodes or steps for it"
        )


def _bytes(leaf: Any) -> int:
    if not hasattr(leaf, "shape"):
        return 0
    # A PRNG key is a few integers.
    key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return math.prod(leaf.shape) * (16 if key else leaf.dtype.itemsize)


def _gib(size: int) -> str:
    return f"{size / 2**30:,.0f} GiB"
