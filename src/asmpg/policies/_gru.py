"""The gated recurrent unit over histories: of a policy, and of critics."""

import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key, Shaped

from asmpg.policies._action_head import ActionHead
from asmpg.policies._networks import Encoding, Layers, Number, linear_layers, scale_last
from asmpg.policies._recurrent import RecurrentActor, RecurrentPolicy, history_inputs

#: What acts for a `GRUPolicy`.
GRUActor = RecurrentActor


class HistoryEncoder(eqx.Module):
    """A gated recurrent unit (Cho et al., 2014) that reads `(O_t, A_{t-1})`.

    ```
    r, u = sigmoid(W x + V h),  n = tanh(W' x + r * (V' h + v)),  h' = (1 - u) n + u h
    ```

    Everything starts uniform in `+-1/sqrt(d)`, or, if `orthogonal`, the recurrent weights of each
    gate as an orthogonal matrix; `keep_bias` is added to the bias of `u`. The memory of an episode
    starts at zero. The methods take any batch.
    """

    input_weight: Float[Array, "gates n"]
    input_bias: Float[Array, " gates"]
    recurrent_weight: Float[Array, "gates d"]
    candidate_bias: Float[Array, " d"]
    encoding: Encoding

    def __init__(
        self,
        *,
        width: int,
        encoding: Encoding,
        key: Key[Array, ""],
        orthogonal: bool = False,
        keep_bias: Number = 0.0,
    ):
        """`width` is the dimension `d` of the memory."""
        size = encoding.observation_size + encoding.action_size
        shape = (3 * width, size + width + 1)
        columns = jax.random.uniform(key, shape, minval=-(width**-0.5), maxval=width**-0.5)
        self.input_weight, self.recurrent_weight = columns[:, :size], columns[:, size:-1]
        if orthogonal:
            keys = jax.random.split(jax.random.fold_in(key, 1), 3)
            self.recurrent_weight = jnp.concatenate([_rotation(width, key) for key in keys])
        self.input_bias = columns[:, -1].at[width : 2 * width].add(keep_bias)
        self.candidate_bias = jnp.zeros(width)
        self.encoding = encoding

    @property
    def width(self) -> int:
        """The dimension of the memory."""
        return self.recurrent_weight.shape[1]

    def step(
        self,
        hidden: Float[Array, "*batch d"],
        observation: Shaped[Array, "*batch_and_observation"],
        previous_action: Shaped[Array, "*batch_and_action"],
        first: Bool[Array, "*batch"],
    ) -> Float[Array, "*batch d"]:
        """Take in `O_t`; where `first`, what was remembered and done before is forgotten."""
        drive = self._drive(observation, previous_action, first)
        return _advance(
            hidden,
            ~first,
            drive,
            functools.partial(_recurrent_part, self.recurrent_weight, self.candidate_bias),
        )

    def along(
        self,
        hidden: Float[Array, "N d"],
        observations: Shaped[Array, "T N *observation"],
        previous_actions: Shaped[Array, "T N *action"],
        first: Bool[Array, "T N"],
    ) -> Float[Array, "T N d"]:
        """The memories after each of `T` observations."""
        drive = self._drive(observations, previous_actions, first)
        return _along(self.recurrent_weight, self.candidate_bias, hidden, ~first, drive)

    def _drive(
        self,
        observation: Shaped[Array, "*batch_and_observation"],
        previous_action: Shaped[Array, "*batch_and_action"],
        first: Bool[Array, "*batch"],
    ) -> Float[Array, "*batch gates"]:
        """The part of the gates that does not depend on the memory."""
        inputs = history_inputs(
            self.encoding, observation, previous_action, first, self.input_weight.dtype
        )
        return inputs @ self.input_weight.T + self.input_bias


def _rotation(width: int, key: Key[Array, ""]) -> Float[Array, "d d"]:
    """A random orthogonal matrix."""
    return jax.nn.initializers.orthogonal()(key, (width, width))


def _advance(
    hidden: Float[Array, "*batch d"],
    goes_on: Bool[Array, "*batch"],
    drive: Float[Array, "*batch gates"],
    recurrent: Callable[[Float[Array, "*batch d"]], Float[Array, "*batch gates"]],
) -> Float[Array, "*batch d"]:
    """One step; `recurrent` is the part of the gates that depends on the memory."""
    hidden = jnp.where(goes_on[..., None], hidden, 0)
    reset_drive, keep_drive, candidate_drive = jnp.split(drive, 3, axis=-1)
    reset, keep, inner = jnp.split(recurrent(hidden), 3, axis=-1)
    reset = jax.nn.sigmoid(reset_drive + reset)
    keep = jax.nn.sigmoid(keep_drive + keep)
    candidate = jnp.tanh(candidate_drive + reset * inner)
    return (1 - keep) * candidate + keep * hidden


def _recurrent_part(
    weight: Float[Array, "gates d"], bias: Float[Array, " d"], hidden: Float[Array, "*batch d"]
) -> Float[Array, "*batch gates"]:
    gates = hidden @ weight.T
    return gates.at[..., -len(bias) :].add(bias)


@jax.custom_vjp
def _along(
    weight: Float[Array, "gates d"],
    bias: Float[Array, " d"],
    hidden: Float[Array, "N d"],
    goes_on: Bool[Array, "T N"],
    drive: Float[Array, "T N gates"],
) -> Float[Array, "T N d"]:
    """The memories along `T` steps.

    Left to itself, autodiff adds up the gradient of the weights step by step; here it is one
    product over all steps, from the gradients of what the weights contributed to each.
    """
    return _scan(weight, bias, hidden, goes_on, drive, jnp.zeros_like(drive))


def _scan(
    weight: Float[Array, "gates d"],
    bias: Float[Array, " d"],
    hidden: Float[Array, "N d"],
    goes_on: Bool[Array, "T N"],
    drive: Float[Array, "T N gates"],
    added: Float[Array, "T N gates"],
) -> Float[Array, "T N d"]:
    """The memories, with `added` to the recurrent part of the gates at each step."""

    def step(
        hidden: Float[Array, "N d"], row: tuple[Array, Array, Array]
    ) -> tuple[Float[Array, "N d"], Float[Array, "N d"]]:
        goes_on, drive, added = row
        hidden = _advance(
            hidden, goes_on, drive, lambda hidden: _recurrent_part(weight, bias, hidden) + added
        )
        return hidden, hidden

    return jax.lax.scan(step, hidden, (goes_on, drive, added))[1]


def _along_forward(
    weight: Array, bias: Array, hidden: Array, goes_on: Array, drive: Array
) -> tuple[Array, tuple[Any, ...]]:
    memories, pull_back = jax.vjp(
        lambda hidden, drive, added: _scan(weight, bias, hidden, goes_on, drive, added),
        hidden,
        drive,
        jnp.zeros_like(drive),
    )
    earlier = jnp.concatenate([hidden[None], memories[:-1]])
    return memories, (pull_back, jnp.where(goes_on[..., None], earlier, 0))


def _along_backward(kept: tuple[Any, ...], slope: Array) -> tuple[Array | None, ...]:
    pull_back, before = kept
    hidden, drive, added = pull_back(slope)
    weight = jnp.einsum("tng,tnd->gd", added, before)
    bias = added[..., -before.shape[-1] :].sum(axis=(0, 1))
    return weight, bias, hidden, None, drive


_along.defvjp(_along_forward, _along_backward)


class GRUPolicy(RecurrentPolicy):
    """Softmax of a tanh layer on the state of a `HistoryEncoder`; starts near uniform."""

    encoder: HistoryEncoder
    layers: Layers

    def __init__(
        self,
        *,
        width: int,
        encoding: Encoding,
        key: Key[Array, ""],
        orthogonal: bool = False,
        keep_bias: Number = 0.0,
    ):
        """`width` is that of the recurrent state and of the layer on top."""
        encoder_key, layers_key = jax.random.split(key)
        self.encoder = HistoryEncoder(
            width=width,
            encoding=encoding,
            key=encoder_key,
            orthogonal=orthogonal,
            keep_bias=keep_bias,
        )
        layers = linear_layers(layers_key, width, width, encoding.head.size)
        self.layers = scale_last(layers, 0.01)

    @property
    def head(self) -> ActionHead:
        return self.encoder.encoding.head

    @property
    def memory_size(self) -> int:
        """That of the recurrent state."""
        return self.encoder.width

    def step(
        self,
        hidden: Float[Array, "*batch d"],
        observation: Shaped[Array, "*batch_and_observation"],
        previous_action: Shaped[Array, "*batch_and_action"],
        first: Bool[Array, "*batch"],
    ) -> tuple[Float[Array, "*batch d"], Float[Array, "*batch d"]]:
        hidden = self.encoder.step(hidden, observation, previous_action, first)
        return hidden, hidden

    def along(
        self,
        hidden: Float[Array, "N d"],
        observations: Shaped[Array, "T N *observation"],
        previous_actions: Shaped[Array, "T N *action"],
        first: Bool[Array, "T N"],
    ) -> tuple[Float[Array, "T N d"], Float[Array, "T N d"]]:
        after = self.encoder.along(hidden, observations, previous_actions, first)
        return after, after
