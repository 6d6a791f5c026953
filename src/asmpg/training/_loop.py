"""Training from the outside: Python over compiled chunks, from evaluation to evaluation."""

import contextlib
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
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
from asmpg.runs import RunConfig, SavedSeed, SeedStatus, columns, make_rows
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
        waiting = [batch for batch in self.batches if self._unfinished(batch)]
        with worker_threads(workers) as pool, deferred_interrupt() as interrupt:
            running = {self._submit(pool, batch): batch for batch in waiting[:together]}
            del waiting[:together]
            while running:
                done, _ = wait(running, timeout=_PATIENCE, return_when=FIRST_COMPLETED)
                for future in done:
                    batch = running.pop(future)
                    problem = self._finish_chunk(batch, future) or problem
                    ends = problem is not None or self._stopped()
                    if not ends and not self._unfinished(batch):
                        batch.close()
                        batch = waiting.pop(0) if waiting else None
                    if not ends and batch is not None:
                        running[self._submit(pool, batch)] = batch
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

    def _unfinished(self, batch: SeedBatch) -> bool:
        return any(
            not self.runs[seat.run].rests(status)
            for seat, status in zip(batch.seats, batch.statuses, strict=True)
        )

    def _submit(self, pool: ThreadPoolExecutor, batch: SeedBatch) -> Future[Chunk]:
        targets = [
            self._target(seat, status)
            for seat, status in zip(batch.seats, batch.statuses, strict=True)
        ]
        return pool.submit(batch.advance, targets)

    def _target(self, seat: Seat, status: SeedStatus) -> int:
        """Where the next evaluation is due. A seed that has had its last takes no further step."""
        run = self.runs[seat.run]
        if status.evaluations == 0 or run.rests(status):
            return 0
        return run.config.evaluation_after(status.steps)

    def _finish_chunk(self, batch: SeedBatch, future: Future[Chunk]) -> TrainingError | None:
        try:
            return self._take_in(batch, future.result())
        except TrainingError as error:
            return error

    def _take_in(self, batch: SeedBatch, chunk: Chunk) -> TrainingError | None:
        """Make the evaluation known and continue from the new state, unless that is spoiled."""
        seconds = np.full(len(batch.seats), round(time.monotonic() - self.began, 3))
        numbers = {**chunk.counts, **chunk.evaluation, "wall_seconds": seconds}
        rows = make_rows(self.columns, [seat.seed for seat in batch.seats], numbers)
        for seat, row, finite in zip(batch.seats, rows, chunk.finite.tolist(), strict=True):
            program = self.runs[seat.run].program
            if not (finite and math.isfinite(row[f"{program.objective}_return"])):
                return NotFiniteError(
                    f"{program.interface.name}, seed {row['seed']}: a reward, an "
                    f"observation or a gradient was not a finite number, or an action mask allowed "
                    f"nothing, by step {row['steps']}",
                    seat.run,
                )
        before, after = batch.statuses, list(batch.statuses)
        active = [
            not self.runs[seat.run].rests(status)
            for seat, status in zip(batch.seats, before, strict=True)
        ]
        for number, run in enumerate(self.runs):
            places = zip(batch.seats, rows, active, strict=True)
            run.record([row for seat, row, new in places if new and seat.run == number])
        improved = [False] * len(rows)
        for place, (seat, row) in enumerate(zip(batch.seats, rows, strict=True)):
            if active[place]:
                after[place] = self.runs[seat.run].status_after(row, before[place])
                improved[place] = after[place].improved
        # All at once: a callback that raises leaves the batch as it was.
        batch.commit(chunk.state, improved)
        batch.statuses = after
        if self.checkpointer is not None:
            self.checkpointer.keep(batch, before)
        return None


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
