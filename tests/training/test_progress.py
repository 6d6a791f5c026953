"""Progress in plain lines, where there is no terminal."""

import io
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
