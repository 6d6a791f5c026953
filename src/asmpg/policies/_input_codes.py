"""Agent states, actions and finite observations as inputs of a network, other than one-hot."""

from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from asmpg.policies._networks import Encoding

Inputs = Literal["one-hot", "embedding", "index"]
INPUTS: tuple[Inputs, ...] = ("one-hot", "embedding", "index")


class InputCode(eqx.Module):
    """One of `number`: its learned row, or without these the number itself, counted from 1."""

    number: int = eqx.field(static=True)
    learned: Float[Array, "n d"] | None

    @property
    def size(self) -> int:
        """How many numbers each of them becomes."""
        return 1 if self.learned is None else self.learned.shape[1]

    def rows(self, dtype: jnp.dtype) -> Float[Array, "n d"]:
        """What each of them becomes."""
        if self.learned is not None:
            return self.learned.astype(dtype)
        return jnp.arange(1, self.number + 1, dtype=dtype)[:, None]

    def __call__(self, index: Int[Array, "*batch"], dtype: jnp.dtype) -> Float[Array, "*batch d"]:
        """The rows of any batch."""
        return self.rows(dtype)[index]


class InputCodes(eqx.Module):
    """How two networks are shown what is one of a few: `nu` the first three, `phi` the last.

    What is `None` is as the encoding has it: actions and observations that are not one of a few.
    """

    previous_state: InputCode
    action: InputCode | None
    observation: InputCode | None
    state: InputCode

    @classmethod
    def fresh(
        cls,
        inputs: Literal["embedding", "index"],
        *,
        num_states: int,
        encoding: Encoding,
        width: int,
        key: Key[Array, ""],
    ) -> "InputCodes":
        """Embeddings have `width` numbers each, standard normal at the start."""
        numbers = (num_states, encoding.num_actions, encoding.num_observations or 0, num_states)
        codes = []
        for number, part in zip(numbers, jax.random.split(key, 4), strict=True):
            rows = jax.random.normal(part, (number, width)) if inputs == "embedding" else None
            codes.append(InputCode(number, rows) if number else None)
        return cls(*codes)
