"""The results of a study: the score of every seed at every evaluation."""

import dataclasses
import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from asmpg._support.checks import check_number, check_one_of
from asmpg._support.errors import CheckpointError
from asmpg._support.files import naming, read_json
from asmpg.analysis._yardstick_lines import Line, goal, yardstick_lines
from asmpg.analysis.statistics import mean_over_steps
from asmpg.environments import make
from asmpg.exact import KIND_MARKS
from asmpg.interop import is_on_host
from asmpg.runs import MEMORY_MEASURES, Row, RunFolder
from asmpg.studies import Job, Study, StudyFolder, best_scores, write_text
from asmpg.training import Score, score_of


class SeedCurve(NamedTuple):
    """The evaluations of one seed: the environment steps it had taken, and its scores."""

    steps: Int[np.ndarray, " evaluations"]
    scores: Float[np.ndarray, " evaluations"]


def seed_curves(rows: Iterable[Row], name: str) -> dict[int, SeedCurve]:
    """The column `name` of the rows of `metrics.csv`, by seed; NaN where they have none."""
    by_seed: dict[int, list[Row]] = {}
    for row in rows:
        by_seed.setdefault(int(row["seed"]), []).append(row)
    return {
        seed: SeedCurve(
            np.asarray([int(row["steps"]) for row in own]),
            np.asarray([float(row.get(name, np.nan)) for row in own]),
        )
        for seed, own in by_seed.items()
    }


def common_grid(
    targets: Sequence[int], curves: Sequence[SeedCurve]
) -> tuple[Float[np.ndarray, " evaluations"], Float[np.ndarray, "seeds evaluations"]]:
    """The mean steps of all seeds at common evaluations, and their scores, for means over seeds.

    Updates are whole, so a seed overshoots the steps it is due at, and two of `targets` within one
    update have one evaluation. At each target a seed has the score of its first evaluation from
    there on, or its last; targets at which no seed has a new one are left out.
    """
    indices = np.stack(
        [np.minimum(np.searchsorted(each.steps, targets), len(each.steps) - 1) for each in curves]
    )
    new = (np.diff(indices, axis=1, prepend=-1) > 0).any(axis=0)
    pairs = [(each, own[new]) for each, own in zip(curves, indices, strict=True)]
    steps = np.stack([each.steps[own] for each, own in pairs])
    return steps.mean(axis=0), np.stack([each.scores[own] for each, own in pairs])


@dataclasses.dataclass(frozen=True)
class Curves:
    """An entry in an environment: its finished seeds, each with its evaluations.

    `targets` are the steps at which evaluations were due. `best` are the scores of each seed's best
    checkpoint on fresh episodes, `best_steps` the steps at which it was taken. `memory` has the
    curves of `MEMORY_MEASURES`, none for methods without agent states.
    """

    seeds: tuple[int, ...]
    targets: tuple[int, ...]
    own: tuple[SeedCurve, ...]
    best: Float[np.ndarray, " seeds"]
    best_steps: Int[np.ndarray, " seeds"]
    memory: Mapping[str, tuple[SeedCurve, ...]] = dataclasses.field(default_factory=dict)

    @property
    def final(self) -> Float[np.ndarray, " seeds"]:
        """The score of each seed at its last evaluation."""
        return np.asarray([each.scores[-1] for each in self.own])

    @property
    def area(self) -> Float[np.ndarray, " seeds"]:
        """The area under the curve of each seed, over its steps: its mean score while training."""
        return np.asarray([mean_over_steps(each.steps, each.scores) for each in self.own])

    @property
    def steps(self) -> Float[np.ndarray, " evaluations"]:
        """The mean steps of all seeds at common evaluations."""
        return self._grid[0]

    @property
    def scores(self) -> Float[np.ndarray, "seeds evaluations"]:
        """The scores of all seeds at common evaluations."""
        return self._grid[1]

    def memory_grid(
        self, measure: str
    ) -> tuple[Float[np.ndarray, " evaluations"], Float[np.ndarray, "seeds evaluations"]]:
        """The mean steps of all seeds at common evaluations, and one of `MEMORY_MEASURES`."""
        return common_grid(self.targets, self.memory[measure])

    @functools.cached_property
    def _grid(self) -> tuple[np.ndarray, np.ndarray]:
        return common_grid(self.targets, self.own)


@dataclasses.dataclass(frozen=True)
class Results:
    """The curves by environment and entry, the scores they are in, and yardsticks for these."""

    study: Study
    scores: Mapping[str, Score]
    yardsticks: Mapping[str, dict[str, Line]]
    curves: Mapping[tuple[str, str], Curves]
    missing: tuple[str, ...]

    def normalised(
        self, environment: str, values: Float[np.ndarray, "*any"]
    ) -> Float[np.ndarray, "*any"] | None:
        """0 for the random policy, 1 for the history optimum; `None` if they are not known."""
        ends = goal(self.yardsticks[environment])
        return None if ends is None else (values - ends[0]) / (ends[1] - ends[0])

    def entries(self, environment: str) -> list[str]:
        """The entries with results in `environment`, in the order of the study."""
        return [e.name for e in self.study.entries if (environment, e.name) in self.curves]

    @property
    def environments(self) -> list[str]:
        """The environments with results."""
        return [name for name in self.study.environments if self.entries(name)]


def collect(folder: StudyFolder) -> Results:
    """Read the runs of a study; damaged runs and unfinished seeds are left out."""
    study = folder.study
    environments = {
        name: None if is_on_host(name) else make(name, **study.environment_options.get(name, {}))
        for name in study.environments
    }
    scores = {name: score_of(environment) for name, environment in environments.items()}
    parts: dict[tuple[str, str], list[Curves]] = {}
    missing = []
    for job in study.jobs():
        try:
            curves = _read(folder, job, scores[job.environment])
        except CheckpointError:
            curves = None
        if curves is not None:
            parts.setdefault((job.environment, job.entry), []).append(curves)
        if curves is None or len(curves.seeds) < len(job.config.seeds):
            missing.append(job.name)
    joined = {key: _join(own) for key, own in parts.items()}
    lines = {
        name: {} if environment is None else _lines(folder, environment, scores[name])
        for name, environment in environments.items()
    }
    return Results(study, scores, lines, joined, tuple(missing))


def _read(folder: StudyFolder, job: Job, score: Score) -> Curves | None:
    run = folder.run_path(job)
    if not (run / "config.json").is_file():
        return None
    rows = RunFolder(run).rows()
    ends = {int(row["seed"]): row["steps"] for row in rows}
    whole = tuple(seed for seed in job.config.seeds if ends.get(seed, 0) >= job.config.steps)
    if not whole:
        return None
    known = next(row[score.exact] for row in rows if row["seed"] == whole[0])
    exact = folder.study.scores == "exact" and not np.isnan(known)
    name = score.exact if exact else score.name
    curves = seed_curves(rows, name)
    best = best_scores(folder, job, whole)
    return Curves(
        whole,
        job.config.evaluation_steps,
        tuple(curves[seed] for seed in whole),
        np.asarray([float(best[seed][name]) for seed in whole]),
        np.asarray([int(best[seed]["steps"]) for seed in whole]),
        memory_curves(rows, whole),
    )


def memory_curves(rows: Sequence[Row], seeds: Sequence[int]) -> dict[str, tuple[SeedCurve, ...]]:
    """Those of `MEMORY_MEASURES` that were measured, a curve for each of `seeds`."""
    known = {name: seed_curves(rows, name) for name in MEMORY_MEASURES}
    return {
        name: tuple(curves[seed] for seed in seeds)
        for name, curves in known.items()
        if not any(np.isnan(curves[seed].scores).any() for seed in seeds)
    }


def _join(parts: Sequence[Curves]) -> Curves:
    """The seeds of several jobs together."""
    return Curves(
        tuple(seed for part in parts for seed in part.seeds),
        parts[0].targets,
        tuple(each for part in parts for each in part.own),
        np.concatenate([part.best for part in parts]),
        np.concatenate([part.best_steps for part in parts]),
        {
            name: tuple(each for part in parts for each in part.memory[name])
            for name in MEMORY_MEASURES
            if all(name in part.memory for part in parts)
        },
    )


def _lines(folder: StudyFolder, environment: Any, score: Score) -> dict[str, Line]:
    """The yardsticks, computed once per study: some take seconds."""
    path = folder.path / "yardsticks.json"
    options = json.loads(json.dumps(environment.options()))
    known = read_lines(path, environment.name, options, score.name)
    if known is not None:
        return known
    lines = yardstick_lines(environment, score)
    values = {name: dataclasses.asdict(line) for name, line in lines.items()}
    entry = {"score": score.name, "options": options, "values": values}
    others = read_json(path) if path.exists() else {}
    write_text(path, json.dumps({**others, environment.name: entry}, indent=2) + "\n")
    return lines


def read_lines(
    path: Path, environment: str, options: dict[str, Any], score: str
) -> dict[str, Line] | None:
    """The yardsticks of `environment` in the file `path`, if those with these options are there."""
    entry = read_json(path).get(environment) if path.exists() else None
    if entry is None:
        return None
    with naming(path):
        if (entry["options"], entry["score"]) != (options, score):
            return None
        return {name: _line(**line) for name, line in entry["values"].items()}


def _line(value: Any, kind: Any) -> Line:
    return Line(check_number("value", value), check_one_of("kind", kind, tuple(KIND_MARKS)))
