"""What a policy with memory does along histories."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int


class ActionLaws(eqx.Module):
    """The laws of the actions along `N` histories of `T` steps, and the memories they came from."""

    #: `log p(a_t | history)` for every action.
    log_laws: Float[Array, "T N A"]
    #: What is remembered before each observation, and after each action.
    before: Float[Array, "T N F"]
    after: Float[Array, "T N F"]

    def log_probability(self, actions: Int[Array, "T N"]) -> Float[Array, "T N"]:
        """`log p(a_t | history)` of the actions played."""
        return jnp.take_along_axis(self.log_laws, actions[..., None], axis=-1)[..., 0]
