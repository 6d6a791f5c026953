"""Which trials there are, which of them go on, and which run side by side."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from asmpg.sweeps._optuna import ask
from asmpg.sweeps._results import Status, TrialResult, collect_trials
from asmpg.sweeps._sweep import Sweep, Trial, TrialJob
from asmpg.sweeps._sweep_folder import SweepFolder


def plan_next(folder: SweepFolder) -> bool:
    """Plan the jobs that come next, from nothing but what is on disk; `False` if all is done.

    Trials that are stopped at a rung are those that are not among the best share `keep` of all that
    have come so far. So the same sweep makes the same choices, however often it was interrupted.
    """
    sweep = folder.sweep
    trials = _known(folder)
    while True:
        folder.plan(trials, [])
        results = collect_trials(folder)
        for batch in sorted({trial.batch for trial in trials}):
            jobs = _next_jobs(folder, results, batch)
            if jobs:
                folder.plan(trials, jobs)
                return True
        if len(trials) >= sweep.trials:
            return False
        trials = [*trials, *_ask(sweep, results)]


def statuses(sweep: Sweep, results: Sequence[TrialResult]) -> list[Status]:
    """How each trial stands."""
    going = {
        end: {
            each.trial.number
            for batch in {result.trial.batch for result in results}
            for each in _going_on(sweep, results, batch, end)
        }
        for end in sweep.rungs
    }

    def status(each: TrialResult) -> Status:
        if each.failure is not None:
            return "failed"
        if each.steps == sweep.ends[-1]:
            return "finished"
        stopped = each.steps in going and each.trial.number not in going[each.steps]
        return "stopped" if stopped else "unfinished"

    return [status(each) for each in results]


def _known(folder: SweepFolder) -> list[Trial]:
    """All trials of a grid or of a random search; those that Optuna was asked for so far."""
    sweep = folder.sweep
    if sweep.how == "optuna":
        return folder.trials
    if sweep.how == "grid":
        values = [dimension.grid() for dimension in sweep.dimensions.values()]
        chosen = [
            dict(zip(sweep.dimensions, each, strict=True)) for each in itertools.product(*values)
        ]
    else:
        chosen = [_draw(sweep, number) for number in range(sweep.trials)]
    return [Trial(number, 0, options) for number, options in enumerate(chosen)]


def _draw(sweep: Sweep, number: int) -> dict[str, Any]:
    """The options of a trial, whatever the others are."""
    generator = np.random.default_rng([sweep.sampler_seed, number])
    return {name: each.draw(generator) for name, each in sweep.dimensions.items()}


def _ask(sweep: Sweep, results: Sequence[TrialResult]) -> list[Trial]:
    """The next batch of trials."""
    first = len(results)
    batch = 1 + max((each.trial.batch for each in results), default=-1)
    asked = ask(sweep, results, count=min(sweep.batch, sweep.trials - first), batch=batch)
    return [Trial(first + place, batch, options) for place, options in enumerate(asked)]


def _next_jobs(folder: SweepFolder, results: Sequence[TrialResult], batch: int) -> list[TrialJob]:
    """What is to be done of a batch at its next rung; nothing if it is complete."""
    sweep = folder.sweep
    alive = [each for each in results if each.trial.batch == batch]
    for end in sweep.ends:
        unfinished = [each for each in alive if each.failure is None and end not in each.scores]
        if unfinished:
            return _jobs(folder, [each.trial for each in alive], end)
        alive = _going_on(sweep, results, batch, end)
    return []


def _going_on(
    sweep: Sweep, results: Sequence[TrialResult], batch: int, end: int
) -> list[TrialResult]:
    """The trials of a batch that are among the best of those up to it after `end` steps."""
    compared = [each for each in results if each.trial.batch <= batch and end in each.scores]
    ranked = sorted(compared, key=lambda each: -each.scores[end])
    best = {each.trial.number for each in ranked[: math.ceil(sweep.keep * len(ranked))]}
    return [each for each in results if each.trial.number in best and each.trial.batch == batch]


def _jobs(folder: SweepFolder, trials: Sequence[Trial], until: int) -> list[TrialJob]:
    """Trials that are one program together, as many as the sweep has abreast."""
    sweep, jobs = folder.sweep, []
    for environment in sweep.study.environments:
        groups: list[tuple[Any, list[Trial]]] = []
        for trial in trials:
            try:
                kind = _structure(sweep, environment, trial)
            except (ValueError, TypeError) as error:
                folder.fail(environment, trial, error)
                continue
            same = next((own for known, own in groups if known == kind), None)
            if same is None:
                groups.append((kind, [trial]))
            else:
                same.append(trial)
        for _, own in groups:
            jobs += [
                sweep.job(environment, own[begin : begin + sweep.abreast], until)
                for begin in range(0, len(own), sweep.abreast)
            ]
    return jobs


def _structure(sweep: Sweep, environment: str, trial: Trial) -> Any:
    """What trials share that are one program: all of the method but its numbers."""
    method = sweep.config(environment, trial).make_method()
    return jax.tree.structure(method), method.return_discount == 1
