"""Memory probes, with what solves them: tasks whose answer is known, for tests and benchmarks."""

import dataclasses
from typing import Any

from asmpg.runs import RunConfig, default_seeds
from asmpg.training import TrainingResult

#: What all probes have in common: a small critic is enough, and there is no need to slow down.
_COMMON = {"decay": None, "critic": "memory"}
#: Where nothing but the answer pays, whatever is done before it.
_ANSWER = {"discount": 0.99, "entropy_coefficient": 0.0}
#: Where every step pays. Credit is short (the gradient finds its way back through the memory, not
#: through the return), and guessing must not become a habit too early.
_EVERY_STEP = {"discount": 0.5, "entropy_coefficient": 0.03}


@dataclasses.dataclass(frozen=True)
class Probe:
    """A task, the fewest agent states that suffice for it, and what solves it.

    `optimum` and `without_memory` are undiscounted returns; `stay` is how much agent states are
    inclined to stay as they are at the start.
    """

    label: str
    environment: str
    options: dict[str, Any]
    num_states: int
    stay: float
    learning: dict[str, Any]
    steps: int
    optimum: float
    without_memory: float

    @property
    def threshold(self) -> float:
        """Nine tenths of the way from what can be had without memory to the optimum."""
        return self.without_memory + 0.9 * (self.optimum - self.without_memory)

    def config(self, method: str = "asm-ppo", *, seeds: int) -> RunConfig:
        """The run that solves it, or the same without memory."""
        options = {**_COMMON, **self.learning}
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
    Probe("repeat after 1", "RepeatFirst", {"delay": 1}, 2, 4.0, _ANSWER, 10_000, 1.0, 0.0),
    Probe("repeat after 5", "RepeatFirst", {"delay": 5}, 2, 4.0, _ANSWER, 20_000, 1.0, 0.0),
    Probe("repeat after 20", "RepeatFirst", {"delay": 20}, 2, 4.0, _ANSWER, 40_000, 1.0, 0.0),
    Probe("T-maze of 10", "TMaze", {"length": 10}, 4, 4.0, _EVERY_STEP, 60_000, 4.0, 1.95),
    Probe("T-maze of 50", "TMaze", {"length": 50}, 4, 7.0, _EVERY_STEP, 100_000, 4.0, 1.95),
    Probe("count modulo 3", "CountModulo", {}, 3, 0.0, _EVERY_STEP, 40_000, 30.0, 1.0),
)
