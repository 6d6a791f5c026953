"""How far a seed has come, and what it goes on from."""

import dataclasses

from asmpg.training._program import SeedState


@dataclasses.dataclass(frozen=True)
class Standing:
    """Evaluations so far and the last score; the same at the best evaluation."""

    evaluations: int = 0
    score: float | None = None
    best_evaluations: int = 0
    best_score: float | None = None

    def after(self, score: float) -> "Standing":
        """One evaluation later. Of equal scores the first is the best."""
        count = self.evaluations + 1
        if self.best_score is None or score > self.best_score:
            return Standing(count, score, count, score)
        return Standing(count, score, self.best_evaluations, self.best_score)

    @property
    def at_best(self) -> "Standing":
        """The standing at the best evaluation."""
        return Standing(
            self.best_evaluations, self.best_score, self.best_evaluations, self.best_score
        )

    @property
    def improved(self) -> bool:
        """Whether the last evaluation is the best."""
        return self.evaluations == self.best_evaluations


@dataclasses.dataclass(frozen=True)
class SavedSeed:
    """The last state of a seed, its best one, and its standing."""

    last: SeedState
    best: SeedState
    standing: Standing
