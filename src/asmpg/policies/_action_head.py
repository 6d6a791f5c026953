"""What an action is: the contract between actions and the policies that choose them.

A policy gives numbers; a head says which distribution they stand for. It is all that policies,
actors and estimators have to know about actions.
"""

import abc
import dataclasses

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, Shaped

from asmpg.environments import ActionSpace, MultiDiscrete


@dataclasses.dataclass(frozen=True)
class ActionHead(abc.ABC):
    """A family of distributions over actions, each written as `size` numbers."""

    @property
    @abc.abstractmethod
    def space(self) -> ActionSpace:
        """What `play` gives."""

    @property
    @abc.abstractmethod
    def size(self) -> int:
        """How many numbers a distribution is."""

    @property
    @abc.abstractmethod
    def code_size(self) -> int:
        """How many numbers a network is shown of an action."""

    @property
    @abc.abstractmethod
    def draws(self) -> int:
        """How many uniform random numbers an action is drawn with."""

    @property
    def mask_size(self) -> int:
        """The length of an action mask; 0 where there can be none."""
        return 0

    @property
    def writes(self) -> bool:
        """Whether what the environment is given differs from what is remembered."""
        return False

    @abc.abstractmethod
    def blank(self, batch: tuple[int, ...] = ()) -> Shaped[Array, "*batch_and_action"]:
        """What stands for an action where there was none."""

    @abc.abstractmethod
    def encode(
        self, action: Shaped[Array, "*batch_and_action"], dtype: jnp.dtype
    ) -> Float[Array, "*batch n"]:
        """What networks are shown of an action."""

    @abc.abstractmethod
    def normalise(self, numbers: Float[Array, "*batch P"]) -> Float[Array, "*batch P"]:
        """The same distributions in the form that the other methods take."""

    @abc.abstractmethod
    def masked(
        self, numbers: Float[Array, "*batch P"], mask: Bool[Array, "*batch M"]
    ) -> Float[Array, "*batch P"]:
        """The distributions given that the action is one of those allowed."""

    def allows(self, mask: Bool[Array, "*batch M"]) -> Bool[Array, "*batch"]:
        """Whether a mask allows some action at all."""
        parts = self.space.sizes if isinstance(self.space, MultiDiscrete) else (self.mask_size,)
        return jnp.stack([part.any(axis=-1) for part in split_parts(mask, parts)]).all(axis=0)

    @abc.abstractmethod
    def log_probability(
        self, numbers: Float[Array, "*batch P"], action: Shaped[Array, "*batch_and_action"]
    ) -> Float[Array, "*batch"]:
        """The logarithm of the probability, or density, of an action."""

    @abc.abstractmethod
    def entropy(self, numbers: Float[Array, "*batch P"]) -> Float[Array, "*batch"]:
        """In nats; of real actions, before they are brought within their bounds."""

    @abc.abstractmethod
    def log_barrier(self, numbers: Float[Array, "*batch P"]) -> Float[Array, "*batch"]:
        """The mean of the log-probabilities, which keeps all of them away from zero."""

    @abc.abstractmethod
    def draw(
        self, numbers: Float[Array, " P"], uniforms: Float[Array, " n"], *, greedy: bool
    ) -> Shaped[Array, "*action"]:
        """An action; the most probable one if `greedy`."""

    def draw_from_mixture(
        self,
        weights: Float[Array, " S"],
        numbers: Float[Array, "S P"],
        uniforms: Float[Array, " n"],
        *,
        greedy: bool,
    ) -> Shaped[Array, "*action"]:
        """An action of a mixture, the first uniform number choosing the component."""
        state = draw(weights, uniforms[0], greedy=greedy)
        return self.draw(numbers[state], uniforms[1:], greedy=greedy)

    def play(
        self, action: Shaped[Array, "*batch_and_action"]
    ) -> Shaped[Array, "*batch_and_played"]:
        """What the environment is given."""
        return action

    def unplay(
        self, played: Shaped[Array, "*batch_and_played"]
    ) -> Shaped[Array, "*batch_and_action"]:
        """An action that `play` makes this of."""
        return played

    @abc.abstractmethod
    def start(
        self, key: Key[Array, ""], shape: tuple[int, ...], scale: float | Float[Array, ""]
    ) -> Float[Array, "*shape P"]:
        """Random numbers to start learning from."""


def draw(
    probabilities: Float[Array, " n"], uniform: Float[Array, ""], *, greedy: bool = False
) -> Int[Array, ""]:
    """Draw an index by inverse distribution function, or take the most probable one."""
    if greedy:
        return jnp.argmax(probabilities).astype(jnp.int32)
    # The last threshold is left out, so that rounding can never step past the last outcome; nor
    # does it ever lead to what is impossible.
    index = jnp.sum(uniform >= jnp.cumsum(probabilities)[:-1], dtype=jnp.int32)
    return jnp.where(probabilities[index] > 0, index, jnp.argmax(probabilities).astype(jnp.int32))


def picked(
    numbers: Float[Array, "*batch n"], index: Int[Array, "*batch"]
) -> Float[Array, "*batch"]:
    """The number at `index`. Unlike that of indexing, its gradient adds nothing up."""
    chosen = jnp.arange(numbers.shape[-1], dtype=index.dtype) == index[..., None]
    return jnp.sum(jnp.where(chosen, numbers, 0), axis=-1)


def split_parts(numbers: Shaped[Array, "*batch n"], parts: tuple[int, ...]) -> list[Array]:
    """The numbers of each part."""
    edges = [sum(parts[:i]) for i in range(1, len(parts))]
    return jnp.split(numbers, edges, axis=-1)
