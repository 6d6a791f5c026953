"""A run on its way: what is known of it so far, in memory and in its folder."""

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from asmpg.runs import MetricsWriter, Row, RunConfig, RunFolder, SavedSeed, SeedStatus
from asmpg.training._callbacks import Callback, Callbacks
from asmpg.training._program import Program, SeedState, seed_shapes
from asmpg.training._result import TrainingResult
from asmpg.training._stopping import StopRule


@dataclasses.dataclass
class Run:
    """A run on its way: its configuration, its folder, and all that is known of it so far."""

    config: RunConfig
    program: Program
    folder: RunFolder | None
    saved: dict[int, SavedSeed]
    rows: list[Row]
    writer: MetricsWriter | None
    listeners: Callbacks
    rule: StopRule
    #: How many steps seeds take this time.
    until: int
    #: Whether a callback has asked to stop.
    stopped: bool = False

    @classmethod
    def restored(
        cls,
        config: RunConfig,
        program: Program,
        folder: RunFolder | None,
        callbacks: Iterable[Callback],
        starts: Mapping[int, SeedState],
        rule: StopRule,
        until: int | None,
    ) -> "Run":
        """As its folder has it, or with none, from the start."""
        saved, rows = folder.restore(seed_shapes(program)) if folder else ({}, [])
        for seed, state in starts.items():
            if seed not in saved:
                saved[seed] = SavedSeed(state, state, SeedStatus())
                if folder:
                    folder.save_start(seed, state)
        # By the rule as it is now, which may be another than the one they were trained by.
        for seed, stopped in {int(row["seed"]): rule.after(row) for row in rows}.items():
            status = dataclasses.replace(saved[seed].status, stopped=stopped)
            saved[seed] = dataclasses.replace(saved[seed], status=status)
        writer = folder.writer(rows) if folder else None
        listeners = Callbacks(callbacks)
        until = config.steps if until is None else until
        return cls(config, program, folder, saved, rows, writer, listeners, rule, until)

    @property
    def finished(self) -> bool:
        """Whether no seed has a step left to take."""
        return all(
            seed in self.saved and self.rests(self.saved[seed].status) for seed in self.config.seeds
        )

    def rests(self, status: SeedStatus) -> bool:
        """Whether a seed takes no further step this time."""
        there = status.evaluations > 0 and status.steps >= self.until
        return there or self.config.finished(status)

    def record(self, rows: Sequence[Row]) -> None:
        """Write evaluations down and make them known."""
        self.rows += rows
        if self.writer is not None and rows:
            self.writer.append(rows)
        for row in rows:
            if not self.listeners.on_evaluation(int(row["seed"]), row):
                self.stopped = True

    def status_after(self, row: Row, status: SeedStatus) -> SeedStatus:
        """That of a seed after one more evaluation."""
        objective = self.program.objective
        if math.isnan(row[f"exact_{objective}"]):
            value, error = row[f"{objective}_return"], row["standard_error"]
        else:
            value, error = row[f"exact_{objective}"], 0.0
        return status.after(int(row["steps"]), value, error, self.rule.after(row))

    def end(self) -> None:
        """Put the rows in order."""
        places = {seed: place for place, seed in enumerate(self.config.seeds)}
        self.rows.sort(key=lambda row: places[int(row["seed"])])
        if self.writer is not None:
            self.writer.sort(self.config.seeds)

    def result(self) -> TrainingResult:
        """What is given back."""
        if self.folder:
            return TrainingResult(self.config, self.program, self.rows, self.folder.path)
        return TrainingResult(self.config, self.program, self.rows, seeds=self.saved)


def open_folder(out: str | Path | None, config: RunConfig, *, resume: bool) -> RunFolder | None:
    """A fresh folder, or the one of the run that is resumed, if there is to be any."""
    if out is None and resume:
        raise ValueError("resume needs out, the folder of the run to resume")
    if out is None or not resume:
        return None if out is None else RunFolder.create(out, config)
    folder = RunFolder(out)
    before = folder.config
    end = {
        "steps": max(config.steps, before.steps),
        "stop_at": config.stop_at,
        "patience": config.patience,
    }
    differences = config.differences(dataclasses.replace(before, **end))
    if differences:
        raise ValueError(f"{out} holds a run of another configuration: {'; '.join(differences)}")
    if any(getattr(before, name) != value for name, value in end.items()):
        folder.change_end(**end)
    return folder
