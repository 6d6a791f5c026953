"""The results of a sweep: the score of every trial, as far as it came."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from jaxtyping import Float

from asmpg.analysis import SeedCurve, seed_curves
from asmpg.analysis.statistics import interquartile_mean, mean_over_steps
from asmpg.environments import make
from asmpg.interop import is_on_host
from asmpg.runs import RunFolder
from asmpg.sweeps._sweep import Objective, Sweep, Trial
from asmpg.sweeps._sweep_folder import SweepFolder
from asmpg.training import Score, score_of

#: Done to the end, not among the best at a rung, come to nothing, or still on its way.
Status = Literal["finished", "stopped", "failed", "unfinished"]


@dataclasses.dataclass(frozen=True)
class TrialResult:
    """A trial and its score at each of the sweep's `ends` that it has reached.

    The score is the interquartile mean over seeds of what the sweep's objective says, in its range
    if the environment has one, averaged over environments. `seeds` are the scores of the seeds in
    each environment at the last end that was reached.
    """

    trial: Trial
    scores: Mapping[int, float]
    seeds: Mapping[str, Float[np.ndarray, " seeds"]]
    failure: str | None = None

    @property
    def steps(self) -> int:
        """The steps at which the trial was compared with others the last time."""
        return max(self.scores, default=0)

    @property
    def score(self) -> float:
        """The score there; NaN if it was never compared."""
        return self.scores.get(self.steps, math.nan)


def collect_trials(folder: SweepFolder) -> list[TrialResult]:
    """Read the runs of all trials."""
    measures = {name: _measure(folder.sweep, name) for name in folder.sweep.study.environments}
    return [_read(folder, trial, measures) for trial in folder.trials]


def best_trial(sweep: Sweep, results: Sequence[TrialResult]) -> TrialResult | None:
    """The trial with the highest score of those that were run to the end; the first of several."""
    whole = [each for each in results if each.steps == sweep.ends[-1] and each.failure is None]
    return max(whole, key=lambda each: each.score, default=None)


def _measure(sweep: Sweep, environment: str) -> Score:
    if is_on_host(environment):
        return score_of(None)
    options = sweep.study.environment_options.get(environment, {})
    return score_of(make(environment, **options))


def _read(folder: SweepFolder, trial: Trial, measures: Mapping[str, Score]) -> TrialResult:
    sweep = folder.sweep
    failures = (folder.failure(environment, trial) for environment in measures)
    failure = next((reason for reason in failures if reason is not None), None)
    if failure is not None:
        return TrialResult(trial, {}, {}, failure)
    curves = {name: _curves(folder, name, trial, score) for name, score in measures.items()}
    scores, seeds = {}, {}
    for end in sweep.ends:
        if not all(folder.reached(name, trial, end) for name in measures):
            break
        seeds = {
            name: np.asarray([_value(sweep.objective, each, end) for each in own])
            for name, own in curves.items()
        }
        scores[end] = float(np.mean([_in_range(sweep, name, own) for name, own in seeds.items()]))
    return TrialResult(trial, scores, seeds)


def _curves(folder: SweepFolder, environment: str, trial: Trial, score: Score) -> list[SeedCurve]:
    """The scores of each seed: exact where that is known."""
    run = folder.run_path(environment, trial)
    rows = RunFolder(run).rows() if (run / "config.json").is_file() else []
    exact = bool(rows) and not math.isnan(rows[0][score.exact])
    return list(seed_curves(rows, score.exact if exact else score.name).values())


def _value(objective: Objective, curve: SeedCurve, end: int) -> float:
    """What the objective says of a curve up to its first evaluation at `end` steps or more."""
    count = int(np.searchsorted(curve.steps, end)) + 1
    steps, scores = curve.steps[:count], curve.scores[:count]
    if objective == "area":
        return mean_over_steps(steps, scores)
    return float(scores.max() if objective == "best" else scores[-1])


def _in_range(sweep: Sweep, environment: str, seeds: Float[np.ndarray, " seeds"]) -> float:
    low, high = sweep.ranges.get(environment, (0.0, 1.0))
    return (float(interquartile_mean(seeds)) - low) / (high - low)
