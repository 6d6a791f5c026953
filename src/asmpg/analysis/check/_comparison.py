"""Does an environment need memory? PPO with and without one, for the same time."""

import contextlib
import dataclasses
import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import stats

from asmpg.interop import ResolvedEnvironment
from asmpg.runs import Row, RunConfig
from asmpg.training import Callback, train

WITH, WITHOUT = "asm-ppo", "memoryless-ppo"
_SEEDS = (1952, 5235, 8234, 8386)
_EPISODES = 20
_LAST = 3
_NO_END = 1_000_000_000


@dataclasses.dataclass(frozen=True)
class Comparison:
    """The discounted return of each seed after `steps` steps, with memory and without.

    Each is the mean of the last evaluations; `start` is the return of the untrained policies.
    """

    steps: int
    num_states: int
    with_memory: tuple[float, ...]
    without_memory: tuple[float, ...]
    start: float

    @property
    def difference(self) -> float:
        """With memory minus without."""
        return float(np.mean(self.with_memory) - np.mean(self.without_memory))

    @property
    def interval(self) -> tuple[float, float]:
        """A 95 % interval of the difference: Welch's, seeds being the sample."""
        groups = [np.asarray(group) for group in (self.with_memory, self.without_memory)]
        parts = [group.var(ddof=1) / len(group) for group in groups]
        error = math.sqrt(sum(parts))
        if error == 0:
            return self.difference, self.difference
        freedom = error**4 / sum(
            part**2 / (len(group) - 1) for part, group in zip(parts, groups, strict=True)
        )
        margin = float(stats.t.ppf(0.975, freedom)) * error
        return self.difference - margin, self.difference + margin

    @property
    def verdict(self) -> str:
        """The conclusion, in a sentence."""
        low, high = self.interval
        best = max(np.mean(self.with_memory), np.mean(self.without_memory))
        if low > 0:
            return "memory helps: with it the return is higher already"
        if best <= self.start + 0.01 * abs(self.start):
            return "neither has learned anything yet: compare for longer before you conclude"
        if high < 0:
            return "memory does not help so early: without it the return is higher at this point"
        return (
            "no difference yet: with and without memory are indistinguishable, within the "
            "interval; start with memoryless-ppo, or compare for longer"
        )


def compare(
    resolved: ResolvedEnvironment,
    config: RunConfig,
    *,
    seconds: float,
    num_states: int,
    mean_length: float | None,
) -> Comparison:
    """Train both for half of `seconds` each, compilation not counted."""
    per_evaluation = _EPISODES * (mean_length or resolved.interface.max_steps)
    every = max(2048, int(5 * per_evaluation))
    # Neither is shown latent states.
    options = {WITH: {"num_states": num_states, "critic": "history"}, WITHOUT: {}}
    rows = {
        method: _train(
            resolved,
            dataclasses.replace(
                config,
                method=method,
                method_options=options[method],
                steps=_NO_END,
                evaluate_every=every,
                evaluation_episodes=_EPISODES,
            ),
            seconds / 2,
        )
        for method in (WITH, WITHOUT)
    }
    curves = {
        method: [[row for row in found if row["seed"] == seed] for seed in _SEEDS]
        for method, found in rows.items()
    }
    common = min(len(curve) for group in curves.values() for curve in group)
    scores = {
        method: tuple(_score(curve[:common]) for curve in group) for method, group in curves.items()
    }
    untrained = [curve[0]["discounted_return"] for curve in curves[WITHOUT]]
    steps = int(curves[WITH][0][common - 1]["steps"])
    return Comparison(steps, num_states, scores[WITH], scores[WITHOUT], float(np.mean(untrained)))


def _score(curve: Sequence[Row]) -> float:
    last = curve[1:][-_LAST:] or curve
    return float(np.mean([row["discounted_return"] for row in last]))


def _train(resolved: ResolvedEnvironment, config: RunConfig, seconds: float) -> list[Row]:
    """On the host seeds are trained one after another, so each has its share of the time."""
    groups = [(seed,) for seed in _SEEDS] if resolved.source is not None else [_SEEDS]
    rows: list[Row] = []
    for seeds in groups:
        clock = _Clock(seconds / len(groups), seeds)
        one = dataclasses.replace(config, seeds=seeds)
        with contextlib.suppress(_TimeIsUpError):
            train(one, callbacks=[clock], verbose=0)
        rows += clock.rows
    return rows


class _TimeIsUpError(Exception):
    pass


class _Clock(Callback):
    """Ends the run once the time is up and every seed has been evaluated twice."""

    def __init__(self, seconds: float, seeds: Sequence[int]):
        self.rows: list[Row] = []
        self._seconds = seconds
        self._counts = dict.fromkeys(seeds, 0)
        self._began = math.inf

    def on_start(self, config: RunConfig, score: Any, latest: Mapping[int, Row]) -> None:
        del config, score, latest
        self._began = math.inf

    def on_compiled(self, seconds: float) -> None:
        del seconds
        self._began = time.monotonic()

    def on_evaluation(self, seed: int, row: Row) -> None:
        self.rows.append(row)
        self._counts[seed] += 1
        if time.monotonic() - self._began > self._seconds and min(self._counts.values()) > 1:
            raise _TimeIsUpError
