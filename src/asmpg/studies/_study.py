"""A study as plain data: environments, methods with options, seeds, steps."""

import dataclasses
import re
from collections.abc import Mapping
from typing import Any, Literal

from asmpg.runs import RunConfig

#: Whether scores are those of the episodes played, or computed exactly where that can be done.
Scores = Literal["sampled", "exact"]


class WrongKeyError(ValueError):
    """A key of a study has a value that is not accepted; `message` begins after its name."""

    def __init__(self, key: tuple[str, ...], message: str):
        super().__init__(f"{'.'.join(key)} {message}")
        self.key = key


@dataclasses.dataclass(frozen=True)
class Entry:
    """A method with options, under a name of its own; what is `None` is the study's."""

    name: str
    label: str
    method: str
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    steps: int | None = None
    evaluate_every: int | None = None
    evaluation_episodes: int | None = None
    greedy: bool | None = None


@dataclasses.dataclass(frozen=True)
class Job:
    """One run of a study: an entry in an environment, with all seeds or some of them.

    `name` is its path below the `runs/` of the study.
    """

    name: str
    environment: str
    entry: str
    config: RunConfig


@dataclasses.dataclass(frozen=True)
class Study:
    """Every entry in every environment, for each seed.

    Jobs have all seeds together, or `seeds_per_job` of them: what is run does not depend on the
    machine, so that a study can be continued elsewhere. `imports` are the modules that register the
    user's own environments and methods.
    """

    name: str
    environments: tuple[str, ...]
    entries: tuple[Entry, ...]
    seeds: tuple[int, ...]
    description: str = ""
    environment_options: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    steps: int = 1_000_000
    evaluate_every: int = 10_000
    evaluation_episodes: int = 100
    greedy: bool = False
    seeds_per_job: int | None = None
    scores: Scores = "sampled"
    imports: tuple[str, ...] = ()

    def entry(self, name: str) -> Entry:
        return next(entry for entry in self.entries if entry.name == name)

    def config(self, environment: str, entry: Entry, seeds: tuple[int, ...]) -> RunConfig:
        """What is run of `entry` in `environment`."""
        own = {
            name: getattr(self if getattr(entry, name) is None else entry, name)
            for name in ("steps", "evaluate_every", "evaluation_episodes", "greedy")
        }
        return RunConfig(
            environment,
            environment_options=self.environment_options.get(environment, {}),
            method=entry.method,
            method_options=entry.options,
            seeds=seeds,
            **own,
        )

    def jobs(self) -> list[Job]:
        size = self.seeds_per_job or len(self.seeds)
        groups = [self.seeds[begin : begin + size] for begin in range(0, len(self.seeds), size)]
        return [
            Job(
                f"{_folder_name(environment)}/{entry.name}"
                + (f"/{number}" if len(groups) > 1 else ""),
                environment,
                entry.name,
                self.config(environment, entry, seeds),
            )
            for environment in self.environments
            for entry in self.entries
            for number, seeds in enumerate(groups)
        ]

    def changed(self, *, seeds: tuple[int, ...] | None, steps: int | None) -> "Study":
        """The study with other seeds or steps; entries with fewer steps of their own keep them."""
        study = self if seeds is None else dataclasses.replace(self, seeds=seeds)
        if steps is None:
            return study
        entries = tuple(
            dataclasses.replace(entry, steps=entry.steps and min(entry.steps, steps))
            for entry in study.entries
        )
        return dataclasses.replace(study, steps=steps, entries=entries)

    def to_dict(self) -> dict[str, Any]:
        """As JSON or TOML can hold it; `read_study` is the opposite."""
        plain = {
            name: value for name, value in dataclasses.asdict(self).items() if value is not None
        }
        plain["entries"] = {
            entry.pop("name"): {name: value for name, value in entry.items() if value is not None}
            for entry in plain["entries"]
        }
        return plain


def _folder_name(environment: str) -> str:
    """A name as it is; the path of a file without its slashes."""
    return re.sub(r"[/\\:]+", "-", environment).strip("-")
