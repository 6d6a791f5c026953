"""How soon a seed is good, for good."""

import math
from typing import Any

import numpy as np
from jaxtyping import Float, Shaped


def steps_to(
    steps: Shaped[np.ndarray, " evaluations"],
    scores: Float[np.ndarray, " evaluations"],
    threshold: float,
    *,
    keep: bool = True,
) -> float:
    """The steps at the first evaluation with a score of at least `threshold`; infinite if none.

    With `keep`, all later evaluations must reach it as well.
    """
    reached: Any = scores >= threshold
    if keep:
        reached = np.logical_and.accumulate(reached[::-1])[::-1]
    return float(steps[np.argmax(reached)]) if reached.any() else math.inf
