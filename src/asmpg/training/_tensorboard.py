"""Logs for TensorBoard."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from asmpg.runs import Row, RunConfig
from asmpg.training._callbacks import Callback
from asmpg.training._score import Score


class TensorBoardLogger(Callback):
    """Writes every metric of every seed, each seed into a sub-folder of its own.

    A run that is resumed hides what was logged beyond the step it goes on from.
    """

    def __init__(self, folder: str | Path):
        """Raises an `ImportError` where tensorboardX is missing."""
        try:
            import tensorboardX
        except ImportError:
            raise ImportError(
                'TensorBoard logs need tensorboardX: pip install "asmpg[tensorboard]"'
            ) from None
        self._make_writer = tensorboardX.SummaryWriter
        self._folder = Path(folder)
        self._writers: dict[int, Any] = {}

    def on_start(self, config: RunConfig, score: Score, latest: Mapping[int, Row]) -> None:
        """Open a log for each seed."""
        for seed in config.seeds:
            done = latest.get(seed)
            self._writers[seed] = self._make_writer(
                str(self._folder / f"seed-{seed}"),
                purge_step=None if done is None else int(done["steps"]) + 1,
            )

    def on_evaluation(self, seed: int, row: Row) -> None:
        """Log the row."""
        for name, value in row.items():
            if name not in ("seed", "steps") and not math.isnan(value):
                self._writers[seed].add_scalar(name, value, int(row["steps"]))

    def on_end(self, error: BaseException | None) -> None:
        """Close the logs."""
        for writer in self._writers.values():
            writer.close()
