"""One job of a study in its own process: `python -m asmpg.studies.worker FOLDER JOB`.

Exits with 0 when the run is complete, with 2 when another attempt would fail in the same way.
"""

import argparse
import os
import sys
import threading
import traceback
from pathlib import Path


def main() -> int:
    """Pin the process to a core, then train and evaluate; nothing heavy is imported before."""
    parser = argparse.ArgumentParser(prog="asmpg.studies.worker")
    parser.add_argument("folder", type=Path)
    parser.add_argument("job")
    parser.add_argument("--core", type=int, help="run on this core only")
    parser.add_argument(
        "--with-parent", action="store_true", help="exit when standard input is closed"
    )
    arguments = parser.parse_args()
    if arguments.core is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {arguments.core})
    if arguments.with_parent:
        threading.Thread(target=_exit_with_parent, daemon=True).start()
    return _train(arguments.folder, arguments.job)


def _exit_with_parent() -> None:
    while os.read(0, 1024):
        pass
    os._exit(1)


def _train(path: Path, name: str) -> int:
    from asmpg._support.errors import TrainingError
    from asmpg.studies._study_folder import StudyFolder, write_best_scores
    from asmpg.training import train

    try:
        # Whoever started this runs the study, and so trusts the modules that it names.
        folder = StudyFolder(path, trust=True)
        job = next(job for job in folder.study.jobs() if job.name == name)
        run = folder.run_path(job)
        train(job.config, run, resume=(run / "config.json").exists())
        write_best_scores(folder, job)
    except (TrainingError, ValueError):
        traceback.print_exc()
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
