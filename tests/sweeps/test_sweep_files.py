"""Sweep files: what they say, and what is wrong with them, line by line."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

from asmpg import cli
from asmpg.runs import default_seeds
from asmpg.sweeps import Choice, Range, load_sweep
from asmpg.sweeps._sweep_file import parse_sweep
from sweeps import SWEEP

DOCS = Path(__file__).parents[2] / "docs" / "sweeps.md"


def test_a_file_says_what_is_tried_and_what_is_not():
    sweep = parse_sweep(SWEEP, name="my.toml", check=True)
    assert sweep.name == "my"
    assert sweep.entry.options == {"policy": "tabular"}
    assert sweep.dimensions == {
        "learning_rate": Range(1e-3, 1e-1, log=True),
        "num_states": Choice((2, 3)),
    }
    assert sweep.ends == (250, 500, 1000)
    assert (sweep.how, sweep.objective, sweep.keep) == ("random", "final", 0.5)


def test_seeds_are_not_those_that_results_are_reported_on():
    seeds = parse_sweep(SWEEP, name="my.toml").study.seeds
    assert seeds == (20_000, 20_001)
    assert not {*seeds} & {*default_seeds(1000)}
    own = SWEEP.replace("seeds = 2", "seeds = [5, 7]")
    assert parse_sweep(own, name="my.toml").study.seeds == (5, 7)


def test_steps_are_those_of_the_method_unless_the_file_says():
    text = 'environments = ["CheeseMaze"]\n[options.learning_rate]\nlow = 0.001\nhigh = 0.01'
    sweep = parse_sweep(text, name="my.toml")
    assert (sweep.study.steps, sweep.study.evaluate_every) == (150_000, 5_000)
    assert len(sweep.study.seeds) == 3


@pytest.mark.parametrize(
    ("given", "range_", "grid"),
    [
        ("low = 0.0\nhigh = 1.0\npoints = 3", Range(0.0, 1.0, points=3), [0.0, 0.5, 1.0]),
        ("low = 1\nhigh = 4", Range(1, 4, integer=True), [1, 2, 3, 4]),
        (
            'low = 1\nhigh = 100\nscale = "log"\npoints = 3',
            Range(1, 100, True, True, 3),
            [1, 10, 100],
        ),
        ("low = 0\nhigh = 1\ninteger = false\npoints = 2", Range(0, 1, points=2), [0, 1]),
    ],
)
def test_ranges(given, range_, grid):
    text = SWEEP.split("[options.learning_rate]")[0] + f"[options.learning_rate]\n{given}\n"
    [found] = parse_sweep(text, name="my.toml").dimensions.values()
    assert found == range_
    assert isinstance(found, Range)
    assert found.grid() == grid
    generator = np.random.default_rng(0)
    drawn = [found.draw(generator) for _ in range(300)]
    assert all(found.low <= value <= found.high for value in drawn)
    if found.integer and not found.log:
        # 75 of each expected, with a standard deviation of 7.5.
        assert all(50 < drawn.count(value) < 100 for value in grid)


def test_log_ranges_are_uniform_in_the_logarithm():
    generator = np.random.default_rng(0)
    drawn = np.asarray([Range(1e-4, 1.0, log=True).draw(generator) for _ in range(1000)])
    # Half of them are below the middle of the logarithms; a standard deviation is 0.016.
    assert np.mean(drawn < 1e-2) == pytest.approx(0.5, abs=0.06)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("trials = 8", "trails = 8", "line 8: trails is not known; accepted: name, "),
        ("trials = 8", "trials = 0", "line 8: trials must be an integer"),
        ("trials = 8", 'how = "guess"', "line 8: how must be one of grid, random, optuna, got"),
        ("trials = 8", 'trials = 8\nhow = "grid"', "line 8: trials is that of the grid"),
        ("trials = 8", 'objective = "last"', "line 8: objective must be one of final, best, area"),
        ("seeds = 2", "seeds = 0", "line 4: seeds must be a number of seeds or a list"),
        ("seeds = 2", "seeds = [1, 1]", "line 4: seeds must be a number of seeds or a list"),
        ("[250, 500]", "[500, 250]", "line 9: rungs must be in ascending order"),
        ("[250, 500]", "[250, 1000]", r"line 9: rungs must be an integer in \[1, 999\], got 1000"),
        ("[250, 500]", "3", "line 9: rungs must be a list of steps, got 3"),
        ("abreast = 3", "keep = 1", "line 10: keep must be a share between 0 and 1, got 1"),
        ('"asmpg"', '"asmgp"', "line 3: method must be one of asm-ppo, "),
        ('["CheeseMaze"]', '["Cheese"]', "line 2: environments must be one of"),
        (
            '["CheeseMaze"]',
            '["CheeseMaze", "Tiger"]',
            r"ranges must say which scores count as 0 and as 1 in each .* \"CheeseMaze\" = \[0.0",
        ),
        ("[options]", "[ranges]\nCheeseMaze = [1, 0]\n[options]", "line 16: .* lower score first"),
        ('"tabular"', '"tables"', r"line 16: options.policy in CheeseMaze: policy must be one of"),
        ("[options.num_states]", "[options.states]", "line 23: options.states is not an option"),
        ("[2, 3]", "[2, 0]", "line 23: .*num_states must be an integer"),
        ("[2, 3]", "[2, 2]", "line 24: options.num_states.values must be different"),
        ("[2, 3]", "[]", "line 24: options.num_states.values must be a list of values"),
        ("high = 1e-1", "", "line 18: .* must have values = .*, or low and high; it has no high"),
        ("high = 1e-1", "high = 1e-4", "line 20: .*high must be above low, 0.001, got 0.0001"),
        ("low = 1e-3", "low = 0", "line 19: .*low must be above 0 on a log scale, got 0"),
        ('scale = "log"', 'scale = "sqrt"', "line 21: .*scale must be one of linear, log"),
        ('scale = "log"', "integer = true", "line 18: .* must have integers as low and high"),
        ('scale = "log"', "step = 1", "line 21: .*step is not known; accepted: values, low"),
    ],
)
@pytest.mark.usefixtures("as_user")
def test_what_is_wrong_is_told_with_its_line(old, new, message):
    assert SWEEP.count(old) == 1
    with pytest.raises(ValueError, match=f"my.toml(, |: ){message}"):
        parse_sweep(SWEEP.replace(old, new), name="my.toml", check=True)


def test_optuna_is_asked_for_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    text = SWEEP.replace("trials = 8", 'how = "optuna"')
    with pytest.raises(ValueError, match=r"my.toml, line 8: how is optuna, which is missing"):
        parse_sweep(text, name="my.toml", check=True)


@pytest.mark.usefixtures("as_user")
def test_nothing_to_sweep_is_an_error():
    text = SWEEP.split("[options.learning_rate]")[0]
    with pytest.raises(ValueError, match="line 15: options must have a table for each option"):
        parse_sweep(text, name="my.toml")


def test_a_file_that_is_not_there_is_one_line(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stop:
        cli.main(["sweep", "no.toml"])
    assert stop.value.code == 2
    assert capsys.readouterr().err == "asmpg: error: sweep must be a TOML file, got 'no.toml'\n"


@pytest.mark.parametrize(
    "text", re.findall(r"```toml\n(environments.*?)```", DOCS.read_text(), re.S)
)
def test_the_sweeps_of_the_documentation_are_accepted(text, tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: object())
    (tmp_path / "docs.toml").write_text(text)
    assert load_sweep(tmp_path / "docs.toml").trials > 1
