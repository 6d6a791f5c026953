"""How hard to look."""

import dataclasses


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
    rate_updates=(2000, 10_000),
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
