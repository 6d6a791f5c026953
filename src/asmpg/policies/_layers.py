"""Linear layers in a row."""

from collections.abc import Callable
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

Activation = Literal["relu", "tanh"]
_ACTIVATIONS: dict[Activation, Callable[[Array], Array]] = {"relu": jax.nn.relu, "tanh": jnp.tanh}
Layers = tuple[eqx.nn.Linear, ...]


def linear_layers(key: Key[Array, ""], *sizes: int) -> Layers:
    """Layers of the given widths, inputs first; everything starts uniform in `+-1/sqrt(fan_in)`."""
    keys = jax.random.split(key, len(sizes) - 1)
    pairs = zip(sizes[:-1], sizes[1:], keys, strict=True)
    return tuple(eqx.nn.Linear(before, after, key=key) for before, after, key in pairs)


def apply_layers(
    layers: Layers, inputs: Float[Array, "*batch n"], activation: Activation = "tanh"
) -> Float[Array, "*batch m"]:
    """The layers one after another, with the activation between them."""
    for layer in layers[:-1]:
        inputs = _ACTIVATIONS[activation](apply_linear(layer, inputs))
    return apply_linear(layers[-1], inputs)


def apply_linear(
    layer: eqx.nn.Linear, inputs: Float[Array, "*batch n"]
) -> Float[Array, "*batch m"]:
    """`W x + b` for any batch of `x`."""
    outputs = inputs @ layer.weight.T
    return outputs if layer.bias is None else outputs + layer.bias


def scale_last(layers: Layers, factor: float) -> Layers:
    """The same layers, with the weights of the last one multiplied by `factor`."""
    *before, last = layers
    return (*before, eqx.tree_at(lambda layer: layer.weight, last, factor * last.weight))
