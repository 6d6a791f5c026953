"""How networks are shown observations and actions."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Shaped


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
