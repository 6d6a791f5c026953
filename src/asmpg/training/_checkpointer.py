"""When checkpoints are written."""

import collections
import contextlib
import dataclasses
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from asmpg.runs import Checkpoint, Contents, MetricsWriter, RunFolder, SeedStatus, Which
from asmpg.training._seed_batches import Seat, SeedBatch

#: Checkpoints may take this share of the time, before the last ones.
_SHARE = 0.02
#: A guess, in seconds, at what writing takes for each seed; later it is measured.
_SECONDS_A_SEED = 0.002
#: So many files are written at once, and so many are in memory.
_FILES_AT_ONCE, _FILES_IN_MEMORY = 24, 64


@dataclasses.dataclass(frozen=True)
class _File:
    """A checkpoint to be written."""

    seat: Seat
    which: Checkpoint
    contents: Contents
    status: SeedStatus
    #: Whether it is a best checkpoint that is the last one, too.
    also_last: bool = False


class Checkpointer:
    """Keeps the checkpoints of some seeds up to date, often but not at any price.

    Between writing it rests, so that writing takes a fiftieth of the time at most. What a killed
    process loses is what it did since; it is done again from the checkpoints. A seed whose last
    evaluation is its best one has a single file, by two names.
    """

    def __init__(
        self,
        folders: Sequence[tuple[RunFolder, MetricsWriter]],
        batches: Sequence[SeedBatch],
        keep_every: int | None = None,
    ):
        """Each run has its folder; what the seeds have reached by now need not be written.

        One checkpoint in every `keep_every` steps is kept for good.
        """
        self._keep_every = keep_every
        self._folders = folders
        self._batches = batches
        self._folders_made = False
        self._written: dict[tuple[Seat, Checkpoint], int] = {}
        for batch in batches:
            for seat, status in zip(batch.seats, batch.statuses, strict=True):
                self._written[seat, "last"] = status.evaluations
                self._written[seat, "best"] = status.best_evaluations
        self._rest(_SECONDS_A_SEED * sum(len(batch.seats) for batch in batches))

    def make_folders(self) -> None:
        """Make the folders of all seeds, unless that was done, before there is much to write."""
        if not self._folders_made:
            for folder, _ in self._folders:
                folder.make_seed_folders()
            self._folders_made = True

    def write_if_due(self) -> None:
        """Write, unless it is too early."""
        if time.monotonic() >= self._rest_until:
            self.write(at_rest=False)

    def write(self, *, at_rest: bool = True) -> None:
        """Write what is new: rows first, then best states, then last ones.

        `at_rest`, no chunk is being computed.
        """
        began = time.monotonic()
        for _, writer in self._folders:
            writer.sync()
        self._save_fresh("best", at_rest=at_rest)
        self._save_fresh("last", at_rest=at_rest)
        self._rest(time.monotonic() - began)

    def keep(self, batch: SeedBatch, before: Sequence[SeedStatus]) -> None:
        """Write checkpoints to keep, if one is due since the seeds were where they were `before`.

        That is so at the first evaluation in every `keep_every` steps.
        """
        every = self._keep_every
        if every is None:
            return
        due = [
            place
            for place, (now, was) in enumerate(zip(batch.statuses, before, strict=True))
            if now.steps // every > was.steps // every
        ]
        contents = batch.contents(batch.state, due)
        self._save_all(
            _File(batch.seats[place], batch.statuses[place].steps, each, batch.statuses[place])
            for place, each in zip(due, contents, strict=True)
        )

    def _rest(self, seconds: float) -> None:
        """Rest in proportion to the `seconds` that writing takes."""
        self._rest_until = time.monotonic() + seconds * (1 / _SHARE - 1)

    def _save_fresh(self, which: Which, *, at_rest: bool) -> None:
        """Write what was not written yet."""
        self._save_all(
            file for batch in self._batches for file in self._fresh(batch, which, at_rest=at_rest)
        )

    def _fresh(self, batch: SeedBatch, which: Which, *, at_rest: bool) -> Iterator[_File]:
        statuses = batch.statuses
        if which == "best":
            statuses = [s if s.improved else s.at_best for s in statuses]
        fresh = [
            place
            for place, (seat, status) in enumerate(zip(batch.seats, statuses, strict=True))
            if self._written[seat, which] != status.evaluations
        ]
        state = batch.state if which == "last" else batch.best
        contents = batch.contents(state, fresh, at_rest=at_rest)
        for place, each in zip(fresh, contents, strict=True):
            also_last = which == "best" and batch.statuses[place].improved
            yield _File(batch.seats[place], which, each, statuses[place], also_last)

    def _save_all(self, files: Iterable[_File]) -> None:
        # Disks take their time to say that a file is safe, and as much time for many files at once.
        with ThreadPoolExecutor(_FILES_AT_ONCE) as pool:
            waiting: collections.deque[Future[None]] = collections.deque()
            for file in files:
                waiting.append(pool.submit(self._save, file))
                if len(waiting) > _FILES_IN_MEMORY:
                    waiting.popleft().result()
            while waiting:
                waiting.popleft().result()

    def _save(self, file: _File) -> None:
        seat, status = file.seat, file.status
        folder, writer = self._folders[seat.run]
        digest = writer.digest(seat.seed, status.evaluations)
        folder.save(seat.seed, file.which, file.contents, status, digest)
        self._written[seat, file.which] = status.evaluations
        if file.also_last:
            # Where a file cannot have two names, it is written again like any other.
            with contextlib.suppress(OSError):
                folder.save_best_as_last(seat.seed)
                self._written[seat, "last"] = status.evaluations
