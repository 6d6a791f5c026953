"""When checkpoints are written."""

import time
from collections.abc import Sequence

from asmpg.runs import MetricsWriter, RunFolder, Which
from asmpg.training._seed_batches import Seat, SeedBatch

#: Checkpoints may take this share of the time.
_SHARE = 0.05
#: A guess, in seconds, at what writing takes for each seed; later it is measured.
_SECONDS_A_SEED = 0.01


class Checkpointer:
    """Keeps the checkpoints of some seeds up to date, often but not at any price.

    Between writing it rests, so that writing takes a twentieth of the time at most. What a killed
    process loses is what it did since; it is done again from the checkpoints.
    """

    def __init__(
        self, folders: Sequence[tuple[RunFolder, MetricsWriter]], batches: Sequence[SeedBatch]
    ):
        """Each run has its folder; what the seeds have reached by now need not be written."""
        self._folders = folders
        self._batches = batches
        self._written = {
            (seat, which): count
            for batch in batches
            for seat, status in zip(batch.seats, batch.statuses, strict=True)
            for which, count in (
                ("last", status.evaluations),
                ("best", status.best_evaluations),
            )
        }
        self._rest(_SECONDS_A_SEED * sum(len(batch.seats) for batch in batches))

    def write_if_due(self) -> None:
        """Write, unless it is too early."""
        if time.monotonic() >= self._rest_until:
            self.write()

    def write(self) -> None:
        """Write what is new: rows first, then best states, then last ones."""
        began = time.monotonic()
        for _, writer in self._folders:
            writer.sync()
        for batch in self._batches:
            self._write_batch(batch, "best")
            self._write_batch(batch, "last")
        self._rest(time.monotonic() - began)

    def _rest(self, seconds: float) -> None:
        """Rest in proportion to the `seconds` that writing takes."""
        self._rest_until = time.monotonic() + seconds * (1 / _SHARE - 1)

    def _write_batch(self, batch: SeedBatch, which: Which) -> None:
        statuses = batch.statuses if which == "last" else [s.at_best for s in batch.statuses]
        fresh = [
            self._written[seat, which] != status.evaluations
            for seat, status in zip(batch.seats, statuses, strict=True)
        ]
        if not any(fresh):
            return
        states = batch.split(batch.state if which == "last" else batch.best)
        for seat, state, status, new in zip(batch.seats, states, statuses, fresh, strict=True):
            if new:
                folder, writer = self._folders[seat.run]
                digest = writer.digest(seat.seed, status.evaluations)
                folder.save(seat.seed, which, state, status, digest)
                self._remember(seat, which, status.evaluations)

    def _remember(self, seat: Seat, which: Which, evaluations: int) -> None:
        self._written[seat, which] = evaluations
