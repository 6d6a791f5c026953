"""Progress in plain lines, where there is no terminal."""

import io

import pytest
from rich.console import Console

from asmpg.training import Progress, Score
from runs import small_config


@pytest.mark.parametrize(
    ("seeds", "told"), [((1,), "score 0.5, "), ((1, 2), "score 0.5 (mean of 2 seeds), ")]
)
def test_seeds_are_counted_in_plain_english(seeds, told):
    text = io.StringIO()
    progress = Progress(Console(file=text))
    progress.on_start(small_config(seeds=seeds), Score("score", "exact", "yardstick"), {})
    progress.on_compiled(1.0)
    for seed in seeds:
        progress.on_evaluation(seed, {"seed": seed, "steps": 2000, "score": 0.5})
    assert told in text.getvalue().splitlines()[-1]
