"""A run on disk: `config.json`, `metrics.csv` and the checkpoints of each seed."""

import contextlib
import dataclasses
import json
import typing
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from asmpg._support.checks import check_integer, check_number
from asmpg._support.errors import CheckpointError, TrainingError
from asmpg._support.files import link_atomically, naming, read_json, write_atomically
from asmpg._support.locks import (
    LOCK_NAME,
    FolderInUseError,
    FolderLock,
    folder_lock,
    is_in_place,
)
from asmpg._support.machine import versions
from asmpg.methods import Method
from asmpg.runs._checkpoint import (
    Contents,
    load_checkpoint,
    load_meta,
    save_checkpoint,
    save_contents,
)
from asmpg.runs._config import RunConfig
from asmpg.runs._metrics import (
    MetricsWriter,
    Row,
    columns_of_run,
    digests,
    read_columns,
    read_rows,
    write_rows,
)
from asmpg.runs._status import SavedSeed, SeedStatus

#: The last state of a seed, or that of its best evaluation.
Which = Literal["best", "last"]
#: One of these, or the number of steps of a checkpoint that was kept.
Checkpoint = Which | int
#: How long, in seconds, a killed process may take to let go of the folder.
_LEAVE = 2.0


class RunFolder:
    """The folder of a run; `RunFolder(path)` opens one that is there.

    Rows are written before the checkpoint they belong to, and rows without one count for nothing:
    whenever the process dies, the run resumes from its checkpoints as if nothing had happened.
    """

    def __init__(self, path: str | Path):
        """Read `config.json`."""
        self.path = Path(path)
        self.metrics_path = self.path / "metrics.csv"
        self.config, self._earlier_steps = _read_config(self.path)
        self.columns = _columns(self.config, self.metrics_path)
        self._lock: FolderLock | None = None

    @classmethod
    def create(cls, path: str | Path, config: RunConfig) -> "RunFolder":
        """Make a folder for a new run; a `ValueError` if something is there already."""
        path = Path(path)
        if (path / "config.json").exists():
            raise ValueError(_taken(cls(path), config))
        check_unused(path)
        made = not path.exists()
        path.mkdir(parents=True, exist_ok=True)
        try:
            with _locked(path):
                taken = (path / "config.json").exists()
                if not taken:
                    _write_config(path, config, ())
                    write_rows(path / "metrics.csv", _columns(config, path / "metrics.csv"), [])
        except FolderInUseError:
            raise
        except BaseException:
            (path / "config.json").unlink(missing_ok=True)
            if made:
                (path / LOCK_NAME).unlink(missing_ok=True)
                path.rmdir()
            raise
        if taken:
            raise ValueError(_taken(cls(path), config))
        return cls(path)

    def change_end(self, steps: int, stop_at: float | None, patience: int | None) -> None:
        """Change when the run ends, after so many steps or more; training then resumes."""
        if steps < self.config.steps:
            raise ValueError(f"steps must be at least the {self.config.steps} of the run")
        config = dataclasses.replace(self.config, steps=steps, stop_at=stop_at, patience=patience)
        more = (self.config.steps,) if steps > self.config.steps else ()
        earlier = (*self._earlier_steps, *more)
        with _locked(self.path):
            _write_config(self.path, config, earlier)
        self.config, self._earlier_steps = config, earlier

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from training here; a `ValueError` if one does already."""
        with _locked(self.path) as self._lock:
            try:
                yield
            finally:
                self._lock = None

    def check_in_place(self) -> None:
        """A `TrainingError` if the folder was deleted, replaced or taken since it was locked."""
        replaced = self._lock is not None and not is_in_place(self.path, self._lock)
        if replaced or not (self.path / "config.json").is_file():
            raise TrainingError(
                f"{self.path} was deleted or moved while its run was being trained, or another "
                "machine took it over: nothing more can be written there"
            )

    def rows(self) -> list[Row]:
        """The rows of `metrics.csv`; those up to the checkpoints are compared with them."""
        # Rows are written before checkpoints: read in this order, none can be missing.
        both: tuple[Which, ...] = ("last", "best")
        checks: list[tuple[int, Which, SeedStatus, str]] = [
            (seed, which, *self._read_status(seed, which))
            for seed in self.config.seeds
            for which in both
            if self.checkpoint_path(seed, which).exists()
        ]
        rows = read_rows(self.metrics_path, self.columns)
        by_seed = self._by_seed(rows)
        for seed, which, status, digest in checks:
            self._check_rows(by_seed[seed], seed, which, status.evaluations, digest)
        return rows

    def write_rows(self, rows: Iterable[Row]) -> None:
        """Put these rows in the place of those of `metrics.csv`."""
        self.check_in_place()
        write_rows(self.metrics_path, self.columns, rows)

    def writer(self, rows: Iterable[Row]) -> MetricsWriter:
        """Appends to `metrics.csv`, which has these `rows`."""
        return MetricsWriter(self.metrics_path, self.columns, rows, self.check_in_place)

    def checkpoint_path(self, seed: int, which: Checkpoint) -> Path:
        """Where a checkpoint of `seed` lies."""
        name = f"step-{which}" if isinstance(which, int) else which
        return self.path / "checkpoints" / f"seed-{seed}" / f"{name}.npz"

    def kept_steps(self, seed: int) -> list[int]:
        """The steps of the checkpoints of `seed` that were kept, in order."""
        files = (self.path / "checkpoints" / f"seed-{seed}").glob("step-*.npz")
        numbers = (file.stem.removeprefix("step-") for file in files)
        return sorted(int(number) for number in numbers if number.isdecimal())

    def status(self, seed: int, which: Checkpoint = "last") -> SeedStatus:
        """How far `seed` had come at its last checkpoint, or at its best."""
        exists = self.checkpoint_path(seed, which).exists()
        return self._read_status(seed, which)[0] if exists else SeedStatus()

    def _read_status(self, seed: int, which: Checkpoint) -> tuple[SeedStatus, str]:
        path = self.checkpoint_path(seed, which)
        return _read_meta(path, seed, load_meta(path))

    def finished(self) -> bool:
        """Whether every seed has all its evaluations."""
        return all(self.config.finished(self.status(seed)) for seed in self.config.seeds)

    def make_seed_folders(self) -> None:
        """Make the folders that checkpoints go to; a disk may take half a second for a thousand."""
        self.check_in_place()
        for seed in self.config.seeds:
            self._make_seed_folder(seed)

    def _make_seed_folder(self, seed: int) -> None:
        path = self.path / "checkpoints" / f"seed-{seed}"
        try:
            path.mkdir()
        except FileExistsError:
            pass
        except FileNotFoundError:  # the first one
            for folder in (path.parent, path):
                folder.mkdir(exist_ok=True)

    def save(
        self,
        seed: int,
        which: Checkpoint,
        contents: Contents,
        status: SeedStatus,
        digest: str,
    ) -> None:
        """Write a checkpoint, with the checksum of the rows that led there.

        Whoever writes many looks first, once, whether the folder is in place.
        """
        path, meta = self.checkpoint_path(seed, which), {"seed": seed, "rows": digest}
        try:
            save_contents(path, contents, meta | vars(status))
        except FileNotFoundError:
            self._make_seed_folder(seed)
            save_contents(path, contents, meta | vars(status))

    def save_best_as_last(self, seed: int) -> None:
        """Let the last checkpoint be the file of the best one; an `OSError` if it cannot be."""
        link_atomically(self.checkpoint_path(seed, "last"), self.checkpoint_path(seed, "best"))

    def save_start(self, seed: int, state: Any) -> None:
        """Write the state that `seed` starts from, where that is not a fresh one."""
        path = self._start_path(seed)
        path.parent.mkdir(parents=True, exist_ok=True)
        save_checkpoint(path, state, {"seed": seed})

    def _start_path(self, seed: int) -> Path:
        return self.path / "checkpoints" / f"seed-{seed}" / "start.npz"

    def load(self, like: Any, seed: int, which: Which) -> tuple[Any, SeedStatus]:
        """Read a checkpoint into the shape of `like`."""
        return self._load(like, seed, which)[:2]

    def _load(self, like: Any, seed: int, which: Which) -> tuple[Any, SeedStatus, str]:
        path = self.checkpoint_path(seed, which)
        state, meta = load_checkpoint(path, like)
        return state, *_read_meta(path, seed, meta)

    def load_part(self, like: Any, seed: int, which: Checkpoint, *, within: str) -> Any:
        """Read the part of a checkpoint that lies `within` a place of it."""
        path = self.checkpoint_path(seed, which)
        part, meta = load_checkpoint(path, like, within=within)
        _read_meta(path, seed, meta)
        return part

    def restore(self, like: Any) -> tuple[dict[int, SavedSeed], list[Row]]:
        """Every seed that has a checkpoint, and the rows that led there; later ones are dropped.

        `like` is the state of a seed, or its shapes. Checkpoints that were kept of later steps are
        deleted as well: those steps are done again.
        """
        rows = read_rows(self.metrics_path, self.columns)
        by_seed: dict[int, list[Row]] = {seed: [] for seed in self.config.seeds}
        for row in rows:
            by_seed.setdefault(int(row["seed"]), []).append(row)
        saved, kept = {}, []
        for seed in self.config.seeds:
            later = self.kept_steps(seed)
            done = self.status(seed) if later else SeedStatus()
            for steps in later:
                if steps > done.steps or not done.evaluations:
                    self.checkpoint_path(seed, steps).unlink()
        for seed in self.config.seeds:
            if not self.checkpoint_path(seed, "last").exists():
                if self._start_path(seed).exists():
                    state, _ = load_checkpoint(self._start_path(seed), like)
                    saved[seed] = SavedSeed(state, state, SeedStatus())
                continue
            last, status, digest = self._load(like, seed, "last")
            best, at_best, best_digest = self._load(like, seed, "best")
            own = by_seed[seed][: status.evaluations]
            self._check_rows(own, seed, "last", status.evaluations, digest)
            self._check_rows(own, seed, "best", at_best.evaluations, best_digest)
            for name in ("steps", "episodes", "updates"):
                if own[-1][name] != int(getattr(last, name)):
                    raise self._damaged(
                        f"it counts {own[-1][name]} {name} of seed {seed} at evaluation "
                        f"{len(own)}, its checkpoint {int(getattr(last, name))}"
                    )
            saved[seed] = SavedSeed(last, best, status)
            kept += own
        self.write_rows(kept)
        return saved, kept

    def _by_seed(self, rows: Sequence[Row]) -> dict[int, list[Row]]:
        by_seed: dict[int, list[Row]] = {seed: [] for seed in self.config.seeds}
        # A run that was extended was evaluated at its earlier ends as well.
        total = -(-self.config.steps // self.config.evaluate_every) + 1 + len(self._earlier_steps)
        for row in rows:
            own = by_seed.get(int(row["seed"]))
            if own is None:
                raise self._damaged(f"seed {row['seed']} is not of this run")
            if own and row["steps"] <= own[-1]["steps"]:
                raise self._damaged(
                    f"seed {row['seed']} goes from step {own[-1]['steps']} to {row['steps']}"
                )
            own.append(row)
            if len(own) > total:
                raise self._damaged(f"seed {row['seed']} has more than its {total} evaluations")
        return by_seed

    def _check_rows(
        self, rows: Sequence[Row], seed: int, which: Which, count: int, digest: str
    ) -> None:
        if len(rows) < count and which == "best":
            return  # It was written just before the process died; its rows will come again.
        if len(rows) < count:
            raise self._damaged(
                f"it has {len(rows)} evaluations of seed {seed}, whose checkpoint counts {count}"
            )
        if digests(self.columns, rows[:count])[-1] != digest:
            raise self._damaged(
                f"the first {count} evaluations of seed {seed} are not those of its checkpoint"
            )

    def _damaged(self, reason: str) -> CheckpointError:
        return CheckpointError(f"{self.metrics_path} is damaged: {reason}")


def check_unused(path: Path) -> None:
    """A `ValueError` unless `path` can become the folder of a run."""
    if path.exists() and not path.is_dir():
        raise ValueError(f"out must be a folder, {path} is a file")
    if path.exists() and any(not _leftover(file) for file in path.iterdir()):
        raise ValueError(f"out must be a new or empty folder, {path} has other files in it")


def _columns(config: RunConfig, path: Path) -> tuple[str, ...]:
    if not isinstance(config.method, Method) and not config.method_by_name:
        return read_columns(path)
    return columns_of_run(path, config.make_method().metric_names)


def _write_config(path: Path, config: RunConfig, earlier_steps: Sequence[int]) -> None:
    content: dict[str, Any] = {"config": config.to_dict(), "made_with": versions()}
    if earlier_steps:
        content["earlier_steps"] = list(earlier_steps)
    text = json.dumps(content, indent=2)
    write_atomically(path / "config.json", lambda file: file.write(f"{text}\n".encode()))


def _read_config(path: Path) -> tuple[RunConfig, tuple[int, ...]]:
    """The configuration, and the steps that the run had before it was extended."""
    file = path / "config.json"
    if not file.is_file():
        raise ValueError(f"{path} is not the folder of a run: it has no config.json")
    content = read_json(file)
    with naming(file):
        config = RunConfig.from_dict(content["config"])
        if config.method_by_name:
            config.make_method()
        earlier = content.get("earlier_steps", [])
        if not isinstance(earlier, list):
            raise ValueError(f"earlier_steps must be a list of integers, got {earlier!r}")
        for steps in earlier:
            check_integer("earlier_steps", steps, low=1, high=config.steps - 1)
    return config, tuple(earlier)


def _locked(path: Path) -> contextlib.AbstractContextManager[FolderLock]:
    taken = f"{path} is being trained by another process"
    return folder_lock(path, wait=_LEAVE, taken=taken)


def _leftover(file: Path) -> bool:
    return file.name == LOCK_NAME or file.suffix == ".partial"


def _taken(folder: RunFolder, config: RunConfig) -> str:
    differences = config.differences(folder.config)
    if differences:
        return (
            f"{folder.path} holds a run of another configuration: {'; '.join(differences)}; "
            "choose another folder"
        )
    if folder.finished():
        return f"{folder.path} holds this very run, finished; choose another folder to repeat it"
    return f"{folder.path} holds this very run, unfinished; resume it with --resume {folder.path}"


def _read_meta(path: Path, seed: int, meta: dict[str, Any]) -> tuple[SeedStatus, str]:
    """The status in a checkpoint, and the checksum of the rows that led there."""
    if meta.get("seed") != seed:
        raise CheckpointError(f"{path} does not fit: it is not of seed {seed}")
    hints = typing.get_type_hints(SeedStatus)
    with naming(path, "does not fit"):
        digest = meta["rows"]
        if not isinstance(digest, str):
            raise ValueError(f"rows must be a checksum, got {digest!r}")
        known = {name: value for name, value in meta.items() if name not in ("seed", "rows")}
        for name, value in known.items():
            _check_kind(name, value, hints.get(name))
        status = SeedStatus(**known)
        if not 1 <= status.best_evaluations <= status.evaluations:
            raise ValueError(
                f"best_evaluations must be an integer in [1, {status.evaluations}], "
                f"got {status.best_evaluations}"
            )
    return status, digest


def _check_kind(name: str, value: Any, kind: Any) -> None:
    if kind is int:
        check_integer(name, value, low=0)
    elif kind == float | None and value is not None:
        check_number(name, value)
    elif kind == str | None and not isinstance(value, str | None):
        raise ValueError(f"{name} must be text or null, got {value!r}")
