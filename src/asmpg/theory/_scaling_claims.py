"""How the leading term of the bounds grows with the horizon."""

import math
from collections.abc import Callable

from asmpg.theory._constants import KernelBounds, joint_softmax_bounds
from asmpg.theory._rates import likely_bound
from asmpg.theory._row import Row

#: `r_max`, horizon or discount, and `G, M` to a constant.
Constant = Callable[[float, float, KernelBounds], float]


def horizon_exponent(
    beta: Constant,
    noise: Constant,
    *,
    claim: str,
    statement: str,
    exponent: float,
    sizes: tuple[float, float],
    horizon: Callable[[float], float],
) -> Row:
    """The exponent of the leading term for fixed `Delta_1`, between two large horizons.

    `sizes` are what `beta` and `noise` take, the horizon or the discount; `horizon` turns them
    into the length that counts.
    """
    bounds = joint_softmax_bounds()
    terms = [
        # With K this large only the term in 1 / sqrt K is left.
        likely_bound(beta(1.0, size, bounds), noise(1.0, size, bounds), 1.0, 10**60, delta=0.1)
        for size in sizes
    ]
    slope = math.log(terms[1] / terms[0]) / math.log(horizon(sizes[1]) / horizon(sizes[0]))
    return Row(
        claim,
        statement,
        f"distance of the exponent from {exponent:g}: exponent {slope:.4f}",
        abs(slope - exponent),
        0.01,
        kind="identity",
        note="for fixed Delta_1; Delta_1 may itself grow with the horizon",
    )
