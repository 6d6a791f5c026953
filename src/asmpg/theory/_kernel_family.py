"""The two softmax families of the paper, with their constants."""

import dataclasses
import itertools
from collections.abc import Callable
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from asmpg.policies import ASMPolicy, JointTabularPolicy, TabularPolicy
from asmpg.theory._constants import (
    KernelBounds,
    factored_softmax_bounds,
    joint_softmax_bounds,
)


@dataclasses.dataclass(frozen=True)
class KernelFamily:
    """Stationary softmax tables over given spaces, as a function of a parameter vector."""

    kind: Literal["joint", "tabular"]
    num_states: int
    num_actions: int
    num_observations: int

    @property
    def title(self) -> str:
        """The family in words."""
        return "joint softmax" if self.kind == "joint" else "factored softmax"

    @property
    def bounds(self) -> KernelBounds:
        """`G` and `M`."""
        return joint_softmax_bounds() if self.kind == "joint" else factored_softmax_bounds()

    def make(self, key: Key[Array, ""]) -> ASMPolicy:
        """A policy from a key, as its class makes it."""
        make = JointTabularPolicy if self.kind == "joint" else TabularPolicy
        return make(
            num_states=self.num_states,
            num_actions=self.num_actions,
            num_observations=self.num_observations,
            key=key,
        )

    def random(self, seed: int) -> ASMPolicy:
        """The policy of this seed."""
        return random_policy(self.make, seed)

    def policy(self, parameters: Float[Array, " d"]) -> ASMPolicy:
        """The policy with these parameters."""
        shapes, structure = jax.tree.flatten(self._shapes())
        ends = list(itertools.accumulate(leaf.size for leaf in shapes))
        parts = jnp.split(parameters, ends[:-1])
        return structure.unflatten(
            part.reshape(leaf.shape) for part, leaf in zip(parts, shapes, strict=True)
        )

    @property
    def num_parameters(self) -> int:
        """`d`."""
        return sum(leaf.size for leaf in jax.tree.leaves(self._shapes()))

    def _shapes(self) -> ASMPolicy:
        return eqx.filter_eval_shape(self.make, jax.random.key(0))


def random_policy(make: Callable[[Key[Array, ""]], ASMPolicy], seed: int) -> ASMPolicy:
    """What `make` makes, with normal numbers of this seed in it; nothing has to be compiled."""
    generator = np.random.default_rng(seed)
    return jax.tree.map(
        lambda leaf: jnp.asarray(generator.normal(size=leaf.shape)),
        eqx.filter_eval_shape(make, jax.random.key(0)),
    )
