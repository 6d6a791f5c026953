"""Score and Hessian of softmax kernels, searched for their largest values."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from asmpg.theory._climb import climb, curvature, random_starts, spectral_norm
from asmpg.theory._constants import KernelBounds
from asmpg.theory._kernel_family import KernelFamily
from asmpg.theory._row import Row

_STATEMENT = {
    "joint": "Lemma on softmax ASM policies",
    "tabular": "remark after Assumption 1; derived here",
}
#: A supremum that is approached at infinity is met up to rounding.
_ROUNDING = 1 + 1e-12


@dataclasses.dataclass(frozen=True)
class _LogKernel:
    """`log pi` of the first outcome on the first input."""

    family: KernelFamily

    def __call__(self, parameters: Float[Array, " d"]) -> Float[Array, ""]:
        tables = self.family.policy(parameters).tabulate()
        return tables.log_nu[0, 0, 0] + tables.log_phi[0, 0, 0, 0]


def softmax_claims(
    family: KernelFamily, *, steps: int, starts: int = 16, bounds: KernelBounds | None = None
) -> list[Row]:
    """`|grad log pi| <= G` and `|grad^2 log pi| <= M`, both by gradient ascent on `theta`.

    All rows and outcomes of a table are alike, so one of them is enough.
    """
    bounds = bounds or family.bounds
    log_pi = _LogKernel(family)

    def score(parameters: Float[Array, " d"]) -> Float[Array, ""]:
        return jnp.linalg.norm(jax.grad(log_pi)(parameters))

    def bend(both: Float[Array, "2 d"]) -> Float[Array, ""]:
        return -curvature(log_pi, both[0], both[1])

    size = family.num_parameters
    scores, _ = climb(score, random_starts(np.zeros(size), starts=starts, seed=0), steps=steps)
    bends, points = climb(
        bend, random_starts(np.zeros((2, size)), starts=starts, seed=1), steps=steps
    )
    found = spectral_norm(log_pi, np.asarray(points)[bends.argmax(), 0])
    return [
        Row(
            f"score of a {family.title} <= G",
            _STATEMENT[family.kind],
            "largest |grad log pi| found",
            float(scores.max()),
            bounds.score * _ROUNDING,
        ),
        Row(
            f"Hessian of a {family.title} <= M",
            _STATEMENT[family.kind],
            "largest |grad^2 log pi| found",
            found,
            bounds.hessian,
            note="the supremum is 1/2",
        ),
    ]
