"""Memory probes, with what solves them: tasks whose answer is known, for tests and benchmarks."""

import dataclasses
from typing import Any

from asmpg.training import RunConfig, TrainingResult, default_seeds

#: One set of options for all probes. Credit is short here (the gradient finds its way back through
#: the memory, not through the return), guessing must not become a habit too early, and the last
#: policy counts.
_OPTIONS = {
    "discount": 0.5,
    "entropy": 0.03,
    "decay": None,
    "critic": "memory",
}


@dataclasses.dataclass(frozen=True)
class Probe:
    """A task, the fewest agent states that suffice for it, and the steps it is given.

    `optimum` and `without_memory` are undiscounted returns; `stay` is how much agent states are
    inclined to stay as they are at the start.
    """

    label: str
    environment: str
    options: dict[str, Any]
    num_states: int
    stay: float
    steps: int
    optimum: float
    without_memory: float

    @property
    def threshold(self) -> float:
        """Nine tenths of the way from what can be had without memory to the optimum."""
        return self.without_memory + 0.9 * (self.optimum - self.without_memory)

    def config(self, method: str = "asm-ppo", *, seeds: int) -> RunConfig:
        """The run that solves it, or the same without memory."""
        options = dict(_OPTIONS)
        if method == "asm-ppo":
            options |= {"num_states": self.num_states, "stay": self.stay}
        return RunConfig(
            self.environment,
            environment_options=self.options,
            method=method,
            method_options=options,
            seeds=default_seeds(seeds),
            steps=self.steps,
            evaluate_every=self.steps,
            evaluation_episodes=10,
        )

    def values(self, result: TrainingResult) -> list[float]:
        """The exact value of each seed's policy at the end."""
        last = {row["seed"]: row["exact_undiscounted"] for row in result.rows}
        return list(last.values())


PROBES = (
    Probe("repeat after 1", "RepeatFirst", {"delay": 1}, 2, 2.0, 10_000, 1.0, 0.0),
    Probe("repeat after 5", "RepeatFirst", {"delay": 5}, 2, 4.0, 20_000, 1.0, 0.0),
    Probe("repeat after 20", "RepeatFirst", {"delay": 20}, 2, 4.0, 40_000, 1.0, 0.0),
    Probe("T-maze of 10", "TMaze", {"length": 10}, 4, 4.0, 60_000, 4.0, 1.95),
    Probe("T-maze of 50", "TMaze", {"length": 50}, 4, 5.0, 100_000, 4.0, 1.95),
    Probe("count modulo 3", "CountModulo", {}, 3, 0.0, 40_000, 30.0, 1.0),
)
