"""The exact objective on a non-Markovian process with its first two derivatives."""

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from asmpg.envs import NMDP
from asmpg.exact._history_value import history_value
from asmpg.policies import ASMPolicy


class HistoryDerivatives(eqx.Module):
    """`J`, `grad J` and `grad^2 J` in float64, in the order of `jax.flatten_util.ravel_pytree`."""

    value: float
    gradient: Float[np.ndarray, " d"]
    hessian: Float[np.ndarray, "d d"]


def history_derivatives(
    nmdp: NMDP, policy: ASMPolicy, *, discount: float = 1.0
) -> HistoryDerivatives:
    """Differentiate the recursion over histories twice, whatever the precision of `policy`."""
    arrays, rest = eqx.partition(policy, eqx.is_inexact_array)
    numbers = jax.tree.map(np.asarray, arrays)
    with jax.enable_x64(True):
        double = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float64), numbers)
        vector, unravel = jax.flatten_util.ravel_pytree(double)

        def value(vector: Float[Array, " d"]) -> Float[Array, ""]:
            tables = eqx.combine(unravel(vector), rest).tabulate()
            return history_value(nmdp, tables, discount=discount)

        @jax.jit
        def all_three(vector: Float[Array, " d"]) -> tuple[Array, Array, Array]:
            return (*jax.value_and_grad(value)(vector), jax.hessian(value)(vector))

        objective, gradient, hessian = all_three(vector)
        return HistoryDerivatives(float(objective), np.asarray(gradient), np.asarray(hessian))
