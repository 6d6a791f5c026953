"""Who plays in environments that are stepped on the host: acting for all of them at once."""

import abc
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Shaped

from asmpg.policies import Actor


class StepInputs(NamedTuple):
    """What the actions of `n` environments depend on beside memory; arrays of numpy or jax."""

    #: Where episodes start: memory is lost there, and there is no reward yet.
    start: Bool[Any, " n"]
    observations: Shaped[Any, "n *observation"]
    rewards: Float[Any, " n"]
    uniforms: Float[Any, "n draws"]
    masks: Bool[Any, "n M"] | None
    #: Of the memories that start.
    seed: Int[Any, ""]


def act_together(actor: Actor[Any], memory: Any | None, inputs: StepInputs) -> Any:
    """The memories of `n` episodes after a step, with the actions chosen; at first it is `None`."""
    keys = jax.random.split(jax.random.key(inputs.seed), len(inputs.start))
    fresh = jax.vmap(actor.start)(keys)
    start = jnp.ones_like(inputs.start) if memory is None else inputs.start
    before = jax.tree.map(
        lambda new, old: jax.vmap(jnp.where)(start, new, old),
        fresh,
        fresh if memory is None else memory,
    )
    rewards = jnp.where(start, 0.0, inputs.rewards)
    return jax.vmap(actor.act)(before, inputs.observations, rewards, inputs.uniforms, inputs.masks)


class Player(abc.ABC):
    """Acts for several environments at once. Memories are lists of arrays."""

    #: How many uniform random numbers a step takes.
    draws: int

    @abc.abstractmethod
    def prepare(self, learner: Any) -> None:
        """Play for `learner` from now on."""

    @abc.abstractmethod
    def empty_memory(self, seed: int) -> list[Any]:
        """The memory at the start of an episode in every environment, as its leaves."""

    @abc.abstractmethod
    def act(
        self, memory: list[Any], inputs: StepInputs
    ) -> tuple[list[Any], Shaped[np.ndarray, "n *action"], Shaped[np.ndarray, "n *played"]]:
        """The new memory, the actions, and what is played.

        Actions are as the head writes them down, and allowed by the masks.
        """

    @abc.abstractmethod
    def rebuilt(self, leaves: list[Any]) -> Any:
        """The memory that has these leaves."""


class HostPlayer(Player):
    """Acts as a compiled actor does. The memory stays on the device between steps."""

    def __init__(self, make_actor: Callable[[Any], Actor[Any]], copies: int):
        """`make_actor(learner)` is who plays."""
        self._make_actor = eqx.filter_jit(make_actor)
        self._copies = copies
        self._structure: Any = None
        self._actor_leaves: list[Array] = []

    def prepare(self, learner: Any) -> None:
        actor = self._make_actor(learner)
        arrays, rest = eqx.partition(actor, eqx.is_array)
        self._actor_leaves, structure = jax.tree.flatten(arrays)
        if self._structure is None or structure != self._structure:
            self._structure = structure
            self._compile(structure, rest)

    def empty_memory(self, seed: int) -> list[Array]:
        return self._begin(self._actor_leaves, np.int32(seed))

    def act(
        self, memory: list[Array], inputs: StepInputs
    ) -> tuple[list[Array], Shaped[np.ndarray, "n *action"], Shaped[np.ndarray, "n *played"]]:
        memory, actions, played = self._act(self._actor_leaves, memory, inputs)
        chosen = np.asarray(actions)
        return memory, chosen, chosen if played is None else np.asarray(played)

    def rebuilt(self, leaves: list[Any]) -> Any:
        return jax.tree.unflatten(self._memory_structure, leaves)

    def _compile(self, structure: Any, rest: Any) -> None:
        def actor_of(leaves: list[Array]) -> Actor[Any]:
            return eqx.combine(jax.tree.unflatten(structure, leaves), rest)

        def fresh(leaves: list[Array], seed: Int[Array, ""]) -> Any:
            keys = jax.random.split(jax.random.key(seed), self._copies)
            return jax.vmap(actor_of(leaves).start)(keys)

        shape = jax.eval_shape(fresh, self._actor_leaves, np.int32(0))
        self._memory_structure = jax.tree.structure(shape)
        self.draws = actor_of(self._actor_leaves).draws

        def begin(leaves: list[Array], seed: Int[Array, ""]) -> list[Array]:
            return jax.tree.leaves(fresh(leaves, seed))

        def act(
            leaves: list[Array], memory_leaves: list[Array], inputs: StepInputs
        ) -> tuple[list[Array], Shaped[Array, "n *action"], Shaped[Array, "n *played"] | None]:
            actor = actor_of(leaves)
            after = act_together(actor, self.rebuilt(memory_leaves), inputs)
            action, head = after.action, actor.head
            played = head.play(action) if head.writes else None
            return jax.tree.leaves(after), action, played

        self._begin = jax.jit(begin)
        self._act = jax.jit(act)
