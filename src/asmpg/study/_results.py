"""What the runs of a study came to: the score of every seed at every evaluation."""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from asmpg._check import check_number, check_one_of
from asmpg._errors import CheckpointError
from asmpg._files import naming, read_json
from asmpg.envs import make
from asmpg.study._study import Job, Study
from asmpg.study._study_folder import StudyFolder, write_text
from asmpg.study._yardstick_lines import KNOWN_BY, Line, goal, yardstick_lines
from asmpg.training import Row, RunFolder, Score, score_of


@dataclasses.dataclass(frozen=True)
class Curves:
    """An entry in an environment: the seeds that are whole, one row of scores each.

    `steps` are those asked for; a seed overshoots them by a part of an update.
    """

    seeds: tuple[int, ...]
    steps: Float[np.ndarray, " evaluations"]
    scores: Float[np.ndarray, "seeds evaluations"]

    @property
    def final(self) -> Float[np.ndarray, " seeds"]:
        """The score of each seed at its last evaluation."""
        return self.scores[:, -1]

    @property
    def best(self) -> Float[np.ndarray, " seeds"]:
        """The score of each seed at its best evaluation."""
        return self.scores.max(axis=1)


@dataclasses.dataclass(frozen=True)
class Results:
    """The curves by environment and entry, what they are measured in, and what by."""

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
    """Read the runs of a study; damaged ones and seeds not at their end do not count."""
    study = folder.study
    environments = {
        name: make(name, **study.environment_options.get(name, {})) for name in study.environments
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
    joined = {
        key: Curves(
            tuple(seed for part in own for seed in part.seeds),
            own[0].steps,
            np.concatenate([part.scores for part in own]),
        )
        for key, own in parts.items()
    }
    lines = {name: _lines(folder, environments[name], scores[name]) for name in environments}
    return Results(study, scores, lines, joined, tuple(missing))


def _read(folder: StudyFolder, job: Job, score: Score) -> Curves | None:
    run = folder.run_path(job)
    if not (run / "config.json").is_file():
        return None
    by_seed: dict[int, list[Row]] = {}
    for row in RunFolder(run).rows():
        by_seed.setdefault(int(row["seed"]), []).append(row)
    steps = job.config.evaluation_steps
    whole = [seed for seed in job.config.seeds if len(by_seed.get(seed, ())) == len(steps)]
    if not whole:
        return None
    exact = folder.study.scores == "exact" and not np.isnan(by_seed[whole[0]][0][score.exact])
    name = score.exact if exact else score.name
    table = [[float(row[name]) for row in by_seed[seed]] for seed in whole]
    return Curves(tuple(whole), np.asarray(steps, float), np.asarray(table))


def _lines(folder: StudyFolder, environment: Any, score: Score) -> dict[str, Line]:
    """The yardsticks, computed once for each study: some take seconds."""
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
    return Line(check_number("value", value), check_one_of("kind", kind, tuple(KNOWN_BY)))
