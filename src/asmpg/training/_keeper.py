"""When checkpoints are written."""

import time
from collections.abc import Sequence

from asmpg.training._lanes import Lane
from asmpg.training._metrics import MetricsWriter
from asmpg.training._run_folder import RunFolder, Which

#: Checkpoints may take this share of the time.
_SHARE = 0.05
#: A guess, in seconds, at what writing takes for each seed; later it is measured.
_SECONDS_A_SEED = 0.01


class Keeper:
    """Keeps the checkpoints of some lanes up to date, often but not at any price.

    Between writing it rests, so that writing takes a twentieth of the time at most. What a killed
    process loses is what it did since; it is done again from the checkpoints.
    """

    def __init__(self, folder: RunFolder, lanes: Sequence[Lane], rows: MetricsWriter):
        """What the lanes stand at now need not be written."""
        self._folder = folder
        self._lanes = lanes
        self._rows = rows
        self._written = {
            (seed, which): count
            for lane in lanes
            for seed, standing in zip(lane.seeds, lane.standings, strict=True)
            for which, count in (
                ("last", standing.evaluations),
                ("best", standing.best_evaluations),
            )
        }
        self._rest(_SECONDS_A_SEED * sum(len(lane.seeds) for lane in lanes))

    def write_if_due(self) -> None:
        """Write, unless it is too early."""
        if time.monotonic() >= self._rest_until:
            self.write()

    def write(self) -> None:
        """Write what is new: rows first, then best states, then last ones."""
        began = time.monotonic()
        self._rows.sync()
        for lane in self._lanes:
            self._write_lane(lane, "best")
            self._write_lane(lane, "last")
        self._rest(time.monotonic() - began)

    def _rest(self, seconds: float) -> None:
        """Rest in proportion to the `seconds` that writing takes."""
        self._rest_until = time.monotonic() + seconds * (1 / _SHARE - 1)

    def _write_lane(self, lane: Lane, which: Which) -> None:
        standings = lane.standings if which == "last" else [s.at_best for s in lane.standings]
        counts = [standing.evaluations for standing in standings]
        fresh = [
            self._written[seed, which] != count
            for seed, count in zip(lane.seeds, counts, strict=True)
        ]
        if not any(fresh):
            return
        states = lane.split(lane.state if which == "last" else lane.best)
        for seed, state, standing, new in zip(lane.seeds, states, standings, fresh, strict=True):
            if new:
                digest = self._rows.digest(seed, standing.evaluations)
                self._folder.save(seed, which, state, standing, digest)
                self._written[seed, which] = standing.evaluations
