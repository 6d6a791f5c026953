"""`compress`: the score of a policy with memories of several sizes."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from asmpg._support.checks import check_integer
from asmpg._support.files import write_atomically
from asmpg.distillation._lesson import Lesson
from asmpg.distillation._progress import DistilProgress
from asmpg.runs import check_unused, default_seeds

SIZES = (2, 4, 8)
#: What is written beside the runs.
REPORT = "compress.json"


def compress(
    teacher: Any,
    environment: Any = None,
    *,
    num_states: Sequence[int] = SIZES,
    window: int | None = None,
    finetune: int = 0,
    out: str | Path | None = None,
    seeds: int | Sequence[int] = 1,
    method_options: Mapping[str, Any] | None = None,
    verbose: int = 1,
    **lesson: Any,
) -> dict[str, Any]:
    """Distil `teacher`, usually one with many agent states, into memories of several sizes.

    Returns the score of the teacher and, for each size and seed, the student's scores after
    distillation and after fine-tuning, and how close it came to the teacher. With `out`, each size
    is a run in a folder of that name, and the report is in `compress.json`. The other arguments
    are those of `distil`.

    >>> asmpg.compress("runs/CheeseMaze-asm-ppo", num_states=(2, 4, 8))["students"]
    """
    check_integer("finetune", finetune, low=0)
    sizes = _checked_sizes(num_states)
    lessons = Lesson(teacher, environment, **lesson)
    folder = None if out is None else Path(out)
    if folder is not None:
        check_unused(folder)
    folders = {size: None if folder is None else folder / str(size) for size in sizes}
    configs = {
        size: lessons.config(
            num_states=size,
            window=window,
            seeds=default_seeds(seeds) if isinstance(seeds, int) else seeds,
            options=method_options or {},
            out=folders[size],
        )
        for size in sizes
    }
    report: dict[str, Any] = {"environment": lessons.name, "score": lessons.score.name}
    try:
        with DistilProgress(lessons.name, wanted=bool(verbose)) as shown:
            report |= {"teacher": lessons.teacher_score(progress=shown), "students": []}
        for size, config in configs.items():
            done = lessons.teach(
                config,
                folders[size],
                finetune=finetune,
                teacher=report["teacher"],
                verbose=verbose,
            )
            report["students"] += [
                {"num_states": size, **entry} for entry in done.report["students"]
            ]
            if folder is not None:
                text = json.dumps(report, indent=2) + "\n"
                write_atomically(folder / REPORT, lambda file: file.write(text.encode()))  # noqa: B023
    finally:
        lessons.close()
    return report


def _checked_sizes(num_states: Sequence[int]) -> tuple[int, ...]:
    sizes = tuple(num_states)
    if not sizes:
        raise ValueError("num_states must be a list of sizes, at least one, got none")
    for size in sizes:
        check_integer("num_states", size, low=1)
    return tuple(sorted(set(sizes)))
