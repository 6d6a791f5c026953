"""A claim with what was measured, and how much is measured."""

import dataclasses
import math
from collections.abc import Iterable
from typing import Any, Literal

#: An identity has an error that must vanish; a bound must not be passed; a trend must go down; a
#: gap is a sentence of the paper that does not hold as it is written, shown by a number that
#: passes its limit.
Kind = Literal["identity", "bound", "trend", "gap"]
Verdict = Literal["holds", "fails", "gap"]


@dataclasses.dataclass(frozen=True)
class Curve:
    """What was measured, and the bound on it, over the number of updates."""

    updates: tuple[int, ...]
    measured: tuple[float, ...]
    bound: tuple[float, ...]


@dataclasses.dataclass(frozen=True)
class Row:
    """A claim, the statement behind it, what was measured, and what the paper predicts.

    `limit` is the prediction as a number: `measured` must not pass it.
    """

    claim: str
    statement: str
    what: str
    measured: float
    limit: float
    kind: Kind = "bound"
    note: str = ""
    curve: Curve | None = None

    @property
    def verdict(self) -> Verdict:
        """A gap that does not show is a failure as well: of this command, not of the paper."""
        if self.kind == "gap":
            return "gap" if self.measured > self.limit else "fails"
        return "holds" if self.measured <= self.limit else "fails"

    @property
    def looseness(self) -> float | None:
        """How many times the bound is larger than what was found; none if there is no bound."""
        if self.kind != "bound" or not self.measured > 0:
            return None
        return self.limit / self.measured

    def as_dict(self) -> dict[str, Any]:
        fields = dataclasses.asdict(self)
        return fields | {"verdict": self.verdict, "looseness": self.looseness}


def tightest(rows: Iterable[Row]) -> Row:
    """The row that comes nearest to its limit, or passes it by most."""

    def nearness(row: Row) -> float:
        ratio = row.measured / row.limit
        return math.inf if math.isnan(ratio) else ratio

    return max(rows, key=nearness)


@dataclasses.dataclass(frozen=True)
class Effort:
    """How much to run.

    - `seeds`: of the random processes for identities, and `run_seeds` of those for runs;
    - `horizon`, `discounted_horizon`, `climb_steps`, `starts`: for the searches;
    - `updates`, `runs`: of the training runs; `rate_updates`: where the slope is taken.
    """

    seeds: tuple[int, ...]
    run_seeds: tuple[int, ...]
    horizon: int
    discounted_horizon: int
    climb_steps: int
    starts: int
    updates: tuple[int, ...]
    rate_updates: tuple[int, ...]
    runs: int


QUICK = Effort(
    seeds=(0, 1),
    run_seeds=(1,),
    horizon=2,
    discounted_horizon=2,
    climb_steps=200,
    starts=8,
    updates=(10, 100, 1000),
    rate_updates=(1000, 5000),
    runs=20,
)
FULL = Effort(
    seeds=(0, 1, 2, 3, 4),
    run_seeds=(1, 2),
    horizon=3,
    discounted_horizon=4,
    climb_steps=500,
    starts=16,
    updates=(10, 30, 100, 300, 1000, 3000, 10_000),
    rate_updates=(1000, 10_000, 50_000),
    runs=100,
)
