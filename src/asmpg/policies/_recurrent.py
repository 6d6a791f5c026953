"""A recurrent network over histories: what a finite memory competes with, and what critics use."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, Shaped

from asmpg.policies._layers import encode_action, encode_observation


class HistoryEncoder(eqx.Module):
    """A gated recurrent unit (Cho et al., 2014) that reads `(O_t, A_{t-1})`.

    ```
    r, u = sigmoid(W x + V h),  n = tanh(W' x + r * (V' h + v)),  h' = (1 - u) n + u h
    ```

    Everything starts uniform in `+-1/sqrt(d)`; the memory of an episode starts at zero. The methods
    take any batch.
    """

    input_weight: Float[Array, "gates n"]
    input_bias: Float[Array, " gates"]
    recurrent_weight: Float[Array, "gates d"]
    candidate_bias: Float[Array, " d"]
    observation_scale: tuple[float, ...] = eqx.field(static=True)
    num_actions: int = eqx.field(static=True)
    num_observations: int | None = eqx.field(static=True)

    def __init__(
        self,
        *,
        width: int,
        num_actions: int,
        num_observations: int | None,
        observation_scale: tuple[float, ...] = (),
        key: Key[Array, ""],
    ):
        """`width` is the dimension `d` of the memory."""
        size = (num_observations or len(observation_scale)) + num_actions
        shape = (3 * width, size + width + 1)
        columns = jax.random.uniform(key, shape, minval=-(width**-0.5), maxval=width**-0.5)
        self.input_weight, self.recurrent_weight = columns[:, :size], columns[:, size:-1]
        self.input_bias = columns[:, -1]
        self.candidate_bias = jnp.zeros(width)
        self.observation_scale = observation_scale
        self.num_actions = num_actions
        self.num_observations = num_observations

    @property
    def width(self) -> int:
        """The dimension of the memory."""
        return self.recurrent_weight.shape[1]

    def step(
        self,
        hidden: Float[Array, "*batch d"],
        observation: Shaped[Array, "*batch_and_observation"],
        previous_action: Int[Array, "*batch"],
        first: Bool[Array, "*batch"],
    ) -> Float[Array, "*batch d"]:
        """Take in `O_t`; where `first`, what was remembered and done before is forgotten."""
        return self._advance(hidden, first, self._drive(observation, previous_action, first))

    def along(
        self,
        hidden: Float[Array, "N d"],
        observations: Shaped[Array, "T N *observation"],
        previous_actions: Int[Array, "T N"],
        first: Bool[Array, "T N"],
    ) -> Float[Array, "T N d"]:
        """The memories after each of `T` observations."""

        def step(
            hidden: Float[Array, "N d"], row: tuple[Any, ...]
        ) -> tuple[Float[Array, "N d"], Float[Array, "N d"]]:
            hidden = self._advance(hidden, *row)
            return hidden, hidden

        drive = self._drive(observations, previous_actions, first)
        return jax.lax.scan(step, hidden, (first, drive))[1]

    def _drive(
        self,
        observation: Shaped[Array, "*batch_and_observation"],
        previous_action: Int[Array, "*batch"],
        first: Bool[Array, "*batch"],
    ) -> Float[Array, "*batch gates"]:
        """The part of the gates that does not depend on the memory."""
        real = self.input_weight.dtype
        seen = encode_observation(
            observation,
            num_observations=self.num_observations,
            observation_scale=self.observation_scale,
            dtype=real,
        )
        action = encode_action(previous_action, num_actions=self.num_actions, dtype=real)
        inputs = jnp.concatenate([seen, jnp.where(first[..., None], 0, action)], axis=-1)
        return inputs @ self.input_weight.T + self.input_bias

    def _advance(
        self,
        hidden: Float[Array, "*batch d"],
        first: Bool[Array, "*batch"],
        drive: Float[Array, "*batch gates"],
    ) -> Float[Array, "*batch d"]:
        hidden = jnp.where(first[..., None], 0, hidden)
        reset_drive, keep_drive, candidate_drive = jnp.split(drive, 3, axis=-1)
        reset, keep, inner = jnp.split(hidden @ self.recurrent_weight.T, 3, axis=-1)
        reset = jax.nn.sigmoid(reset_drive + reset)
        keep = jax.nn.sigmoid(keep_drive + keep)
        candidate = jnp.tanh(candidate_drive + reset * (inner + self.candidate_bias))
        return (1 - keep) * candidate + keep * hidden
