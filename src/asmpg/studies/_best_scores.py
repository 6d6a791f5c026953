"""The best checkpoint of each seed, measured again: on episodes that did not choose it."""

import json
from collections.abc import Sequence
from typing import Any

from asmpg._support.errors import CheckpointError
from asmpg.runs import RunFolder
from asmpg.studies._study import Job, Study
from asmpg.studies._study_folder import StudyFolder, write_text
from asmpg.training import evaluate

#: Fresh episodes for each one of an evaluation.
_EPISODES = 10


def best_episodes(study: Study) -> int:
    """How many episodes each best checkpoint plays: as many for every entry."""
    return _EPISODES * study.evaluation_episodes


def write_best_scores(folder: StudyFolder, job: Job) -> None:
    """Measure the best checkpoints of a finished job, unless that is done.

    The numbers are in `best.json`, as `asmpg.evaluate` gives them; the same run gives the same
    file.
    """
    if _read(folder, job) is None:
        found = _measure(folder, job, job.config.seeds)
        write_text(folder.best_path(job), json.dumps(found, indent=1) + "\n")


def best_scores(folder: StudyFolder, job: Job, seeds: Sequence[int]) -> dict[int, dict[str, Any]]:
    """What `asmpg.evaluate` says of the best checkpoint of each of `seeds`; measured if need be."""
    if _read(folder, job) is None and folder.trained(job):
        write_best_scores(folder, job)
    known = _read(folder, job)
    if known is None:
        known = _measure(folder, job, seeds)
    return {entry["seed"]: entry for entry in known if entry["seed"] in seeds}


def _measure(folder: StudyFolder, job: Job, seeds: Sequence[int]) -> list[dict[str, Any]]:
    run, episodes = folder.run_path(job), best_episodes(folder.study)
    for seed in seeds:
        path = RunFolder(run).checkpoint_path(seed, "best")
        if not path.exists():
            raise CheckpointError(f"{path} does not exist: its policy cannot be measured")
    return [
        entry
        for seed in seeds
        for entry in evaluate(
            run, episodes=episodes, greedy=job.config.greedy, seed=seed, which="best"
        )
    ]


def _read(folder: StudyFolder, job: Job) -> list[dict[str, Any]] | None:
    """The file, unless it is missing, damaged or of another number of episodes."""
    try:
        known = json.loads(folder.best_path(job).read_text(encoding="utf-8"))
        said = {(entry["seed"], entry["episodes"]) for entry in known}
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
    episodes = best_episodes(folder.study)
    return known if said == {(seed, episodes) for seed in job.config.seeds} else None
