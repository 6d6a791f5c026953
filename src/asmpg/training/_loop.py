"""Training from the outside: Python over compiled chunks, from evaluation to evaluation."""

import contextlib
import math
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

import jax
import numpy as np

from asmpg._support.errors import TrainingError
from asmpg._support.interrupts import deferred_interrupt, worker_threads
from asmpg.interop import Place
from asmpg.training._callback import Callback, Callbacks, Row
from asmpg.training._config import RunConfig
from asmpg.training._host_lane import make_host_lanes
from asmpg.training._keeper import Keeper
from asmpg.training._lanes import Lane, Outcome, make_lanes
from asmpg.training._metrics import columns, make_row
from asmpg.training._program import Program
from asmpg.training._progress import Progress
from asmpg.training._result import TrainingResult
from asmpg.training._run_folder import RunFolder
from asmpg.training._score import score_of
from asmpg.training._standing import SavedSeed, Standing

#: How often, in seconds, the loop looks whether somebody asked to stop.
_PATIENCE = 0.2


def train(
    config: RunConfig,
    out: str | Path | None = None,
    *,
    resume: bool = False,
    callbacks: Iterable[Callback] = (),
    progress: bool = True,
    environment: object | None = None,
    trust: bool = False,
    step_timeout: float | None = None,
) -> TrainingResult:
    """Train every seed of `config`, into the folder `out` if one is given.

    With `resume`, the run in `out` goes on from its checkpoints, and ends bit for bit as if it had
    never stopped. On CPUs each seed runs on its own, as many at a time as there are cores, so its
    results do not depend, in any bit, on the seeds beside it or on the number of cores; on other
    devices seeds run abreast in one program, and their number may change the last bits. GPUs
    repeat themselves, and so resume, bit for bit only with the environment variable
    `XLA_FLAGS=--xla_gpu_deterministic_ops=true`, at some cost in speed; the command line sets it.

    `progress` is shown on standard error, unless one of the `callbacks` does.

    An `environment` of your own, as `learn` takes it, is handed in beside `config`, which knows it
    by name only. Environments of Gymnasium are stepped on the host, seed after seed; what they are
    in the middle of cannot be saved, so there a resumed run begins new episodes. With
    `step_timeout`, a step of theirs that takes more seconds than that ends the run.

    While it trains, the folder is locked: nobody else can train there. A run that is resumed
    imports no module that its environment's id names, `module:Name-v0`, unless you `trust` it or
    have imported the module.

    Raises a `TrainingError` when a reward, an observation or a gradient is not a finite number, the
    environment raises or the folder is deleted, and a `KeyboardInterrupt` on Ctrl-C, once the
    chunks in hand are done and on disk; a second Ctrl-C does not wait for them.

    >>> asmpg.train(asmpg.RunConfig("CheeseMaze", steps=100_000), "runs/cheese")
    """
    place = config.place(environment, trust=trust or not resume)
    place = place.with_step_timeout(step_timeout)
    config = config.recording(place, given=environment is not None)
    program = config.build(place.environment)
    folder = _open(out, config, resume=resume)
    with folder.locked() if folder else contextlib.nullcontext():
        return _train(config, place, program, folder, with_progress(callbacks, progress))


def _train(
    config: RunConfig,
    place: Place,
    program: Program,
    folder: RunFolder | None,
    callbacks: Iterable[Callback],
) -> TrainingResult:
    saved, rows = folder.restore(program) if folder else ({}, [])
    if folder and folder.finished():
        return TrainingResult(config, program, rows, folder.path)
    writer = folder.writer(rows) if folder else None
    listeners = Callbacks([*([writer] if writer else []), *callbacks])
    error = None
    lanes: list[Lane] = []
    try:
        latest = {int(row["seed"]): row for row in rows}
        listeners.on_start(config, score_of(program.environment), latest)
        lanes += _compile(program, place, config.seeds, saved, listeners)
        keeper = Keeper(folder, lanes, writer) if folder and writer else None
        problem = _Loop(config, program, lanes, listeners, rows, keeper).run()
        if keeper:
            keeper.write()
        if problem:
            raise problem
    except BaseException as caught:
        error = caught
        raise
    finally:
        for lane in lanes:
            lane.close()
        listeners.on_end(error)
    rows.sort(key=lambda row: config.seeds.index(int(row["seed"])))
    if folder:
        folder.write_rows(rows)
        return TrainingResult(config, program, rows, folder.path)
    seeds = {seed: saved for lane in lanes for seed, saved in lane.save()}
    return TrainingResult(config, program, rows, seeds=seeds)


class _Loop:
    """Hands chunks to workers, takes their outcomes in, until all evaluations are done."""

    def __init__(
        self,
        config: RunConfig,
        program: Program,
        lanes: Sequence[Lane],
        listeners: Callback,
        rows: list[Row],
        keeper: Keeper | None,
    ):
        self.config = config
        self.program = program
        self.columns = columns(program.method.metric_names)
        self.lanes = lanes
        self.listeners = listeners
        self.rows = rows
        self.keeper = keeper
        self.began = time.monotonic() - max((row["wall_seconds"] for row in rows), default=0.0)

    def run(self) -> BaseException | None:
        """Run to the end, or until something ends it early: that is returned, work in hand done."""
        problem: BaseException | None = None
        together = max(lane.together for lane in self.lanes) or len(self.lanes)
        workers = min(_cores(), together)
        waiting = [lane for lane in self.lanes if self._todo(lane)]
        with worker_threads(workers) as pool, deferred_interrupt() as interrupt:
            running = {self._submit(pool, lane): lane for lane in waiting[:together]}
            del waiting[:together]
            while running:
                done, _ = wait(running, timeout=_PATIENCE, return_when=FIRST_COMPLETED)
                for future in done:
                    lane = running.pop(future)
                    problem = self._finish_chunk(lane, future) or problem
                    if problem is None and not self._todo(lane):
                        lane.close()
                        lane = waiting.pop(0) if waiting else None
                    if problem is None and lane is not None:
                        running[self._submit(pool, lane)] = lane
                if interrupt.requested:
                    problem = problem or KeyboardInterrupt()
                if problem is not None:
                    running = {f: running[f] for f in running if not f.cancel()}
                elif self.keeper is not None:
                    self.keeper.write_if_due()
        return problem

    def _todo(self, lane: Lane) -> bool:
        return any(not self.config.finished(standing) for standing in lane.standings)

    def _submit(self, pool: ThreadPoolExecutor, lane: Lane) -> Future[Outcome]:
        return pool.submit(lane.advance, [self._target(s) for s in lane.standings])

    def _target(self, standing: Standing) -> int:
        """Where the next evaluation is due. A seed that has had its last takes no further step."""
        if standing.evaluations == 0 or self.config.finished(standing):
            return 0
        return self.config.evaluation_after(standing.steps)

    def _finish_chunk(self, lane: Lane, future: Future[Outcome]) -> TrainingError | None:
        try:
            return self._take_in(lane, future.result())
        except TrainingError as error:
            return error

    def _take_in(self, lane: Lane, outcome: Outcome) -> TrainingError | None:
        """Make the outcome known and go on from it, unless it is spoiled."""
        seconds = np.full(len(lane.seeds), round(time.monotonic() - self.began, 3))
        numbers = {**outcome.counts, **outcome.evaluation, "wall_seconds": seconds}
        rows = [
            make_row(self.columns, seed, place, numbers) for place, seed in enumerate(lane.seeds)
        ]
        for row, finite in zip(rows, outcome.finite, strict=True):
            if not (finite and math.isfinite(row[self.program.objective[0]])):
                return TrainingError(
                    f"{self.program.environment.name}, seed {row['seed']}: a reward, an "
                    f"observation or a gradient was not a finite number by step {row['steps']}"
                )
        improved = []
        for place, row in enumerate(rows):
            active = not self.config.finished(lane.standings[place])
            if active:
                self.rows.append(row)
                self.listeners.on_evaluation(int(row["seed"]), row)
                lane.standings[place] = self._after(lane.standings[place], row)
            improved.append(active and lane.standings[place].improved)
        lane.commit(outcome.state, improved)
        return None

    def _after(self, standing: Standing, row: Row) -> Standing:
        sampled, exact = self.program.objective
        if math.isnan(row[exact]):
            return standing.after(int(row["steps"]), row[sampled], row["standard_error"])
        return standing.after(int(row["steps"]), row[exact], 0.0)


def with_progress(callbacks: Iterable[Callback], wanted: bool) -> list[Callback]:
    """The callbacks, and one that shows progress if that is `wanted` and none of them does."""
    listed = list(callbacks)
    shown = any(isinstance(callback, Progress) for callback in listed)
    return [Progress(), *listed] if wanted and not shown else listed


def _open(out: str | Path | None, config: RunConfig, *, resume: bool) -> RunFolder | None:
    if out is None and resume:
        raise ValueError("resume needs out, the folder of the run to go on with")
    if out is None or not resume:
        return None if out is None else RunFolder.create(out, config)
    folder = RunFolder(out)
    differences = config.differences(folder.config)
    if differences:
        raise ValueError(f"{out} holds a run of another configuration: {'; '.join(differences)}")
    return folder


def _compile(
    program: Program,
    place: Place,
    seeds: Sequence[int],
    saved: Mapping[int, SavedSeed],
    listeners: Callback,
) -> list[Lane]:
    """Start the seeds and run the program once for nothing: whatever needs compiling is then."""
    listeners.on_compile()
    began = time.monotonic()
    if place.source is None:
        lanes = make_lanes(program, seeds, saved, abreast=_abreast())
    else:
        lanes = make_host_lanes(program, place.source, seeds, saved)
    for size in {len(lane.seeds) for lane in lanes}:
        next(lane for lane in lanes if len(lane.seeds) == size).warm_up()
    listeners.on_compiled(time.monotonic() - began)
    return lanes


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _abreast() -> bool:
    """Whether all seeds run in one program: not on CPUs, where it is no faster."""
    return jax.default_backend() != "cpu"
