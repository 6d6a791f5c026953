"""Training from the outside: Python over compiled chunks, from evaluation to evaluation."""

import contextlib
import dataclasses
import gc
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from typing import Any

import numpy as np

from asmpg._support.checks import check_integer, shown
from asmpg._support.compile_cache import use_compile_cache
from asmpg._support.devices import current_device, on_device
from asmpg._support.errors import NotFiniteError, TrainingError
from asmpg._support.interrupts import deferred_interrupt, worker_threads
from asmpg._support.machine import available_cores
from asmpg.interop import ResolvedEnvironment
from asmpg.methods import Method
from asmpg.runs import Row, RunConfig, SavedSeed, SeedStatus, columns, make_rows
from asmpg.training._callbacks import Callback, score_of
from asmpg.training._checkpointer import Checkpointer
from asmpg.training._host_seed import HostSeed
from asmpg.training._program import SeedState, build_program, compile_side_by_side
from asmpg.training._progress import Progress
from asmpg.training._result import TrainingResult
from asmpg.training._run import Run, open_folder
from asmpg.training._seed_batches import Chunk, CompiledSeed, Seat, SeedBatch, StackedSeeds
from asmpg.training._stopping import StopRule

#: How often, in seconds, the loop looks whether somebody asked to stop.
_PATIENCE = 0.2


def train(
    config: RunConfig,
    out: str | Path | None = None,
    *,
    resume: bool = False,
    callbacks: Iterable[Callback] = (),
    verbose: int = 1,
    device: Any = None,
    checkpoint_every: int | None = None,
    environment: object | None = None,
    method: Method[Any] | None = None,
    trust: bool = False,
    step_timeout: float | None = None,
) -> TrainingResult:
    """Train every seed of `config`, writing to the folder `out` if one is given.

    With `resume`, the run in `out` resumes from its checkpoints, and ends bit for bit as if it had
    never stopped. With more `steps` than it had, it continues up to those, and schedules follow the
    fraction of the longer run. `stop_at` and `patience` may differ from before.

    On CPUs each seed runs on its own, as many at a time as there are cores, so its results do not
    depend, in any bit, on the other seeds; on other devices, all seeds run in one program, and
    their number may change the last bits. If a process sees several GPUs, each trains an equal
    share of the seeds. The same seeds on the same kind of device are reproducible bit for bit, and
    so resume exactly; where networks are trained, the number of cores that a process may use is
    part of the kind. (The jobs of a study always have as many threads as it gives them.)

    The folder has the last checkpoint of each seed and that of its best evaluation. With
    `checkpoint_every`, the checkpoint of the first evaluation in every interval of this many steps
    is kept as well, for `asmpg.load(out, step=...)`.

    Compiled code runs on `device`: `"cpu"`, `"gpu"`, `"cuda:1"` or one of `jax.devices()`; by
    default JAX's.

    Progress is shown on standard error, unless one of the `callbacks` does so; `verbose=2` also
    prints every evaluation, and 0 shows nothing.

    Your own `environment` or `method` is part of `config`, or passed separately for a run on disk
    that knows it only by name. Gymnasium environments are stepped on the host, one seed after
    another; their episodes in progress cannot be saved, so a resumed run starts new ones. With
    `step_timeout`, the run ends if one of their steps takes more seconds than that.

    Compiled programs are cached in the user's cache folder, unless your program has set up JAX's
    compilation cache itself or `ASMPG_COMPILE_CACHE=off`.

    During training, the folder is locked, so that no other process can train there. A resumed run
    does not import the module in its environment's id, `module:Name-v0`, unless you `trust` it or
    have imported the module.

    Raises a `TrainingError` when a reward, an observation or a gradient is not a finite number, the
    environment raises or the folder is deleted, and a `KeyboardInterrupt` on Ctrl-C, once the
    chunks being computed are done and on disk; a second Ctrl-C does not wait for them.

    >>> asmpg.train(asmpg.RunConfig("CheeseMaze", steps=100_000), "runs/cheese")
    """
    use_compile_cache()
    config = config.with_objects(environment, method)
    with on_device(device):
        resolved = config.resolve(trust=trust or not resume).with_step_timeout(step_timeout)
        return train_together(
            [config],
            resolved,
            [out],
            resume=resume,
            callbacks=with_progress(callbacks, verbose),
            checkpoint_every=checkpoint_every,
        )[0]


def train_together(
    configs: Sequence[RunConfig],
    resolved: ResolvedEnvironment,
    outs: Sequence[str | Path | None],
    *,
    resume: bool = False,
    callbacks: Iterable[Callback] = (),
    starts: Mapping[int, SeedState] | None = None,
    checkpoint_every: int | None = None,
    until: int | None = None,
) -> list[TrainingResult]:
    """Train runs side by side that share their environment, and all of their methods but numbers.

    They are one compiled program. The callbacks hear of all of them. A seed that is among `starts`
    begins there, not with a fresh policy. Seeds rest after their first evaluation at `until` steps
    or more, and can be resumed: schedules follow the `steps` of the configuration all the same.
    """
    if checkpoint_every is not None:
        check_integer("checkpoint_every", checkpoint_every, low=1)
        if None in outs:
            raise ValueError("checkpoint_every needs out, the folder that checkpoints are kept in")
    with contextlib.ExitStack() as locks:
        runs = []
        for config, out in zip(configs, outs, strict=True):
            recorded = config.recording(resolved)
            program = build_program(recorded, resolved)
            folder = open_folder(out, recorded, resume=resume)
            if folder:
                locks.enter_context(folder.locked())
            rule = StopRule(recorded, score_of(resolved.environment))
            runs.append(
                Run.restored(recorded, program, folder, callbacks, starts or {}, rule, until)
            )
        if any(not run.finished for run in runs):
            _train(runs, resolved, checkpoint_every)
        return [run.result() for run in runs]


def _train(
    runs: Sequence[Run], resolved: ResolvedEnvironment, checkpoint_every: int | None
) -> None:
    error = None
    batches: list[SeedBatch] = []
    try:
        for run in runs:
            latest = {int(row["seed"]): row for row in run.rows}
            run.listeners.on_start(run.config, score_of(resolved.environment), latest)
        batches += _compile(runs, resolved)
        folders = [(run.folder, run.writer) for run in runs if run.folder and run.writer]
        checkpointer = Checkpointer(folders, batches, checkpoint_every) if folders else None
        try:
            problem = _Loop(runs, batches, checkpointer).run()
        except Exception:
            # Of a callback, or of the device: what the seeds have reached is kept all the same.
            if checkpointer:
                with contextlib.suppress(OSError, TrainingError):
                    checkpointer.write()
            raise
        if checkpointer:
            checkpointer.write()
        if problem:
            raise problem
    except BaseException as caught:
        error = caught
        raise
    finally:
        for batch in batches:
            batch.close()
        for run in runs:
            run.listeners.on_end(error)
    if any(run.folder is None for run in runs):
        for batch in batches:
            for seat, saved in batch.save():
                runs[seat.run].saved[seat.seed] = saved
    for run in runs:
        run.end()


class _Loop:
    """Hands chunks to workers, takes in what comes back, until all evaluations are done."""

    def __init__(
        self,
        runs: Sequence[Run],
        batches: Sequence[SeedBatch],
        checkpointer: Checkpointer | None,
    ):
        self.runs = runs
        self.batches = batches
        self.checkpointer = checkpointer
        self.columns = columns(runs[0].program.method.metric_names)
        spent = [row["wall_seconds"] for run in runs for row in run.rows]
        self.began = time.monotonic() - max(spent, default=0.0)

    def run(self) -> BaseException | None:
        """Run to the end, or until something ends it early, chunks finished.

        What it was is returned, unless a callback has asked for it.
        """
        problem: BaseException | None = None
        together = max(batch.together for batch in self.batches) or len(self.batches)
        workers = min(available_cores(), together)
        waiting = [batch for batch in self.batches if self._unfinished(batch, batch.statuses)]
        with worker_threads(workers) as pool, deferred_interrupt() as interrupt:

            def submit(
                batch: SeedBatch, state: SeedState, statuses: Sequence[SeedStatus]
            ) -> Future[Chunk]:
                return pool.submit(batch.advance, state, self._targets(batch, statuses))

            running = {
                submit(batch, batch.state, batch.statuses): batch for batch in waiting[:together]
            }
            del waiting[:together]
            if any(batch.hurries for batch in running.values()):
                # What compiling left behind, while the device is at work rather than later.
                gc.collect()
            while running:
                done, _ = wait(running, timeout=_PATIENCE, return_when=FIRST_COMPLETED)
                for future in done:
                    batch = running.pop(future)
                    following = None
                    try:
                        chunk = future.result()
                        foreseen = self._foreseen(batch, chunk)
                        goes_on = problem is None and not interrupt.requested
                        if goes_on and foreseen and self._unfinished(batch, foreseen):
                            following = submit(batch, chunk.state, foreseen)
                        self._take_in(batch, self._reached(batch, chunk))
                        if following and self.checkpointer is not None:
                            self.checkpointer.make_folders()
                    except TrainingError as error:
                        problem = error
                    ends = problem is not None or self._stopped()
                    if not ends and not self._unfinished(batch, batch.statuses):
                        batch.close()
                        batch = waiting.pop(0) if waiting else None
                    if not ends and batch is not None:
                        following = following or submit(batch, batch.state, batch.statuses)
                        running[following] = batch
                if interrupt.requested:
                    problem = problem or KeyboardInterrupt()
                if problem is not None or self._stopped():
                    running = {future: running[future] for future in running if not future.cancel()}
                elif self.checkpointer is not None:
                    self.checkpointer.write_if_due()
        return problem

    def _stopped(self) -> bool:
        """Whether a callback has asked to stop: all runs then do."""
        return any(run.stopped for run in self.runs)

    def _unfinished(self, batch: SeedBatch, statuses: Sequence[SeedStatus]) -> bool:
        return any(
            not self.runs[seat.run].rests(status)
            for seat, status in zip(batch.seats, statuses, strict=True)
        )

    def _foreseen(self, batch: SeedBatch, chunk: Chunk) -> list[SeedStatus] | None:
        """As much of the statuses as the next chunk can begin with, before scores are looked at.

        `None` if the batch does not hurry, or if scores decide which seeds go on.
        """
        if not batch.hurries or any(run.rule.needs_scores for run in self.runs):
            return None
        return [SeedStatus(evaluations=1, steps=steps) for steps in chunk.counts["steps"].tolist()]

    def _targets(self, batch: SeedBatch, statuses: Sequence[SeedStatus]) -> list[int]:
        """Where evaluations are due next. Seeds that have had their last take no further step."""
        targets = []
        for seat, status in zip(batch.seats, statuses, strict=True):
            run = self.runs[seat.run]
            rests = status.evaluations == 0 or run.rests(status)
            targets.append(0 if rests else run.config.evaluation_after(status.steps))
        return targets

    def _rows(self, batch: SeedBatch, chunk: Chunk) -> list[Row]:
        """The rows of all seeds; a `NotFiniteError` if one is spoiled."""
        seconds = np.full(len(batch.seats), round(time.monotonic() - self.began, 3))
        numbers = {**chunk.counts, **chunk.evaluation, "wall_seconds": seconds}
        rows = make_rows(self.columns, [seat.seed for seat in batch.seats], numbers)
        for seat, row, finite in zip(batch.seats, rows, chunk.finite.tolist(), strict=True):
            program = self.runs[seat.run].program
            if not (finite and math.isfinite(row[f"{program.objective}_return"])):
                raise NotFiniteError(
                    f"{program.interface.name}, seed {row['seed']}: a reward, an "
                    f"observation or a gradient was not a finite number, or an action mask allowed "
                    f"nothing, by step {row['steps']}",
                    seat.run,
                )
        return rows

    def _reached(self, batch: SeedBatch, chunk: Chunk) -> "_Reached":
        """Where the chunk leads; a seed that rests keeps its status."""
        rows = self._rows(batch, chunk)
        statuses = []
        for seat, row, status in zip(batch.seats, rows, batch.statuses, strict=True):
            run = self.runs[seat.run]
            statuses.append(status if run.rests(status) else run.status_after(row, status))
        new = [now is not was for now, was in zip(statuses, batch.statuses, strict=True)]
        improved = [fresh and now.improved for fresh, now in zip(new, statuses, strict=True)]
        return _Reached(chunk.state, batch.best_after(chunk.state, improved), statuses, rows, new)

    def _take_in(self, batch: SeedBatch, reached: "_Reached") -> None:
        """Make the evaluation known and continue from the new state."""
        for number, run in enumerate(self.runs):
            places = zip(batch.seats, reached.rows, reached.new, strict=True)
            run.record([row for seat, row, fresh in places if fresh and seat.run == number])
        # All at once: a callback that raises leaves the batch as it was.
        before, batch.statuses = batch.statuses, reached.statuses
        batch.state, batch.best = reached.state, reached.best
        if self.checkpointer is not None:
            self.checkpointer.keep(batch, before)


@dataclasses.dataclass(frozen=True)
class _Reached:
    """Where a chunk leads: states, statuses and rows of the seeds, and which rows are new."""

    state: SeedState
    best: SeedState
    statuses: list[SeedStatus]
    rows: list[Row]
    new: list[bool]


def with_progress(callbacks: Iterable[Callback], verbose: int) -> list[Callback]:
    """The callbacks, and one that shows progress unless `verbose` is 0 or one of them does."""
    if verbose not in (0, 1, 2):
        raise ValueError(f"verbose must be 0, 1 or 2, got {shown(verbose)}")
    listed = list(callbacks)
    if not verbose or any(isinstance(callback, Progress) for callback in listed):
        return listed
    return [Progress(every_evaluation=verbose == 2), *listed]


def _compile(runs: Sequence[Run], resolved: ResolvedEnvironment) -> list[SeedBatch]:
    """Start the seeds and run the program once for nothing: whatever needs compiling is then."""
    for run in runs:
        run.listeners.on_compile()
    began = time.monotonic()
    seats = {
        Seat(place, seed): run.saved.get(seed)
        for place, run in enumerate(runs)
        for seed in run.config.seeds
    }
    batches = _make_batches(runs, resolved, seats)
    batches[0].warm_up()
    for run in runs:
        run.listeners.on_compiled(time.monotonic() - began)
    return batches


def _make_batches(
    runs: Sequence[Run],
    resolved: ResolvedEnvironment,
    seats: Mapping[Seat, SavedSeed | None],
) -> list[SeedBatch]:
    programs = [run.program for run in runs]
    if resolved.source is not None:
        return [
            HostSeed(programs[seat.run], resolved.source, seat, saved)
            for seat, saved in seats.items()
        ]
    if _in_one_program():
        known = {seat: saved for seat, saved in seats.items() if saved is not None}
        return [StackedSeeds(programs, list(seats), known)]
    if available_cores() > 1:
        compile_side_by_side(programs[0], starts=None in seats.values())
    return [CompiledSeed(programs[seat.run], seat, saved) for seat, saved in seats.items()]


def _in_one_program() -> bool:
    """Whether all seeds are batched by `vmap`: not on CPUs, where it is no faster."""
    return current_device().platform != "cpu"
