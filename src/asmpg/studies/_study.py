"""A study as plain data: environments, methods with options, seeds, steps."""

import dataclasses
import fnmatch
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from asmpg.runs import RunConfig

#: Whether scores are those of the episodes played, or computed exactly where that can be done.
Scores = Literal["sampled", "exact"]


class WrongKeyError(ValueError):
    """A key of a study has a value that is not accepted; `message` begins after its name."""

    def __init__(self, key: tuple[str, ...], message: str):
        super().__init__(f"{'.'.join(key)} {message}")
        self.key = key
        self.message = message


@dataclasses.dataclass(frozen=True)
class Entry:
    """A method with options, under its own name; what is `None` is the study's."""

    name: str
    label: str
    method: str
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    steps: int | None = None
    evaluate_every: int | None = None
    evaluation_episodes: int | None = None
    greedy: bool | None = None


@dataclasses.dataclass(frozen=True)
class Published:
    """Published results, by environment, in its score; `source` says where they come from."""

    name: str
    label: str
    values: Mapping[str, float]
    source: str = ""


@dataclasses.dataclass(frozen=True)
class Claim:
    """The claim that the entry `ours` does better than each of `theirs`."""

    name: str
    label: str
    ours: str
    theirs: tuple[str, ...]

    @property
    def entries(self) -> tuple[str, ...]:
        return (self.ours, *self.theirs)


@dataclasses.dataclass(frozen=True)
class Job:
    """One run of a study: an entry in an environment, with all seeds or some of them.

    `name` is its path below the `runs/` of the study.
    """

    name: str
    environment: str
    entry: str
    config: RunConfig

    @property
    def evaluations(self) -> int:
        return len(self.config.seeds) * len(self.config.evaluation_steps)

    @property
    def work(self) -> float:
        return float(self.config.steps * len(self.config.seeds))


@dataclasses.dataclass(frozen=True)
class Study:
    """Every entry in every environment, for each seed.

    A job has all seeds, or `seeds_per_job` of them: what is run does not depend on the machine, so
    that a study can be continued elsewhere. A job has as many steps as the study, or fewer if its
    entry or `environment_steps` say so. `imports` are the modules that register the user's own
    environments and methods, or those of Gymnasium. `claims` are judged on all seeds and also,
    separately, on the `selection_seeds`, on which one may choose among entries, and on the others.
    """

    name: str
    environments: tuple[str, ...]
    entries: tuple[Entry, ...]
    seeds: tuple[int, ...]
    description: str = ""
    environment_options: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    steps: int = 1_000_000
    environment_steps: Mapping[str, int] = dataclasses.field(default_factory=dict)
    evaluate_every: int = 10_000
    evaluation_episodes: int = 100
    greedy: bool = False
    seeds_per_job: int | None = None
    scores: Scores = "sampled"
    imports: tuple[str, ...] = ()
    published: tuple[Published, ...] = ()
    claims: tuple[Claim, ...] = ()
    selection_seeds: tuple[int, ...] = ()

    def entry(self, name: str) -> Entry:
        return next(entry for entry in self.entries if entry.name == name)

    def config(self, environment: str, entry: Entry, seeds: tuple[int, ...]) -> RunConfig:
        """The configuration of `entry` in `environment`."""
        own = {
            name: getattr(self if getattr(entry, name) is None else entry, name)
            for name in ("steps", "evaluate_every", "evaluation_episodes", "greedy")
        }
        own["steps"] = min(own["steps"], self.environment_steps.get(environment, own["steps"]))
        return RunConfig(
            environment,
            environment_options=self.environment_options.get(environment, {}),
            method=entry.method,
            method_options=entry.options,
            seeds=seeds,
            **own,
        )

    def jobs(self) -> list[Job]:
        """All jobs; if seeds are divided among them, each is named after its first seed."""
        size = self.seeds_per_job or len(self.seeds)
        groups = [self.seeds[begin : begin + size] for begin in range(0, len(self.seeds), size)]
        return [
            Job(
                f"{folder_name(environment)}/{entry.name}"
                + (f"/{seeds[0]}" if self.seeds_per_job else ""),
                environment,
                entry.name,
                self.config(environment, entry, seeds),
            )
            for environment in self.environments
            for entry in self.entries
            for seeds in groups
        ]

    def changed(self, *, seeds: tuple[int, ...] | None, steps: int | None) -> "Study":
        """The study with other seeds or steps; where steps are already fewer, they are kept."""
        study = self if seeds is None else dataclasses.replace(self, seeds=seeds)
        if steps is None:
            return study
        entries = tuple(
            dataclasses.replace(entry, steps=entry.steps and min(entry.steps, steps))
            for entry in study.entries
        )
        return dataclasses.replace(study, steps=steps, entries=entries)

    def restricted(
        self, *, environments: Sequence[str] | None = None, entries: Sequence[str] | None = None
    ) -> "Study":
        """The part of the study with some of its environments or entries, in its own order.

        Both are names, or patterns such as `popgym-*Easy`; one that matches nothing is a
        `ValueError`. Claims are kept if all their entries are.
        """
        known = [entry.name for entry in self.entries]
        kept = _chosen("environments", environments, self.environments)
        names = _chosen("entries", entries, known)
        return dataclasses.replace(
            self,
            environments=kept,
            entries=tuple(entry for entry in self.entries if entry.name in names),
            environment_options=_only(self.environment_options, kept),
            environment_steps=_only(self.environment_steps, kept),
            published=tuple(
                dataclasses.replace(each, values=values)
                for each in self.published
                if (values := _only(each.values, kept))
            ),
            claims=tuple(claim for claim in self.claims if {*claim.entries} <= {*names}),
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain data for JSON or TOML; `read_study` is the inverse."""
        plain = {
            name: value for name, value in dataclasses.asdict(self).items() if value is not None
        }
        plain["entries"] = {
            entry.pop("name"): {name: value for name, value in entry.items() if value is not None}
            for entry in plain["entries"]
        }
        for key in ("published", "claims"):
            plain[key] = {each.pop("name"): each for each in plain[key]}
        return plain


def _chosen(name: str, wanted: Sequence[str] | None, known: Sequence[str]) -> tuple[str, ...]:
    """Those of `known` that one of the patterns `wanted` fits; all if none are given."""
    if wanted is None:
        return tuple(known)
    for pattern in wanted:
        if not fnmatch.filter(known, pattern):
            accepted = ", ".join(known)
            raise ValueError(f"{name} must be among {accepted}, or patterns, got {pattern!r}")
    return tuple(each for each in known if any(fnmatch.fnmatchcase(each, p) for p in wanted))


def _only(table: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: value for name, value in table.items() if name in names}


def folder_name(environment: str) -> str:
    """A name as it is; the path of a file without its slashes."""
    return re.sub(r"[/\\:]+", "-", environment).strip("-")
