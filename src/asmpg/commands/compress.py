"""`asmpg compress`: the score of a behaviour against the size of the memory that has it."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from asmpg.agents import load
from asmpg.analysis.figures import draw_sizes
from asmpg.commands._options import read_options, read_seeds
from asmpg.commands.distil import score_table
from asmpg.commands.solve import read_sizes
from asmpg.distillation import compress as compress
from asmpg.runs import Which


def show(
    run: Path,
    *,
    num_states: str,
    window: int | None,
    finetune: int,
    out: Path | None,
    seed: int | None,
    which: Which,
    seeds: str,
    option: Sequence[str],
    quiet: bool,
    as_json: bool,
    lesson: Mapping[str, Any],
) -> None:
    """Compress the agent of `seed`, print the scores and draw them."""
    sizes = read_sizes(num_states)
    folder = out or run.with_name(f"{run.name}-compressed")
    report = compress(
        load(run, seed=seed, which=which),
        num_states=sizes,
        window=window,
        finetune=finetune,
        out=folder,
        seeds=read_seeds(seeds),
        method_options=read_options("option", option),
        progress=not quiet,
        **lesson,
    )
    paths = draw_sizes(report, folder)
    if as_json:
        print(json.dumps(report, indent=2))
        return
    Console().print(score_table(report))
    print(f"The runs are in {folder}, in a folder for each size")
    for path in paths:
        print(f"Drew {path}")
