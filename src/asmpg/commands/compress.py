"""`asmpg compress`: the score of a policy against the size of its memory."""

import json
from pathlib import Path
from typing import Any

from rich.console import Console

from asmpg.analysis.figures import draw_sizes
from asmpg.commands.distil import default_folder, read_lesson, score_table
from asmpg.commands.solve import read_sizes
from asmpg.distillation import compress as compress


def show(run: Path, *, num_states: str, out: Path | None, as_json: bool, **asked: Any) -> None:
    """Compress the agent of a seed, print the scores and draw them."""
    sizes = read_sizes(num_states)
    folder = out or default_folder(run, "compressed", asked["teacher"])
    teacher, options = read_lesson(run, **asked)
    report = compress(teacher, num_states=sizes, out=folder, **options)
    paths = draw_sizes(report, folder)
    if as_json:
        print(json.dumps(report, indent=2))
        return
    Console().print(score_table(report))
    print(f"The runs are in {folder}, one folder per size")
    for path in paths:
        print(f"Drew {path}")
