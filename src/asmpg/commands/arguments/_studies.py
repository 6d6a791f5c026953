"""Options of the commands about many runs."""

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
    """Where to run: local (this machine), ray, slurm, or the name of a registered executor."""
    executor_option: Settings = ()
    """Executor option, e.g. partition=gpu or time=60 for slurm; may be repeated."""
    address: Annotated[str | None, value("ADDRESS")] = None
    """Address of the Ray cluster: HOST:PORT, ray://HOST:PORT or auto."""
    jobs: Integer = None
    """Runs in parallel; by default one per CPU core, one on a GPU, as many as a cluster holds."""
    cpus: Integer = None
    """CPU cores (and threads) per run; 1 if omitted."""
    gpus: Annotated[float | None, value("FLOAT")] = None
    """GPUs per run on a cluster; Ray accepts fractions such as 0.25."""
    memory: Annotated[float | None, value("GIB")] = None
    """GiB of memory per run on a cluster; the cluster's choice if omitted."""
    device: Literal["auto", "cpu", "gpu"] = "auto"
    """Device to run on."""
    patience: float = 600.0
    """Seconds without progress after which a run is restarted."""
    retries: int = 2
    """How often to restart a failed run."""


@dataclass(frozen=True, kw_only=True)
class Study:
    """Run several methods in several environments, and compare them.

    Finished work is not repeated: after a failure, Ctrl-C or a power cut, the same command resumes
    the study.
    """

    name: Annotated[str, Positional, arg(metavar="STUDY")]
    """A built-in study (quick, methods, paper, readings, efficiency, popgym or cassandra), or a
    TOML file."""
    out: Folder = None
    """Folder of the study; runs/NAME if omitted."""
    seeds: Annotated[str | None, SEEDS] = None
    """Number of seeds, or the seeds themselves: 1952,5235; the study's if omitted."""
    steps: Integer = None
    """Maximum environment steps per seed; the study's if omitted."""
    environments: Annotated[str | None, value("NAME,NAME,...")] = None
    """Environments to run, by name or pattern such as 'popgym-*Easy'; all if omitted."""
    entries: Annotated[str | None, value("NAME,NAME,...")] = None
    """Entries to run, by name or pattern; all if omitted."""
    quiet: Quiet = False
    no_compile_cache: NoCompileCache = False
    running: OmitArgPrefixes[_JobOptions] = _JobOptions()
    """Where to run, and what to do about failures."""


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """Search over options of a method, and plot how much each of them matters.

    Finished work is not repeated: after a failure, Ctrl-C or a power cut, the same command resumes
    the sweep.
    """

    file: Annotated[str, Positional, arg(metavar="FILE")]
    """TOML file with the options to search: on a grid, at random, or with Optuna."""
    out: Folder = None
    """Folder of the sweep; runs/NAME if omitted."""
    quiet: Quiet = False
    no_compile_cache: NoCompileCache = False
    running: OmitArgPrefixes[_JobOptions] = _JobOptions()
    """Where to run, and what to do about failures."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """Rewrite the tables, figures and report of a study or sweep from its results so far."""

    folder: Annotated[Path, Positional, arg(metavar="FOLDER")]
    """Folder of the study or sweep."""
    trust: bool = False
    """Allow importing the modules listed in its "imports"."""
