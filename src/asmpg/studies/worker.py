"""One job of a study or a sweep in its own process: `python -m asmpg.studies.worker FOLDER JOB`.

Exits with 0 when the run is complete, with 2 when another attempt would fail in the same way, with
75 when another process has the run. Without a job, it only says whether jobs could run here.
"""

import argparse
import os
import signal
import sys
import threading
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asmpg.studies._job_folder import JobFolder


def main() -> int:
    """Pin the process to cores, then train and evaluate; nothing heavy is imported before."""
    parser = argparse.ArgumentParser(prog="asmpg.studies.worker")
    parser.add_argument("folder", type=Path)
    parser.add_argument("job", nargs="?")
    parser.add_argument("--cores", help="run on these cores only: 0,1")
    parser.add_argument("--gpu", action="store_true", help="without a job: look for a GPU, too")
    parser.add_argument(
        "--with-parent", action="store_true", help="exit when standard input is closed"
    )
    arguments = parser.parse_args()
    # The runner asks for an end by this signal, which what runs in the background ignores.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if arguments.cores is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {int(core) for core in arguments.cores.split(",")})
    if arguments.with_parent:
        threading.Thread(target=_exit_with_parent, daemon=True).start()
    if arguments.job is None:
        return _check(arguments.folder, gpu=arguments.gpu)
    return _train(arguments.folder, arguments.job)


def _exit_with_parent() -> None:
    while os.read(0, 1024):
        pass
    os._exit(1)


def _train(path: Path, name: str) -> int:
    from asmpg._support.errors import TrainingError
    from asmpg._support.locks import FolderInUseError
    from asmpg._support.remote import LOST

    try:
        folder = _open(path)
        folder.run(next(job for job in folder.jobs() if job.name == name))
    except FolderInUseError as error:
        print(error)
        return LOST
    except (TrainingError, ValueError):
        traceback.print_exc()
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def _open(path: Path) -> "JobFolder[Any]":
    """The folder of a study or of a sweep. Whoever started this trusts the modules it names."""
    if (path / "sweep.toml").is_file():
        from asmpg.sweeps import SweepFolder

        return SweepFolder(path, trust=True)
    from asmpg.studies._study_folder import StudyFolder

    return StudyFolder(path, trust=True)


def _check(path: Path, *, gpu: bool) -> int:
    import jax

    try:
        _open(path)
        if gpu and jax.default_backend() == "cpu":
            raise ValueError("jax finds no GPU")
    except (ValueError, ImportError, RuntimeError) as error:
        print(error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
