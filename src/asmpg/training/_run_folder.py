"""A run on disk: `config.json`, `metrics.csv` and the checkpoints of each seed."""

import dataclasses
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import equinox as eqx
import jax.numpy as jnp

from asmpg._errors import CheckpointError
from asmpg.methods import PRESETS
from asmpg.training._atomic import write_atomically
from asmpg.training._callback import Row
from asmpg.training._checkpoint import load, load_meta, save
from asmpg.training._config import RunConfig
from asmpg.training._learned import blank_learner, with_learned
from asmpg.training._metrics import columns, read_rows, write_rows
from asmpg.training._program import Program, SeedState
from asmpg.training._standing import SavedSeed, Standing
from asmpg.training._versions import versions

#: The last state of a seed, or that of its best evaluation.
Which = Literal["best", "last"]


class RunFolder:
    """The folder of a run; `RunFolder(path)` opens one that is there.

    Rows are written before the checkpoint they belong to, and rows without one count for nothing:
    whenever the process dies, the run goes on from its checkpoints as if nothing had happened.
    """

    def __init__(self, path: str | Path):
        """Read `config.json`."""
        self.path = Path(path)
        self.metrics_path = self.path / "metrics.csv"
        self.config = _read_config(self.path)
        self.columns = _columns(self.config)

    @classmethod
    def create(cls, path: str | Path, config: RunConfig) -> "RunFolder":
        """Make a folder for a new run; a `ValueError` if something is there already."""
        path = Path(path)
        if path.exists() and not path.is_dir():
            raise ValueError(f"out must be a folder, {path} is a file")
        if (path / "config.json").exists():
            raise ValueError(_taken(cls(path), config))
        if path.exists() and any(file.suffix != ".partial" for file in path.iterdir()):
            raise ValueError(f"out must be a new or empty folder, {path} has other files in it")
        text = json.dumps({"config": config.to_dict(), "made_with": versions()}, indent=2)
        made = not path.exists()
        path.mkdir(parents=True, exist_ok=True)
        try:
            write_atomically(path / "config.json", lambda file: file.write(f"{text}\n".encode()))
            write_rows(path / "metrics.csv", _columns(config), [])
        except BaseException:
            (path / "config.json").unlink(missing_ok=True)
            if made:
                path.rmdir()
            raise
        return cls(path)

    def rows(self) -> list[Row]:
        """The rows of `metrics.csv`."""
        return read_rows(self.metrics_path, self.columns)

    def write_rows(self, rows: Iterable[Row]) -> None:
        """Put these rows in the place of those of `metrics.csv`."""
        write_rows(self.metrics_path, self.columns, rows)

    def checkpoint_path(self, seed: int, which: Which) -> Path:
        """Where a checkpoint of `seed` lies."""
        return self.path / "checkpoints" / f"seed-{seed}" / f"{which}.npz"

    def standing(self, seed: int, which: Which = "last") -> Standing:
        """How far `seed` had come at its last checkpoint, or at its best."""
        path = self.checkpoint_path(seed, which)
        return _standing(path, seed, load_meta(path)) if path.exists() else Standing()

    def finished(self) -> bool:
        """Whether every seed has all its evaluations."""
        return all(self.config.finished(self.standing(seed)) for seed in self.config.seeds)

    def save(self, seed: int, which: Which, state: SeedState, standing: Standing) -> None:
        """Write a checkpoint."""
        path = self.checkpoint_path(seed, which)
        path.parent.mkdir(parents=True, exist_ok=True)
        save(path, state, {"seed": seed, **dataclasses.asdict(standing)})

    def load(self, program: Program, seed: int, which: Which) -> tuple[SeedState, Standing]:
        """Read a checkpoint."""
        like = eqx.filter_eval_shape(program.start, jnp.zeros((), jnp.int32))
        path = self.checkpoint_path(seed, which)
        state, meta = load(path, like)
        return state, _standing(path, seed, meta)

    def load_learned(self, program: Program, seed: int, which: Which) -> Any:
        """The part of a checkpoint that acts, in a learner that lacks the rest of it."""
        path = self.checkpoint_path(seed, which)
        learner = blank_learner(program.method, program.environment)
        name = program.method.learned
        learned, meta = load(path, getattr(learner, name), within=f"learner/{name}/")
        _standing(path, seed, meta)
        return with_learned(program.method, learner, learned)

    def restore(self, program: Program) -> tuple[dict[int, SavedSeed], list[Row]]:
        """Every seed that has a checkpoint, and the rows that led there; later ones are dropped."""
        rows, saved, kept = self.rows(), {}, []
        for seed in self.config.seeds:
            if not self.checkpoint_path(seed, "last").exists():
                continue
            last, standing = self.load(program, seed, "last")
            best, _ = self.load(program, seed, "best")
            saved[seed] = SavedSeed(last, best, standing)
            own = [row for row in rows if row["seed"] == seed][: standing.evaluations]
            if len(own) < standing.evaluations:
                raise CheckpointError(
                    f"{self.metrics_path} is damaged: it has {len(own)} evaluations of seed "
                    f"{seed}, whose checkpoint counts {standing.evaluations}"
                )
            kept += own
        self.write_rows(kept)
        return saved, kept


def _columns(config: RunConfig) -> tuple[str, ...]:
    return columns(PRESETS[config.method].method.metric_names)


def _read_config(path: Path) -> RunConfig:
    file = path / "config.json"
    if not file.is_file():
        raise ValueError(f"{path} is not the folder of a run: it has no config.json")
    try:
        return RunConfig.from_dict(json.loads(file.read_text())["config"])
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise CheckpointError(f"{file} is damaged, or of another version: {error}") from None


def _taken(folder: RunFolder, config: RunConfig) -> str:
    differences = config.differences(folder.config)
    if differences:
        return (
            f"{folder.path} holds a run of another configuration: {'; '.join(differences)}; "
            "choose another folder"
        )
    if folder.finished():
        return f"{folder.path} holds this very run, finished; choose another folder to repeat it"
    return f"{folder.path} holds this very run, unfinished; go on with --resume {folder.path}"


def _standing(path: Path, seed: int, meta: dict[str, Any]) -> Standing:
    if meta.pop("seed", None) != seed:
        raise CheckpointError(f"{path} does not fit: it is not of seed {seed}")
    try:
        return Standing(**meta)
    except TypeError as error:
        raise CheckpointError(f"{path} does not fit: {error}") from None
