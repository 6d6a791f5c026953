"""The value of a memory, in units of a scale that is found out while learning."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key, Shaped

from asmpg.policies import Encoding, Layers, apply_layers, linear_layers


class ReturnScale(eqx.Module):
    """Running mean and mean square of the critic's targets, recent ones counting more.

    Critics work in units of this scale, so that no reward is too large or too small for them.
    """

    mean: Float[Array, ""]
    square: Float[Array, ""]
    #: How much has been averaged, from 0 to 1: averages are divided by it.
    weight: Float[Array, ""]

    @classmethod
    def unknown(cls) -> "ReturnScale":
        """Before the first target: centre 0, spread 1, and a critic that says nothing."""
        return cls(jnp.zeros(()), jnp.zeros(()), jnp.zeros(()))

    def updated(
        self,
        targets: Float[Array, "T N"],
        valid: Bool[Array, "T N"],
        *,
        memory: float | Float[Array, ""],
    ) -> "ReturnScale":
        """Take in the valid ones of `targets`; what was known before keeps the share `memory`."""
        count = jnp.maximum(valid.sum(), 1)
        mean, square = (
            jnp.sum(jnp.where(valid, part, 0.0)) / count for part in (targets, targets**2)
        )
        return ReturnScale(
            memory * self.mean + (1 - memory) * mean,
            memory * self.square + (1 - memory) * square,
            memory * self.weight + (1 - memory),
        )

    @property
    def centre(self) -> Float[Array, ""]:
        """The mean of targets."""
        return jnp.where(self.weight > 0, self.mean / jnp.maximum(self.weight, 1e-8), 0.0)

    @property
    def spread(self) -> Float[Array, ""]:
        """Their standard deviation, at least a hundredth of their size."""
        square = self.square / jnp.maximum(self.weight, 1e-8)
        variance = jnp.maximum(square - self.centre**2, 1e-4 * square + 1e-12)
        return jnp.where(self.weight > 0, jnp.sqrt(variance), 1.0)

    def returns(self, values: Float[Array, "*batch"]) -> Float[Array, "*batch"]:
        """What a critic says, in units of the rewards; 0 before their size is known."""
        return jnp.where(self.weight > 0, self.centre + self.spread * values, 0.0)


class MemoryValue(eqx.Module):
    """`V(m_{t-1}, a_{t-1}, o_t)` in units of a `ReturnScale`: two tanh layers and one output.

    `m` is what the policy remembers: the agent state, one-hot, or a belief over agent states. It
    is known before `(S_t, A_t)` is drawn. So `V`, fitted to returns of earlier batches and taken
    off the weights of this one, is a baseline that leaves the estimator unbiased.
    """

    layers: Layers
    encoding: Encoding

    def __init__(
        self,
        *,
        width: int,
        memory_size: int,
        encoding: Encoding,
        key: Key[Array, ""],
    ):
        """`memory_size` is the length of `m`."""
        size = memory_size + encoding.action_size + encoding.observation_size
        self.layers = linear_layers(key, size, width, width, 1)
        self.encoding = encoding

    def __call__(
        self,
        remembered: Float[Array, "*batch m"],
        action: Shaped[Array, "*batch_and_action"],
        first: Bool[Array, "*batch"],
        observation: Shaped[Array, "*batch_and_observation"],
    ) -> Float[Array, "*batch"]:
        """The value; where `first`, there is nothing to remember and no action before."""
        real = self.layers[0].weight.dtype
        seen = self.encoding.observation(observation, real)
        done = self.encoding.action(action, real)
        past = jnp.concatenate([jax.lax.stop_gradient(remembered).astype(real), done], axis=-1)
        inputs = jnp.concatenate([jnp.where(first[..., None], 0, past), seen], axis=-1)
        return apply_layers(self.layers, inputs)[..., 0]


def rescale_output(layers: Layers, before: ReturnScale, after: ReturnScale) -> Layers:
    """Layers whose output means the same in units of another scale, if `before` is known.

    This is PopArt (van Hasselt et al., 2016): the last layer takes up the change of units.
    """
    *inner, last = layers
    assert last.bias is not None
    known = before.weight > 0
    factor = jnp.where(known, before.spread / after.spread, 1.0)
    shift = jnp.where(known, (before.centre - after.centre) / after.spread, 0.0)
    return (
        *inner,
        eqx.tree_at(
            lambda layer: (layer.weight, layer.bias),
            last,
            (factor * last.weight, factor * last.bias + shift),
        ),
    )
