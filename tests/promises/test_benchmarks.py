"""What benchmarks work out for themselves, on numbers whose answer is known."""

import collections
import csv
import dataclasses
import importlib
import math
from pathlib import Path

import jax
import numpy as np
import pytest

from asmpg.policies import KernelTables
from asmpg.studies import load_study
from asmpg.training import train
from studies import TINY

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def benchmark_named(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module


class Tabulated:
    """A policy that is asked for its tables alone: `nu` from two states and two observations."""

    tabulates = True

    def __init__(self, start, update):
        self.tables = KernelTables.from_probabilities(
            start=start, update=update, control=[[1], [1]]
        )

    def tabulate(self):
        return self.tables


class TestNoiseOfGradients:
    def test_noise_is_that_of_the_samples(self, benchmark_named):
        """Of 5,000 samples with a squared mean of 25 and variances of 4 and 9; 5 % are allowed."""
        noise_to_signal = benchmark_named("step_reduction").noise_to_signal
        samples = np.random.default_rng(0).normal([3.0, 4.0], [2.0, 3.0], (5_000, 2))
        assert noise_to_signal(samples) == pytest.approx(13 / 25, rel=0.05)
        assert noise_to_signal(np.asarray([[1.0], [-1.0]])) is None

    def test_the_cosine_is_that_between_the_means(self, benchmark_named):
        cosine = benchmark_named("step_reduction").cosine
        one, other = np.tile([1.0, 0.0], (10, 1)), np.tile([2.0, 2.0], (10, 1))
        assert cosine(one, other) == pytest.approx(math.sqrt(0.5))
        assert cosine(one, -one) == pytest.approx(-1)
        assert cosine(one, np.zeros((10, 2))) is None

    def test_a_kernel_that_copies_is_told_all_and_one_that_ignores_nothing(self, benchmark_named):
        told = benchmark_named("step_reduction").told
        sure = 1e-12
        copies = np.asarray([[1 - sure, sure], [sure, 1 - sure]])
        told_all = Tabulated(copies, np.broadcast_to(copies, (2, 1, 2, 2)))
        told_nothing = Tabulated(np.full((2, 2), 0.5), np.full((2, 1, 2, 2), 0.5))
        with jax.enable_x64(True):
            assert told(told_all) == pytest.approx(math.log(2), rel=1e-4)
            assert told(told_nothing) == pytest.approx(0, abs=1e-6)


def test_a_later_part_of_the_readings_takes_the_place_of_an_earlier_one(benchmark_named, tmp_path):
    readings = benchmark_named("readings")
    parts = []
    for number, entries in enumerate((("asmpg", "ais-kl"), ("asmpg",))):
        part = tmp_path / str(number)
        (part / "tables").mkdir(parents=True)
        lines = ["environment,entry,seed", *(f"CheeseMaze,{name},{number}" for name in entries)]
        (part / "tables" / "results.csv").write_text("\n".join(lines) + "\n")
        parts.append(part)
    rows = readings.joined(load_study("readings"), parts, "results")
    assert [(row["entry"], row["seed"]) for row in rows] == [("asmpg", "1"), ("ais-kl", "0")]


def test_a_cell_is_the_same_if_its_first_seed_is_digit_for_digit(
    benchmark_named, tmp_path, monkeypatch, capsys
):
    same_results = benchmark_named("same_results")
    file = tmp_path / "study.toml"
    file.write_text(TINY.replace("100_000", "1_000"))
    (tmp_path / "tables").mkdir()
    lines = ["environment,entry,seed,score,steps,final,area"]
    for job in load_study(str(file)).jobs():
        first, second = (dataclasses.replace(job.config, seeds=(n,)) for n in job.config.seeds)
        area = same_results.outcome(first, "reward_per_step")["area"]
        # Of the other entry, the last score is that of the other seed.
        last = train(first if job.entry == "two" else second, verbose=0).rows[-1]
        cells = (first.seeds[0], "reward_per_step", last["steps"], f"{last['reward_per_step']:.7g}")
        lines.append(f"CheeseMaze,{job.entry},{','.join(map(str, cells))},{area}")
    (tmp_path / "tables" / "results.csv").write_text("\n".join(lines) + "\n")
    monkeypatch.setattr("sys.argv", ["same_results.py", str(tmp_path)])
    same_results.main()
    said = capsys.readouterr().out
    assert "CheeseMaze, two: the same" in said
    assert "CheeseMaze, three: not the same" in said
    assert "1 of 2 cells are the same" in said
    monkeypatch.setattr("sys.argv", ["same_results.py", str(tmp_path), "--entries", "tw*"])
    same_results.main()
    assert "1 of 1 cells are the same" in capsys.readouterr().out


def test_the_figure_of_popgym_ends_at_the_medians_of_the_seeds(benchmark_named):
    """MineSweeper, our entry with counts, and the GRU: ten seeds each, at their last evaluation."""
    script = benchmark_named("popgym_figure")
    with (BENCHMARKS.parent / "results" / "popgym" / "runs.csv").open() as file:
        ends = collections.defaultdict(list)
        for row in csv.DictReader(file):
            if row["environment"] == "popgym-MineSweeperEasy" and row["due"] == "400000":
                ends[row["entry"]].append(float(row["undiscounted_return"]))
    figure = script.draw(BENCHMARKS.parent / "results")
    place = list(script.easy_tasks(BENCHMARKS.parent / "results")).index("MineSweeperEasy")
    lines = [line.get_ydata()[-1] for line in figure.axes[place].get_lines()]
    assert len(ends["gru-ppo"]) == len(ends["asm-ppo-counts"]) == 10
    assert lines == pytest.approx([np.median(ends[name]) for name in ("gru-ppo", "asm-ppo-counts")])
