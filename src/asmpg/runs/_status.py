"""How far a seed has come, which of its policies is the best, and what it resumes from."""

import dataclasses
import math
from typing import Any

#: A policy is worse than another if its mean return is, by this many standard errors of each.
_CLEARLY = 2.0
#: Exact values that differ by less are equal: rounding.
_ROUNDING = 1e-6


@dataclasses.dataclass(frozen=True)
class SeedStatus:
    """Evaluations and steps so far and the last value; the same at the best evaluation.

    A value is the return that is optimised: exact where that is known, else the mean over the
    episodes of the evaluation. `proven` is the largest that an evaluation showed beyond its noise.
    A seed that `stopped` before its last step has the option's name that made it stop here.
    """

    evaluations: int = 0
    steps: int = 0
    value: float | None = None
    best_evaluations: int = 0
    best_steps: int = 0
    best_value: float | None = None
    proven: float | None = None
    stopped: str | None = None

    def after(
        self, steps: int, value: float, error: float, stopped: str | None = None
    ) -> "SeedStatus":
        """One evaluation later, which found `value` with standard error `error`.

        It is the best so far unless it is clearly worse than an earlier one: of policies that the
        noise of evaluation cannot tell apart the latest is taken, not the luckiest.
        """
        count = self.evaluations + 1
        # The mean of a single episode has no standard error: nothing is proven by it.
        noise = math.inf if math.isnan(error) else _CLEARLY * error
        lower = value - noise
        proven = self.proven
        if math.isfinite(lower) and (proven is None or lower > proven):
            proven = lower
        if proven is None or value + noise >= proven - _ROUNDING * abs(proven):
            return SeedStatus(count, steps, value, count, steps, value, proven, stopped)
        best = (self.best_evaluations, self.best_steps, self.best_value)
        return SeedStatus(count, steps, value, *best, proven, stopped)

    @property
    def at_best(self) -> "SeedStatus":
        """The status at the best evaluation."""
        best = (self.best_evaluations, self.best_steps, self.best_value)
        return SeedStatus(*best, *best)

    @property
    def improved(self) -> bool:
        """Whether the last evaluation is the best."""
        return self.evaluations == self.best_evaluations


@dataclasses.dataclass(frozen=True)
class SavedSeed:
    """The last state of a seed, its best one, and its status."""

    last: Any
    best: Any
    status: SeedStatus
