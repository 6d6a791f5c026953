"""The value of a memory: a network that says what return is to come."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, Shaped

from asmpg.gradients._return_scale import ReturnScale
from asmpg.policies import (
    Layers,
    apply_layers,
    encode_action,
    encode_observation,
    linear_layers,
)


class MemoryValue(eqx.Module):
    """`V(m_{t-1}, a_{t-1}, o_t)` in units of a `ReturnScale`: two tanh layers and one output.

    `m` is what the policy remembers: the agent state, one-hot, or a belief over agent states. It
    is known before `(S_t, A_t)` is drawn. So `V`, fitted to returns of earlier batches and taken
    off the weights of this one, is a baseline that leaves the estimator unbiased.
    """

    layers: Layers
    observation_scale: tuple[float, ...] = eqx.field(static=True)
    num_actions: int = eqx.field(static=True)
    num_observations: int | None = eqx.field(static=True)

    def __init__(
        self,
        *,
        width: int,
        memory_size: int,
        num_actions: int,
        num_observations: int | None,
        observation_scale: tuple[float, ...] = (),
        key: Key[Array, ""],
    ):
        """`memory_size` is the length of `m`."""
        size = num_observations or len(observation_scale)
        self.layers = linear_layers(key, memory_size + num_actions + size, width, width, 1)
        self.observation_scale = observation_scale
        self.num_actions = num_actions
        self.num_observations = num_observations

    def __call__(
        self,
        remembered: Float[Array, "*batch m"],
        action: Int[Array, "*batch"],
        first: Bool[Array, "*batch"],
        observation: Shaped[Array, "*batch_and_observation"],
    ) -> Float[Array, "*batch"]:
        """The value; where `first`, there is nothing to remember and no action before."""
        real = self.layers[0].weight.dtype
        seen = encode_observation(
            observation,
            num_observations=self.num_observations,
            observation_scale=self.observation_scale,
            dtype=real,
        )
        done = encode_action(action, num_actions=self.num_actions, dtype=real)
        past = jnp.concatenate([jax.lax.stop_gradient(remembered).astype(real), done], axis=-1)
        inputs = jnp.concatenate([jnp.where(first[..., None], 0, past), seen], axis=-1)
        return apply_layers(self.layers, inputs)[..., 0]


def rescale_output(layers: Layers, before: ReturnScale, after: ReturnScale) -> Layers:
    """Layers whose output means the same in units of another scale.

    This is PopArt (van Hasselt et al., 2016): the last layer takes up the change of units.
    """
    *inner, last = layers
    assert last.bias is not None
    factor = before.spread / after.spread
    shift = (before.centre - after.centre) / after.spread
    return (
        *inner,
        eqx.tree_at(
            lambda layer: (layer.weight, layer.bias),
            last,
            (factor * last.weight, factor * last.bias + shift),
        ),
    )
