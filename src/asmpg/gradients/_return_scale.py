"""The scale of returns, found out while learning."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


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
        """Before the first target: centre 0, spread 1."""
        return cls(jnp.zeros(()), jnp.zeros(()), jnp.zeros(()))

    def updated(
        self, targets: Float[Array, "T N"], valid: Bool[Array, "T N"], *, memory: float
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
