"""What commands about many runs are told."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import OmitArgPrefixes, Positional, arg

from asmpg.commands.arguments._kinds import (
    SEEDS,
    Folder,
    Integer,
    NoCompileCache,
    Quiet,
    Settings,
    value,
)


@dataclass(frozen=True, kw_only=True)
class _JobOptions:
    executor: Annotated[str, value("NAME")] = "local"
    """Where runs take place: local, this machine, ray, slurm, or the name of a registered
    executor."""
    executor_option: Settings = ()
    """An option of the executor, such as partition=gpu or time=60 for slurm; may be repeated."""
    address: Annotated[str | None, value("ADDRESS")] = None
    """Where the Ray cluster is: HOST:PORT, ray://HOST:PORT or auto."""
    jobs: Integer = None
    """Runs at a time; one per core on CPUs, one on a GPU, what a cluster holds if left out."""
    cpus: Integer = None
    """CPU cores, and threads, of each run; 1 if left out."""
    gpus: Annotated[float | None, value("FLOAT")] = None
    """GPUs that a cluster gives to each run; Ray takes parts, 0.25."""
    memory: Annotated[float | None, value("GIB")] = None
    """GiB of memory that a cluster gives to each run; its own choice if left out."""
    device: Literal["auto", "cpu", "gpu"] = "auto"
    """What the runs compute on."""
    patience: float = 600.0
    """Seconds without progress after which a run is restarted."""
    retries: int = 2
    """How often a run that failed is restarted."""


@dataclass(frozen=True, kw_only=True)
class Study:
    """Run methods in environments side by side, and compare them.

    What is done already is not done again: after a failure, a Ctrl-C or a power cut, the same
    command resumes the study.
    """

    name: Annotated[str, Positional, arg(metavar="STUDY")]
    """A study that comes with the package, quick, methods, paper, readings, efficiency, popgym or
    cassandra, or a TOML file."""
    out: Folder = None
    """Folder of the study; runs/NAME if left out."""
    seeds: Annotated[str | None, SEEDS] = None
    """How many seeds, or which: 1952,5235; the study's if left out."""
    steps: Integer = None
    """Environment steps of each seed at most; the study's if left out."""
    environments: Annotated[str | None, value("NAME,NAME,...")] = None
    """Those to run, by name or by pattern, 'popgym-*Easy'; all if left out."""
    entries: Annotated[str | None, value("NAME,NAME,...")] = None
    """Those to run, by name or by pattern; all if left out."""
    quiet: Quiet = False
    no_compile_cache: NoCompileCache = False
    running: OmitArgPrefixes[_JobOptions] = _JobOptions()
    """Where runs take place, and what becomes of those that fail."""


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """Try out options of a method, and draw how much each of them matters.

    What is done already is not done again: after a failure, a Ctrl-C or a power cut, the same
    command resumes the sweep.
    """

    file: Annotated[str, Positional, arg(metavar="FILE")]
    """A TOML file with the options to try: a grid, at random, or by Optuna."""
    out: Folder = None
    """Folder of the sweep; runs/NAME if left out."""
    quiet: Quiet = False
    no_compile_cache: NoCompileCache = False
    running: OmitArgPrefixes[_JobOptions] = _JobOptions()
    """Where runs take place, and what becomes of those that fail."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """Write tables, figures and report of a study or a sweep again, as far as it has come."""

    folder: Annotated[Path, Positional, arg(metavar="FOLDER")]
    """Folder of the study or the sweep."""
    trust: bool = False
    """Import the modules that it names in "imports"."""
