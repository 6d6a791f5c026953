"""Callbacks that log metrics to other tools: TensorBoard, Weights & Biases."""

import importlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from asmpg._support.files import read_json, write_atomically
from asmpg.runs import Row, RunConfig
from asmpg.training._callbacks import Callback, Score


class TensorBoardLogger(Callback):
    """Logs every metric of every seed to TensorBoard, with a subfolder per seed.

    A resumed run hides what was logged beyond the step it resumes from.
    """

    def __init__(self, folder: str | Path):
        """Raises an `ImportError` if tensorboardX is missing."""
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
        for name, value in _measured(row).items():
            self._writers[seed].add_scalar(name, value, int(row["steps"]))

    def on_end(self, error: BaseException | None) -> None:
        """Close the logs."""
        for writer in self._writers.values():
            writer.close()


class WandbLogger(Callback):
    """Logs every metric to Weights & Biases: one W&B run per seed, in one group.

    The x-axis is `steps`. With a `folder`, that of the run, W&B's files are stored there, the ids
    of its runs are in `wandb.json`, and a resumed run continues them; steps that are repeated are
    logged again.

    >>> asmpg.learn("CheeseMaze", callbacks=[asmpg.WandbLogger("my-project")])
    """

    def __init__(self, project: str, *, folder: str | Path | None = None, **options: Any):
        """`options` go to `wandb.init`: `entity`, `tags`, `mode="offline"` and so on.

        Raises an `ImportError` if wandb is missing.
        """
        if not project:
            raise ValueError(f"project must be the name of a W&B project, got {project!r}")
        try:
            self._wandb: Any = importlib.import_module("wandb")
        except ImportError:
            raise ImportError(
                'logs for Weights & Biases need wandb: pip install "asmpg[wandb]"'
            ) from None
        self._project = project
        self._folder = None if folder is None else Path(folder)
        self._options = options
        self._runs: dict[int, Any] = {}

    def on_start(self, config: RunConfig, score: Score, latest: Mapping[int, Row]) -> None:
        """Start a W&B run for each seed, or continue it."""
        name = f"{config.environment_name}-{config.method_name}"
        given = {"group": name, **self._options}
        if self._folder is not None:
            given = {"dir": str(self._folder), **given}
        known = self._known_ids() if latest else {}
        for seed in config.seeds:
            run = self._wandb.init(
                project=self._project,
                name=f"{name}-{seed}",
                config={**config.to_dict(), "seed": seed},
                id=known.get(str(seed)),
                resume="allow",
                reinit="create_new",
                **given,
            )
            run.define_metric("steps")
            run.define_metric("*", step_metric="steps")
            self._runs[seed] = run
        if self._folder is not None:
            self._keep_ids(known | {str(seed): run.id for seed, run in self._runs.items()})

    def on_evaluation(self, seed: int, row: Row) -> None:
        """Log the row."""
        self._runs[seed].log({"steps": int(row["steps"]), **_measured(row)})

    def on_end(self, error: BaseException | None) -> None:
        """Finish the runs, as failed if there was an error."""
        for run in self._runs.values():
            run.finish(exit_code=0 if error is None else 1)
        self._runs = {}

    def _known_ids(self) -> dict[str, str]:
        path = None if self._folder is None else self._folder / "wandb.json"
        return read_json(path) if path is not None and path.is_file() else {}

    def _keep_ids(self, ids: Mapping[str, str]) -> None:
        assert self._folder is not None
        text = json.dumps(ids, indent=2)
        write_atomically(self._folder / "wandb.json", lambda file: file.write(text.encode()))


def _measured(row: Row) -> dict[str, int | float]:
    """What a row says, without what could not be measured."""
    return {
        name: value
        for name, value in row.items()
        if name not in ("seed", "steps") and not math.isnan(value)
    }
