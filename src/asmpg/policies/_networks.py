"""Linear layers in a row, and how networks are shown observations and actions."""

from collections.abc import Callable
from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, Shaped

#: A hyperparameter: a float, or an array where it must not be compiled in.
Number = float | Float[Array, ""]
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


def scale_last(layers: Layers, factor: Number) -> Layers:
    """The same layers, with the weights of the last one multiplied by `factor`."""
    *before, last = layers
    return (*before, eqx.tree_at(lambda layer: layer.weight, last, factor * last.weight))


class Encoding(NamedTuple):
    """Observations one-hot, or real and divided by `observation_scale`; actions one-hot.

    `num_observations` is `None` for real observations; `observation_scale` then has a number for
    each component.
    """

    num_actions: int
    num_observations: int | None
    observation_scale: tuple[float, ...] = ()

    @property
    def observation_size(self) -> int:
        """How many numbers an observation becomes."""
        return self.num_observations or len(self.observation_scale)

    def observation(
        self, observation: Shaped[Array, "*batch_and_observation"], dtype: jnp.dtype
    ) -> Float[Array, "*batch n"]:
        """The code of any batch of observations."""
        if self.num_observations is not None:
            return jax.nn.one_hot(observation, self.num_observations, dtype=dtype)
        return observation.astype(dtype) / jnp.asarray(self.observation_scale, dtype)

    def action(self, action: Int[Array, "*batch"], dtype: jnp.dtype) -> Float[Array, "*batch A"]:
        """The code of any batch of actions."""
        return jax.nn.one_hot(action, self.num_actions, dtype=dtype)
