"""Memory probes: tasks whose answer is known, for tests and benchmarks, learned by the defaults."""

import dataclasses
from typing import Any

from asmpg.runs import RunConfig, default_seeds
from asmpg.training import TrainingResult


@dataclasses.dataclass(frozen=True)
class Probe:
    """A task, the fewest agent states that suffice for it, and the steps by which it is learned.

    `optimum` and `without_memory` are undiscounted returns.
    """

    label: str
    environment: str
    options: dict[str, Any]
    #: Without a window, as in the paper.
    fewest_states: int
    steps: int
    optimum: float
    without_memory: float

    @property
    def threshold(self) -> float:
        """Nine tenths of the way from what can be had without memory to the optimum."""
        return self.without_memory + 0.9 * (self.optimum - self.without_memory)

    def config(
        self, method: str = "asm-ppo", *, seeds: int, options: dict[str, Any] | None = None
    ) -> RunConfig:
        """The run of a method with its default options, but for those given."""
        return RunConfig(
            self.environment,
            environment_options=self.options,
            method=method,
            method_options=options or {},
            seeds=default_seeds(seeds),
            steps=self.steps,
            evaluate_every=self.steps,
            evaluation_episodes=10,
        )

    def values(self, result: TrainingResult) -> list[float]:
        """The value of each seed's policy at the end: exact, where it can be written down."""
        last = {
            row["seed"]: row.get("exact_undiscounted", row["undiscounted_return"])
            for row in result.rows
        }
        return list(last.values())


_LONG_CORRIDOR = {"length": 200, "max_steps": 1_000}
PROBES = (
    Probe("repeat after 1", "RepeatFirst", {"delay": 1}, 2, 10_000, 1.0, 0.0),
    Probe("repeat after 5", "RepeatFirst", {"delay": 5}, 2, 20_000, 1.0, 0.0),
    Probe("repeat after 20", "RepeatFirst", {"delay": 20}, 2, 40_000, 1.0, 0.0),
    Probe("T-maze of 10", "TMaze", {"length": 10}, 4, 40_000, 4.0, 1.95),
    Probe("T-maze of 50", "TMaze", {"length": 50}, 4, 100_000, 4.0, 1.95),
    Probe("T-maze of 200", "TMaze", _LONG_CORRIDOR, 4, 300_000, 4.0, 1.95),
    Probe("count modulo 3", "CountModulo", {}, 3, 100_000, 30.0, 1.0),
)
