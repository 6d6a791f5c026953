"""What can listen to training."""

from collections.abc import Iterable, Mapping

from asmpg.runs import Row, RunConfig
from asmpg.training._score import Score


class Callback:
    """Hears of everything that happens in a run; every method may be left out."""

    def on_start(self, config: RunConfig, score: Score, latest: Mapping[int, Row]) -> None:
        """Training begins; `latest` has the last row of each seed that goes on from one."""

    def on_compile(self) -> None:
        """The program is being compiled."""

    def on_compiled(self, seconds: float) -> None:
        """The program was compiled; environment steps begin."""

    def on_evaluation(self, seed: int, row: Row) -> None:
        """A seed was evaluated."""

    def on_end(self, error: BaseException | None) -> None:
        """Training is over: all done, or stopped by `error`."""


class Callbacks(Callback):
    """Passes everything on to several, in order."""

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

    def on_evaluation(self, seed: int, row: Row) -> None:
        for callback in self._callbacks:
            callback.on_evaluation(seed, row)

    def on_end(self, error: BaseException | None) -> None:
        """Pass it on, the last one first."""
        for callback in reversed(self._callbacks):
            callback.on_end(error)
