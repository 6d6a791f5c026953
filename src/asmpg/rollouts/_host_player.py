"""Acting for environments that are stepped on the host: compiled, one call a step."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Shaped

from asmpg.policies import Actor

#: What a method wants to know of the memory before and after a step.
Note = Callable[[Any, Any], Any]


class HostPlayer:
    """Plays for `copies` environments at once. The memory stays on the device between steps."""

    def __init__(self, make_actor: Callable[[Any], Actor[Any]], copies: int, note: Note):
        """`make_actor(learner)` is who plays; `note` picks what is to be recorded."""
        self._make_actor = eqx.filter_jit(make_actor)
        self._copies = copies
        self._note = note
        self._structure: Any = None
        self._actor_leaves: list[Array] = []

    def prepare(self, learner: Any) -> None:
        """Play for `learner` from now on."""
        actor = self._make_actor(learner)
        arrays, rest = eqx.partition(actor, eqx.is_array)
        self._actor_leaves, structure = jax.tree.flatten(arrays)
        if self._structure is None or structure != self._structure:
            self._structure = structure
            self._compile(structure, rest)

    def empty_memory(self, seed: int) -> Any:
        """The memory at the start of an episode in every environment."""
        leaves = self._begin(self._actor_leaves, np.int32(seed))
        return jax.tree.unflatten(self._memory_structure, leaves)

    def act(
        self,
        memory: Any,
        start: Bool[np.ndarray, " n"],
        observations: Shaped[np.ndarray, "n *observation"],
        rewards: Float[np.ndarray, " n"],
        uniforms: Float[np.ndarray, "n 2"],
        seed: int,
    ) -> tuple[Any, Int[np.ndarray, " n"], Any]:
        """The new memory, the actions and what was noted; memory is lost where episodes `start`."""
        leaves = jax.tree.leaves(memory)
        leaves, actions, noted = self._act(
            self._actor_leaves, leaves, start, observations, rewards, uniforms, np.int32(seed)
        )
        return leaves, np.asarray(actions), noted

    def memory(self, leaves: Any) -> Any:
        """The memory whose leaves `act` returned."""
        return jax.tree.unflatten(self._memory_structure, jax.tree.leaves(leaves))

    def _compile(self, structure: Any, rest: Any) -> None:
        def rebuilt(leaves: list[Array]) -> Actor[Any]:
            return eqx.combine(jax.tree.unflatten(structure, leaves), rest)

        def fresh(leaves: list[Array], seed: Int[Array, ""]) -> Any:
            keys = jax.random.split(jax.random.key(seed), self._copies)
            return jax.vmap(rebuilt(leaves).start)(keys)

        shape = jax.eval_shape(fresh, self._actor_leaves, np.int32(0))
        self._memory_structure = jax.tree.structure(shape)

        def begin(leaves: list[Array], seed: Int[Array, ""]) -> list[Array]:
            return jax.tree.leaves(fresh(leaves, seed))

        def act(
            leaves: list[Array],
            memory_leaves: list[Array],
            start: Bool[Array, " n"],
            observations: Shaped[Array, "n *observation"],
            rewards: Float[Array, " n"],
            uniforms: Float[Array, "n 2"],
            seed: Int[Array, ""],
        ) -> tuple[list[Array], Int[Array, " n"], Any]:
            actor = rebuilt(leaves)
            memory = jax.tree.unflatten(self._memory_structure, memory_leaves)
            before = jax.tree.map(
                lambda new, old: jax.vmap(jnp.where)(start, new, old), fresh(leaves, seed), memory
            )
            paid = jnp.where(start, 0.0, rewards)
            after = jax.vmap(actor.act)(before, observations, paid, uniforms)
            noted = jax.vmap(self._note)(before, after)
            return jax.tree.leaves(after), after.action, noted

        self._begin = jax.jit(begin)
        self._act = jax.jit(act)
