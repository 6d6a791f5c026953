"""Tabular softmax policies."""

import equinox as eqx
import jax
from jaxtyping import Array, Float, Key

from asmpg.policies._kernel_tables import KernelTables


class TabularPolicy(eqx.Module):
    """Factored tabular softmax: one logit for every entry of `KernelTables`."""

    nu_start_logits: Float[Array, "O S"]
    nu_logits: Float[Array, "S A O S"]
    phi_logits: Float[Array, "S A"]

    @classmethod
    def random(
        cls,
        key: Key[Array, ""],
        *,
        num_states: int,
        num_actions: int,
        num_observations: int,
        nu_scale: float = 1.0,
        phi_scale: float = 1.0,
    ) -> "TabularPolicy":
        """Independent normal logits with the given standard deviations."""
        start_key, nu_key, phi_key = jax.random.split(key, 3)
        nu_shape = (num_states, num_actions, num_observations, num_states)
        return cls(
            nu_scale * jax.random.normal(start_key, (num_observations, num_states)),
            nu_scale * jax.random.normal(nu_key, nu_shape),
            phi_scale * jax.random.normal(phi_key, (num_states, num_actions)),
        )

    def tables(self) -> KernelTables:
        """The probabilities."""
        return KernelTables(
            jax.nn.softmax(self.nu_start_logits),
            jax.nn.softmax(self.nu_logits),
            jax.nn.softmax(self.phi_logits),
        )
