"""Linear layers in a row, and how networks are shown observations and actions."""

import math
from collections.abc import Callable
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key, Shaped

from asmpg.policies._action_head import ActionHead
from asmpg.policies._heads import Categorical

#: A hyperparameter: a float, or an array where it must not be compiled in.
Number = float | Float[Array, ""]
Activation = Literal["relu", "tanh"]
_ACTIVATIONS: dict[Activation, Callable[[Array], Array]] = {"relu": jax.nn.relu, "tanh": jnp.tanh}
Layers = tuple[eqx.nn.Linear, ...]
InitialWeights = Literal["uniform", "orthogonal", "small-last-layer"]
INITIAL_WEIGHTS: tuple[InitialWeights, ...] = ("uniform", "orthogonal", "small-last-layer")
#: What a small last layer is multiplied by at the start.
_SMALL = 0.01


def linear_layers(
    key: Key[Array, ""], *sizes: int, initial_weights: InitialWeights = "uniform"
) -> Layers:
    """Layers of the given widths, inputs first; they start as `linear_layer` says."""
    keys = jax.random.split(key, len(sizes) - 1)
    pairs = zip(sizes[:-1], sizes[1:], keys, strict=True)
    last = len(sizes) - 2
    return tuple(
        linear_layer(key, *pair, initial_weights=initial_weights, last=place == last)
        for place, (*pair, key) in enumerate(pairs)
    )


def linear_layer(
    key: Key[Array, ""],
    before: int,
    after: int,
    *,
    initial_weights: InitialWeights = "uniform",
    last: bool = False,
) -> eqx.nn.Linear:
    """One layer, the `last` of its network or not.

    - `"uniform"`: weights and biases uniform in `+-1/sqrt(fan_in)`, PyTorch's default;
    - `"orthogonal"`: orthogonal weights times `sqrt(2)`, in the last layer times 1; no biases;
    - `"small-last-layer"`: uniform, and the last layer a hundredth of that.
    """
    layer = eqx.nn.Linear(before, after, key=key)
    if initial_weights == "uniform" or (initial_weights == "small-last-layer" and not last):
        return layer
    if initial_weights == "small-last-layer":
        return jax.tree.map(lambda leaf: _SMALL * leaf, layer)
    draw = jax.nn.initializers.orthogonal(1.0 if last else math.sqrt(2))
    assert layer.bias is not None
    return eqx.tree_at(
        lambda layer: (layer.weight, layer.bias),
        layer,
        (draw(key, layer.weight.shape, layer.weight.dtype), jnp.zeros_like(layer.bias)),
    )


def apply_layers(
    layers: Layers, inputs: Float[Array, "*batch n"], activation: Activation = "tanh"
) -> Float[Array, "*batch m"]:
    """The layers one after another, with the activation between them."""
    for layer in layers[:-1]:
        inputs = activate(activation, apply_linear(layer, inputs))
    return apply_linear(layers[-1], inputs)


def activate(activation: Activation, values: Float[Array, "*batch n"]) -> Float[Array, "*batch n"]:
    """The non-linearity itself."""
    return _ACTIVATIONS[activation](values)


def apply_linear(
    layer: eqx.nn.Linear, inputs: Float[Array, "*batch n"]
) -> Float[Array, "*batch m"]:
    """`W x + b` for any batch of `x`."""
    outputs = inputs @ layer.weight.T
    return outputs if layer.bias is None else outputs + layer.bias


def zero_last(layers: Layers) -> Layers:
    """The same layers, with zeros in the last one: a network that says nothing yet."""
    return (*layers[:-1], jax.tree.map(jnp.zeros_like, layers[-1]))


def scale_last(layers: Layers, factor: Number) -> Layers:
    """The same layers, with the weights of the last one multiplied by `factor`."""
    *before, last = layers
    return (*before, eqx.tree_at(lambda layer: layer.weight, last, factor * last.weight))


#: So many standard deviations from the mean is the furthest that networks are shown.
MOST_DEVIATIONS = 10.0


class Normaliser(eqx.Module):
    """The running mean and variance of each component of real observations, all steps alike."""

    count: Float[Array, ""]
    mean: Float[Array, " n"]
    #: The sum of squared distances from the mean.
    square: Float[Array, " n"]

    @classmethod
    def unknown(cls, size: int) -> "Normaliser":
        """Before anything was seen."""
        return cls(jnp.zeros(()), jnp.zeros(size), jnp.zeros(size))

    def updated(
        self, observations: Float[Array, "T N n"], valid: Bool[Array, "T N"]
    ) -> "Normaliser":
        """Take in the observations of the valid steps (Chan et al., 1979)."""
        number = valid.sum(dtype=self.mean.dtype)
        at_least_one = jnp.maximum(number, 1)
        weight = valid[..., None]
        mean = jnp.sum(jnp.where(weight, observations, 0), axis=(0, 1)) / at_least_one
        spread = jnp.sum(jnp.where(weight, jnp.square(observations - mean), 0), axis=(0, 1))
        total = self.count + number
        share = number / jnp.maximum(total, 1)
        distance = mean - self.mean
        return Normaliser(
            total,
            self.mean + share * distance,
            self.square + spread + jnp.square(distance) * self.count * share,
        )

    @property
    def scale(self) -> Float[Array, " n"]:
        """The standard deviation; 1 before anything was seen."""
        variance = jnp.where(self.count > 1, self.square / jnp.maximum(self.count, 1), 1.0)
        return jnp.sqrt(variance + 1e-8)

    def __call__(self, observation: Float[Array, "*batch n"]) -> Float[Array, "*batch n"]:
        """Mean 0 and variance 1, and nothing beyond `MOST_DEVIATIONS`."""
        # Nothing is learned about it by gradient.
        mean, scale = jax.lax.stop_gradient((self.mean, self.scale))
        return jnp.clip((observation - mean) / scale, -MOST_DEVIATIONS, MOST_DEVIATIONS)


def with_observations(
    tree: Any, observations: Shaped[Array, "T N *observation"], valid: Bool[Array, "T N"]
) -> Any:
    """`tree` with every `Normaliser` in it having taken in the observations of the valid steps."""
    return jax.tree.map(
        lambda node: node.updated(observations, valid) if isinstance(node, Normaliser) else node,
        tree,
        is_leaf=lambda node: isinstance(node, Normaliser),
    )


class Encoding(eqx.Module):
    """How networks are shown observations and actions.

    Observations are one-hot, or real and divided by `observation_scale`, or, with a `normaliser`,
    by what it has seen; `num_observations` is `None` for real ones, and `observation_scale` then
    has a number for each component. Actions are as their `head` encodes them.
    """

    head: ActionHead = eqx.field(static=True)
    num_observations: int | None = eqx.field(static=True)
    observation_scale: tuple[float, ...] = eqx.field(static=True)
    normaliser: Normaliser | None

    def __init__(
        self,
        actions: ActionHead | int,
        num_observations: int | None,
        observation_scale: tuple[float, ...] = (),
        normaliser: Normaliser | None = None,
    ):
        """`actions` is a number of actions, or a head for other ones."""
        self.head = Categorical(actions) if isinstance(actions, int) else actions
        self.num_observations = num_observations
        self.observation_scale = observation_scale
        self.normaliser = normaliser

    @property
    def num_actions(self) -> int:
        """The number of actions, or 0 where they are not one of a few."""
        return self.head.n if isinstance(self.head, Categorical) else 0

    @property
    def observation_size(self) -> int:
        """How many numbers an observation becomes."""
        return self.num_observations or len(self.observation_scale)

    @property
    def action_size(self) -> int:
        """How many numbers an action becomes."""
        return self.head.code_size

    def observation(
        self, observation: Shaped[Array, "*batch_and_observation"], dtype: jnp.dtype
    ) -> Float[Array, "*batch n"]:
        """The code of any batch of observations."""
        if self.num_observations is not None:
            return jax.nn.one_hot(observation, self.num_observations, dtype=dtype)
        if self.normaliser is not None:
            return self.normaliser(observation).astype(dtype)
        return observation.astype(dtype) / jnp.asarray(self.observation_scale, dtype)

    def action(
        self, action: Shaped[Array, "*batch_and_action"], dtype: jnp.dtype
    ) -> Float[Array, "*batch A"]:
        """The code of any batch of actions."""
        return self.head.encode(action, dtype)
