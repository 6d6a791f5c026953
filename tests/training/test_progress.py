"""Progress in plain lines, where there is no terminal."""

import io
import re
import time

import pytest
from rich.console import Console

import asmpg
from asmpg.training import Progress, Score, learn, train
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


def test_the_speed_of_seeds_that_report_together(monkeypatch):
    """A hundred seeds take 1,000 steps each in 25 s, and all say so within a second."""
    clock, text = [0.0], io.StringIO()
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    progress = Progress(Console(file=text))
    config = small_config(seeds=tuple(range(100)), steps=4_000)
    progress.on_start(config, Score("score", "exact", "yardstick"), {})
    progress.on_compiled(1.0)
    for report in range(5):
        clock[0] = 25.0 * report
        for seed in config.seeds:
            clock[0] += 0.001
            progress.on_evaluation(seed, {"seed": seed, "steps": 1_000 * report, "score": 0.5})
    speeds = re.findall(r"([\d,]+) steps/s", text.getvalue())
    # The first are said in the middle of the first report, and miss those still to come.
    assert [round(int(speed.replace(",", "")), -2) for speed in speeds[3:]] == [4_000] * 7


@pytest.mark.parametrize("learns", [True, False])
@pytest.mark.parametrize("verbose", [0, 1, 2])
def test_what_python_shows_from_compiling_on(capsys, verbose, learns):
    config = small_config(seeds=(1,), steps=500)
    if learns:
        learn(
            config.make_method(),
            asmpg.make("CheeseMaze", max_steps=20),
            steps=500,
            seeds=(1,),
            evaluate_every=500,
            evaluation_episodes=10,
            verbose=verbose,
        )
    else:
        train(config, verbose=verbose)
    lines = capsys.readouterr().err.splitlines()
    if not verbose:
        assert lines == []
        return
    assert lines[0] == "CheeseMaze, asmpg: compiling"
    assert "compiled in" in lines[1]
    every = [line for line in lines if "seed 1, " in line]
    assert len(every) == (2 if verbose == 2 else 0)
    if every:
        assert "exact discounted" in every[1]
        assert "gradient norm" in every[1]
        assert "nan" not in every[0]


def test_the_live_display_says_for_how_long_it_compiles(monkeypatch):
    progress = Progress(Console(file=io.StringIO(), force_terminal=True))
    progress.on_start(small_config(), Score("score", "exact", "yardstick"), {})
    progress.on_compile()
    now = time.monotonic()
    monkeypatch.setattr("time.monotonic", lambda: now + 75)
    text = io.StringIO()
    Console(file=text, width=200).print(progress._render())
    progress.on_end(None)
    assert "0%, compiling, 0:01:15" in text.getvalue()


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize("verbose", [3, -1, "loud"])
def test_other_levels_are_refused(verbose):
    with pytest.raises(ValueError, match="verbose must be 0, 1 or 2, got"):
        train(small_config(), verbose=verbose)
