"""What policies of several kinds are worth in an environment: the lines to measure learning by."""

import dataclasses
from typing import Literal

#: How a value is known: computed exactly; on a grid, so nearly; the best of a search, so a lower
#: bound; or a simulation.
Kind = Literal["exact", "grid", "search", "simulation"]
#: What is put before a value of each kind: nearly, or at least.
KIND_MARKS: dict[str, str] = {"exact": "", "grid": "≈", "search": "≥", "simulation": "≈"}


@dataclasses.dataclass(frozen=True)
class Yardstick:
    """The best value of one kind of policy, each criterion optimised on its own.

    `standard_error` belongs to simulated values, in the order of the fields above it.
    `reward_per_step` is pooled, E[return] / E[length], and left out where it says nothing.
    """

    discounted: float
    undiscounted: float
    reward_per_step: float | None = None
    kind: Kind = "exact"
    standard_error: tuple[float, float] | None = None
    note: str = ""


@dataclasses.dataclass(frozen=True)
class Yardsticks:
    """The yardsticks of an environment, from what knows least to what knows most.

    Where a model is too large for an exact method, that yardstick is `None`.
    """

    random: Yardstick
    memoryless_deterministic: Yardstick | None
    memoryless: Yardstick
    history_optimal: Yardstick | None
    full_state: Yardstick


#: What each yardstick is called wherever it is shown.
YARDSTICK_LABELS = {
    "random": "uniformly random",
    "memoryless_deterministic": "best memoryless, deterministic",
    "memoryless": "best memoryless",
    "history_optimal": "history optimum",
    "full_state": "full state",
}
