"""A critic that is a baseline only: it never bootstraps, so it adds no bias."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int

from asmpg.experience import Experience
from asmpg.methods.critics._value import MemoryValue, ReturnScale, rescale_output

#: How much of what was known of the scale of returns is kept at each update.
_SCALE_MEMORY = 0.9


class BaselineCritic(eqx.Module):
    """`V(m_{t-1}, a_{t-1}, o_t)`, regressed on the returns to go of the episodes played so far."""

    value: MemoryValue
    scale: ReturnScale
    optimiser: optax.OptState

    @classmethod
    def fresh(
        cls, value: MemoryValue, *, learning_rate: float | Float[Array, ""]
    ) -> "BaselineCritic":
        """Nothing learned yet."""
        parameters = eqx.filter(value, eqx.is_inexact_array)
        return cls(value, ReturnScale.unknown(), optax.adam(learning_rate).init(parameters))

    def values(
        self, remembered: Float[Array, "T N m"], episodes: Experience
    ) -> Float[Array, "T N"]:
        """The return to go that is expected at each step, before `(S_t, A_t)` is drawn."""
        return self.scale.returns(self._raw(self.value, remembered, episodes))

    def fitted(
        self,
        remembered: Float[Array, "T N m"],
        episodes: Experience,
        returns: Float[Array, "T N"],
        *,
        learning_rate: float | Float[Array, ""],
        steps: int,
    ) -> "BaselineCritic":
        """Take `steps` steps of Adam towards `returns`, in units of their own scale."""
        running = episodes.valid
        scale = self.scale.updated(returns, running, memory=_SCALE_MEMORY)
        layers = rescale_output(self.value.layers, self.scale, scale)
        value = eqx.tree_at(lambda value: value.layers, self.value, layers)
        targets = (returns - scale.centre) / scale.spread

        def loss(value: MemoryValue) -> Float[Array, ""]:
            errors = jnp.square(self._raw(value, remembered, episodes) - targets)
            return 0.5 * jnp.sum(jnp.where(running, errors, 0.0)) / running.sum()

        def step(_: Int[Array, ""], carry: tuple[Any, Any]) -> tuple[Any, Any]:
            arrays, optimiser = carry
            value = eqx.combine(arrays, rest)
            descent, optimiser = optax.adam(learning_rate).update(
                eqx.filter_grad(loss)(value), optimiser
            )
            return eqx.filter(eqx.apply_updates(value, descent), eqx.is_array), optimiser

        arrays, rest = eqx.partition(value, eqx.is_array)
        arrays, optimiser = jax.lax.fori_loop(0, steps, step, (arrays, self.optimiser))
        return BaselineCritic(eqx.combine(arrays, rest), scale, optimiser)

    def _raw(
        self, value: MemoryValue, remembered: Float[Array, "T N m"], episodes: Experience
    ) -> Float[Array, "T N"]:
        past = episodes.past
        return value(remembered, past.action, past.first, episodes.observations)
