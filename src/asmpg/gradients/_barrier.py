"""How the coefficient of the log-barrier changes while learning."""

from typing import Literal

import jax.numpy as jnp
from jaxtyping import Array, Float

BarrierSchedule = Literal["constant", "linear"]


def barrier_at(
    first: float,
    progress: float | Float[Array, ""],
    *,
    schedule: BarrierSchedule,
    fade: float,
) -> float | Float[Array, ""]:
    """The coefficient after the share `progress` of a run.

    That is `first`, or a line from there to 0 at the share `fade`.

    The barrier adds a term to the objective. The estimate stays unbiased for the gradient of the
    sum; it is that of the return alone only where the coefficient is 0.
    """
    if schedule == "constant":
        return first
    return first * jnp.maximum(0.0, 1.0 - progress / fade)
