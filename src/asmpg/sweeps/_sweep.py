"""A sweep as plain data: what all trials share, what each option may be, and how to search."""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from asmpg.runs import RunConfig
from asmpg.studies import Entry, Study, folder_name
from asmpg.sweeps._dimensions import Dimension

How = Literal["grid", "random", "optuna"]
#: The last evaluation, the highest one, or the mean over all steps.
Objective = Literal["final", "best", "area"]


@dataclasses.dataclass(frozen=True)
class Trial:
    """One choice of the options that are swept; those of a `batch` are chosen together."""

    number: int
    batch: int
    options: Mapping[str, Any]

    @property
    def name(self) -> str:
        return f"{self.number:04}"


@dataclasses.dataclass(frozen=True)
class Sweep:
    """What is searched, and how.

    `study` has what all trials share, and one entry with the options that are not swept. Trials
    are compared after each of `rungs`, numbers of steps, and only the share `keep` of them goes on;
    without rungs all of them have all `steps`. Up to `abreast` trials that differ in numbers only
    are one program. Optuna is asked for a `batch` of trials at a time. With several environments,
    `ranges` has the scores that count as 0 and as 1 in each.
    """

    study: Study
    dimensions: Mapping[str, Dimension]
    how: How = "random"
    trials: int = 20
    objective: Objective = "final"
    rungs: tuple[int, ...] = ()
    keep: float = 0.5
    abreast: int = 8
    batch: int = 8
    sampler_seed: int = 0
    ranges: Mapping[str, tuple[float, float]] = dataclasses.field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.study.name

    @property
    def entry(self) -> Entry:
        """The method, with the options that are not swept."""
        return self.study.entries[0]

    @property
    def ends(self) -> tuple[int, ...]:
        """The steps after which trials are compared; the last are those of a whole run."""
        return (*self.rungs, self.study.steps)

    def options(self, trial: Trial) -> dict[str, Any]:
        """All options of the method in a trial."""
        return {**self.entry.options, **trial.options}

    def config(self, environment: str, trial: Trial) -> RunConfig:
        """What is run of a trial in an environment, to its end."""
        entry = dataclasses.replace(self.entry, options=self.options(trial))
        return self.study.config(environment, entry, self.study.seeds)

    def job(self, environment: str, trials: Sequence[Trial], until: int) -> "TrialJob":
        """Trials that differ in numbers only, trained side by side up to a number of steps."""
        return TrialJob(
            f"{folder_name(environment)}/{trials[0].name}-{until}",
            environment,
            until,
            tuple(trials),
            tuple(self.config(environment, trial) for trial in trials),
        )


@dataclasses.dataclass(frozen=True)
class TrialJob:
    """Some trials in an environment, up to `until` steps."""

    name: str
    environment: str
    until: int
    trials: tuple[Trial, ...]
    configs: tuple[RunConfig, ...]

    @property
    def entry(self) -> str:
        return self.environment

    @property
    def config(self) -> RunConfig:
        return self.configs[0]

    @functools.cached_property
    def due(self) -> tuple[int, ...]:
        """The steps at which evaluations are due."""
        return (*(at for at in self.config.evaluation_steps if at < self.until), self.until)

    @property
    def evaluations(self) -> int:
        return len(self.due) * len(self.config.seeds) * len(self.trials)

    @property
    def work(self) -> float:
        return float(self.until * len(self.config.seeds) * len(self.trials))
