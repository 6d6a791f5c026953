"""A recurrence that is linear in its memory, so that a whole history is one parallel scan."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key, Shaped

from asmpg.policies._action_head import ActionHead
from asmpg.policies._networks import (
    Encoding,
    Layers,
    Number,
    apply_layers,
    apply_linear,
    linear_layers,
    scale_last,
)
from asmpg.policies._recurrent import RecurrentPolicy, history_inputs

_LAYERS = 2
_EPS = 1e-6


class MinGRULayer(eqx.Module):
    """A minimal gated recurrent unit (Feng et al., 2024), then a layer of tanh units, both added.

    ```
    z_t = sigmoid(W y_t + b),  h_t = (1 - z_t) h_{t-1} + z_t g(V y_t + c),  y_t = norm(x_t)
    x_t <- x_t + h_t,  x_t <- x_t + mlp(norm(x_t))
    ```

    with `g(v) = v + 1/2` for `v >= 0`, else `sigmoid(v)`, and `norm` the root mean square norm.
    Weights and biases start uniform in `+-1/sqrt(d)`, `b` less `keep_bias`.
    """

    gates: eqx.nn.Linear
    mlp: Layers
    norms: Float[Array, "2 d"]

    def __init__(self, width: int, *, key: Key[Array, ""], keep_bias: Number = 0.0):
        gates_key, mlp_key = jax.random.split(key)
        gates = eqx.nn.Linear(width, 2 * width, key=gates_key)
        assert gates.bias is not None
        bias = gates.bias.at[:width].add(-keep_bias)
        self.gates = eqx.tree_at(lambda gates: gates.bias, gates, bias)
        self.mlp = linear_layers(mlp_key, width, width, width)
        self.norms = jnp.ones((2, width))

    def drive(
        self, inputs: Float[Array, "*batch d"], first: Bool[Array, "*batch"]
    ) -> tuple[Float[Array, "*batch d"], Float[Array, "*batch d"]]:
        """`1 - z_t`, or zero where an episode starts, and what is added to the memory."""
        gates = apply_linear(self.gates, _norm(inputs, self.norms[0]))
        write, candidate = jnp.split(gates, 2, axis=-1)
        keep = jnp.where(first[..., None], 0, jax.nn.sigmoid(-write))
        return keep, jax.nn.sigmoid(write) * _positive(candidate)

    def features(
        self, inputs: Float[Array, "*batch d"], hidden: Float[Array, "*batch d"]
    ) -> Float[Array, "*batch d"]:
        """What the next layer reads."""
        outputs = inputs + hidden
        return outputs + apply_layers(self.mlp, _norm(outputs, self.norms[1]))


class MinGRUEncoder(eqx.Module):
    """Two minimal gated recurrent units, one on the other, that read `(O_t, A_{t-1})`.

    Gates depend on inputs alone. So the memory is linear in what it was, and along a history it
    is a prefix sum, of about `2 log T` steps in a row instead of `T`. The memories of both layers
    lie side by side, and start at zero with each episode.
    """

    inputs: eqx.nn.Linear
    layers: tuple[MinGRULayer, ...]
    norm: Float[Array, " d"]
    encoding: Encoding

    def __init__(
        self, *, width: int, encoding: Encoding, key: Key[Array, ""], keep_bias: Number = 0.0
    ):
        """`width` is the dimension of the memory of each layer."""
        inputs_key, *keys = jax.random.split(key, 1 + _LAYERS)
        size = encoding.observation_size + encoding.action_size
        self.inputs = eqx.nn.Linear(size, width, key=inputs_key)
        self.layers = tuple(MinGRULayer(width, key=key, keep_bias=keep_bias) for key in keys)
        self.norm = jnp.ones(width)
        self.encoding = encoding

    @property
    def memory_size(self) -> int:
        """The dimension of the memories of both layers."""
        return _LAYERS * len(self.norm)

    def step(
        self,
        hidden: Float[Array, "*batch m"],
        observation: Shaped[Array, "*batch_and_observation"],
        previous_action: Shaped[Array, "*batch_and_action"],
        first: Bool[Array, "*batch"],
    ) -> tuple[Float[Array, "*batch m"], Float[Array, "*batch d"]]:
        """The memory after `O_t`, and the features of the history."""
        seen = self._read(observation, previous_action, first)
        return self._through_layers(hidden, seen, first, _one_step)

    def along(
        self,
        hidden: Float[Array, "N m"],
        observations: Shaped[Array, "T N *observation"],
        previous_actions: Shaped[Array, "T N *action"],
        first: Bool[Array, "T N"],
    ) -> tuple[Float[Array, "T N m"], Float[Array, "T N d"]]:
        """What `step` gives at each of `T` observations."""
        seen = self._read(observations, previous_actions, first)
        return self._through_layers(hidden, seen, first, linear_recurrence)

    def _through_layers(
        self,
        hidden: Float[Array, "*batch m"],
        flow: Float[Array, "*times_and_batch d"],
        first: Bool[Array, "*times_and_batch"],
        recur: Callable[[Array, Array, Array], Array],
    ) -> tuple[Float[Array, "*times_and_batch m"], Float[Array, "*times_and_batch d"]]:
        """`recur(memory, keep, added)` are the memories of a layer."""
        after = []
        for layer, memory in zip(self.layers, jnp.split(hidden, _LAYERS, axis=-1), strict=True):
            keep, added = layer.drive(flow, first)
            after.append(recur(memory, keep, added))
            flow = layer.features(flow, after[-1])
        return jnp.concatenate(after, axis=-1), _norm(flow, self.norm)

    def _read(
        self,
        observation: Shaped[Array, "*batch_and_observation"],
        previous_action: Shaped[Array, "*batch_and_action"],
        first: Bool[Array, "*batch"],
    ) -> Float[Array, "*batch d"]:
        dtype = self.norm.dtype
        seen = history_inputs(self.encoding, observation, previous_action, first, dtype)
        return apply_linear(self.inputs, seen)


class MinGRUPolicy(RecurrentPolicy):
    """Softmax of a tanh layer on the features of a `MinGRUEncoder`; starts near uniform."""

    encoder: MinGRUEncoder
    layers: Layers

    def __init__(
        self, *, width: int, encoding: Encoding, key: Key[Array, ""], keep_bias: Number = 0.0
    ):
        """`width` is that of each recurrent layer and of the layer on top."""
        encoder_key, layers_key = jax.random.split(key)
        self.encoder = MinGRUEncoder(
            width=width, encoding=encoding, key=encoder_key, keep_bias=keep_bias
        )
        layers = linear_layers(layers_key, width, width, encoding.head.size)
        self.layers = scale_last(layers, 0.01)

    @property
    def head(self) -> ActionHead:
        return self.encoder.encoding.head

    @property
    def in_parallel(self) -> bool:
        """Yes."""
        return True

    @property
    def memory_size(self) -> int:
        """That of both recurrent layers."""
        return self.encoder.memory_size

    def step(
        self,
        hidden: Float[Array, "*batch m"],
        observation: Shaped[Array, "*batch_and_observation"],
        previous_action: Shaped[Array, "*batch_and_action"],
        first: Bool[Array, "*batch"],
    ) -> tuple[Float[Array, "*batch m"], Float[Array, "*batch d"]]:
        return self.encoder.step(hidden, observation, previous_action, first)

    def along(
        self,
        hidden: Float[Array, "N m"],
        observations: Shaped[Array, "T N *observation"],
        previous_actions: Shaped[Array, "T N *action"],
        first: Bool[Array, "T N"],
    ) -> tuple[Float[Array, "T N m"], Float[Array, "T N d"]]:
        return self.encoder.along(hidden, observations, previous_actions, first)


def _one_step(
    start: Float[Array, "*batch d"],
    keep: Float[Array, "*batch d"],
    added: Float[Array, "*batch d"],
) -> Float[Array, "*batch d"]:
    return keep * start + added


def linear_recurrence(
    start: Float[Array, "*batch"],
    keep: Float[Array, "T *batch"],
    added: Float[Array, "T *batch"],
    *,
    reverse: bool = False,
) -> Float[Array, "T *batch"]:
    """`h_t = keep_t h_{t-1} + added_t` for `t = 1, ..., T`, by a parallel scan.

    If `reverse`, `h_t = keep_t h_{t+1} + added_t`, and `start` comes after the last.
    """

    def follow(one: tuple[Array, Array], other: tuple[Array, Array]) -> tuple[Array, Array]:
        """The map `h -> keep h + added` of a stretch of time, and then that of the next."""
        return one[0] * other[0], other[0] * one[1] + other[1]

    edge = -1 if reverse else 0
    added = added.at[edge].add(keep[edge] * start)
    return jax.lax.associative_scan(follow, (keep, added), reverse=reverse)[1]


def _positive(inputs: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
    """`g`, which is continuous and above zero."""
    return jnp.where(inputs >= 0, inputs + 0.5, jax.nn.sigmoid(inputs))


def _norm(inputs: Float[Array, "*batch d"], scale: Float[Array, " d"]) -> Float[Array, "*batch d"]:
    """Divided by the root mean square, times `scale`."""
    square = jnp.mean(jnp.square(inputs), axis=-1, keepdims=True)
    return scale * inputs * jax.lax.rsqrt(square + _EPS)
