"""Optuna's tree-structured Parzen estimator, asked for trials and told what became of others."""

import importlib
import warnings
from collections.abc import Sequence
from typing import Any

from asmpg.sweeps._dimensions import Choice, Dimension, Range
from asmpg.sweeps._results import TrialResult
from asmpg.sweeps._sweep import Sweep


def ask(
    sweep: Sweep, results: Sequence[TrialResult], *, count: int, batch: int
) -> list[dict[str, Any]]:
    """The options of `count` more trials, given the `results` of all earlier ones.

    Optuna keeps nothing: it is told everything each time, so that the folder of the sweep is the
    only truth. Trials that were stopped are pruned ones, with their scores at the rungs they
    reached; those that failed are pruned ones that reached none, which count as the worst.
    """
    optuna: Any = importlib.import_module("optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with warnings.catch_warnings():
        # Penalising what was asked for but not told yet is experimental there.
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        sampler = optuna.samplers.TPESampler(seed=sweep.sampler_seed + batch, constant_liar=True)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    distributions = {name: _distribution(optuna, each) for name, each in sweep.dimensions.items()}
    states = optuna.trial.TrialState
    for each in results:
        finished = each.failure is None and each.steps == sweep.ends[-1]
        study.add_trial(
            optuna.trial.create_trial(
                state=states.COMPLETE if finished else states.PRUNED,
                value=each.score if finished else None,
                params={
                    name: _told(sweep.dimensions[name], value)
                    for name, value in each.trial.options.items()
                },
                distributions=distributions,
                intermediate_values=dict(each.scores),
            )
        )
    asked = [study.ask(distributions).params for _ in range(count)]
    return [
        {name: _chosen(each, params[name]) for name, each in sweep.dimensions.items()}
        for params in asked
    ]


def _distribution(optuna: Any, dimension: Dimension) -> Any:
    kinds = optuna.distributions
    if isinstance(dimension, Range):
        if dimension.integer:
            return kinds.IntDistribution(int(dimension.low), int(dimension.high), log=dimension.log)
        return kinds.FloatDistribution(dimension.low, dimension.high, log=dimension.log)
    # Places, not values: Optuna takes no lists.
    return kinds.CategoricalDistribution(range(len(dimension.examples)))


def _told(dimension: Dimension, value: Any) -> Any:
    return dimension.values.index(value) if isinstance(dimension, Choice) else value


def _chosen(dimension: Dimension, param: Any) -> Any:
    if isinstance(dimension, Range):
        return dimension.number(param)
    return dimension.examples[param]
