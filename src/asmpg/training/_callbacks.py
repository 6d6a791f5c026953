"""Callbacks of training, and the score that they are given."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from asmpg.environments import Environment
from asmpg.runs import Row, RunConfig


@dataclasses.dataclass(frozen=True)
class Score:
    """Where to find the score: among the metrics, sampled and exact, and among the yardsticks."""

    name: str
    exact: str
    yardstick: str

    @property
    def label(self) -> str:
        """The name, for display."""
        return self.name.replace("_", " ")


_SCORES = {
    "reward_per_step": Score("reward_per_step", "exact_reward_per_step", "reward_per_step"),
    "undiscounted_return": Score("undiscounted_return", "exact_undiscounted", "undiscounted"),
    "discounted_return": Score("discounted_return", "exact_discounted", "discounted"),
}


def score_of(environment: Environment[Any] | None) -> Score:
    """What `environment` declares; without one, as on the host, the default."""
    return _SCORES[Environment.score if environment is None else environment.score]


class Callback:
    """Receives everything that happens in a run; override any of its methods."""

    def on_start(self, config: RunConfig, score: Score, latest: Mapping[int, Row]) -> None:
        """Training starts; `latest` has the last row of each seed that is resumed from one."""

    def on_compile(self) -> None:
        """The program is being compiled."""

    def on_compiled(self, seconds: float) -> None:
        """The program has been compiled; environment steps begin."""

    def on_evaluation(self, seed: int, row: Row) -> bool | None:
        """A seed was evaluated. Return `False` to stop training before the rest of the run.

        Evaluations under way are finished and reported; a run on disk can be resumed.
        """

    def on_end(self, error: BaseException | None) -> None:
        """Training has ended: finished, or stopped by `error`."""


class Callbacks(Callback):
    """Passes everything on to several callbacks, in order."""

    def __init__(self, callbacks: Iterable[Callback]):
        self._callbacks = list(callbacks)

    def on_start(self, config: RunConfig, score: Score, latest: Mapping[int, Row]) -> None:
        for callback in self._callbacks:
            callback.on_start(config, score, latest)

    def on_compile(self) -> None:
        for callback in self._callbacks:
            callback.on_compile()

    def on_compiled(self, seconds: float) -> None:
        for callback in self._callbacks:
            callback.on_compiled(seconds)

    def on_evaluation(self, seed: int, row: Row) -> bool:
        """Pass it on to all; `False` if one of them says so."""
        # Not identity: numpy has a False of its own.
        said = [callback.on_evaluation(seed, row) for callback in self._callbacks]
        return all(answer is None or bool(answer) for answer in said)

    def on_end(self, error: BaseException | None) -> None:
        """Pass it on, the last one first."""
        for callback in reversed(self._callbacks):
            callback.on_end(error)
