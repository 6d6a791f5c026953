"""When a seed stops before its last step: it has reached a score, or no longer improves."""

import math

from asmpg.runs import Row, RunConfig
from asmpg.training._callbacks import Score

#: Scores that differ by less are equal: rounding.
_ROUNDING = 1e-6


class StopRule:
    """Follows the evaluations of every seed of a run; each seed is judged by its own alone.

    The score is exact where that is known, else the mean over the episodes of the evaluation.
    """

    def __init__(self, config: RunConfig, score: Score):
        """The rule that `config` states, if any."""
        self._stop_at = config.stop_at
        self._patience = config.patience
        self._score = score
        self._best: dict[int, float] = {}
        self._without_improvement: dict[int, int] = {}

    @property
    def needs_scores(self) -> bool:
        """Whether any seed may stop before its last step."""
        return self._stop_at is not None or self._patience is not None

    def after(self, row: Row) -> str | None:
        """Why the seed stops after this evaluation, its next one; `None` if it continues."""
        if not self.needs_scores:
            return None
        exact = row[self._score.exact]
        value = row[self._score.name] if math.isnan(exact) else exact
        seed = int(row["seed"])
        best = self._best.get(seed, -math.inf)
        improved = best == -math.inf or value > best + _ROUNDING * abs(best)
        self._best[seed] = max(best, value)
        waited = 0 if improved else self._without_improvement[seed] + 1
        self._without_improvement[seed] = waited
        if self._stop_at is not None and value >= self._stop_at:
            return "stop_at"
        if self._patience is not None and waited >= self._patience:
            return "patience"
        return None
