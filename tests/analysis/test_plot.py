"""`asmpg plot`: the learning curve of a run, without training one."""

import math

import pytest

from asmpg.analysis._results import memory_curves
from asmpg.analysis.figures import draw_run
from asmpg.analysis.figures._run import draw_memory
from asmpg.runs import RunFolder
from asmpg.training import score_of
from runs import small_config

figure = pytest.importorskip("matplotlib.figure")
#: An update of 512 steps spans several of the evaluations that are due every 100.
STEPS = {1952: (0, 512, 1024), 5235: (0, 512)}


def lines(tmp_path, steps, exact=math.nan, **changes):
    """The curves of a made-up run by their labels; those of single seeds as a list."""
    config = small_config(seeds=tuple(steps), steps=1000, evaluate_every=100, **changes)
    folder = RunFolder.create(tmp_path / "run", config)
    rows = [
        dict.fromkeys(folder.columns, 0.5)
        | {"seed": seed, "steps": taken, "episodes": 0, "updates": 0}
        | {"exact_reward_per_step": exact}
        for seed, own in steps.items()
        for taken in own
    ]
    folder.write_rows(rows)
    axes = figure.Figure().subplots()
    draw_run(axes, folder, score_of(config.resolve().environment))
    found = {}
    for line in axes.get_lines():
        found.setdefault(line.get_label(), []).append(line.get_xdata().tolist())
    return found


def test_evaluations_are_drawn_at_the_steps_that_were_taken(tmp_path):
    found = lines(tmp_path, STEPS)
    drawn = [line for own in found.values() for line in own]
    assert drawn.count([0, 512, 1024]) == 1
    # The seed that is not as far, and the mean as far as both are.
    assert drawn.count([0, 512]) == 2
    assert found["mean of 2 seeds, sampled"] == [[0, 512]]


def test_sampled_scores_stand_beside_exact_ones(tmp_path):
    found = lines(tmp_path, STEPS, exact=0.4)
    assert found["mean of 2 seeds, exact"] == found["mean of 2 seeds, sampled"] == [[0, 512]]


def test_the_use_of_agent_states_is_drawn_where_it_was_measured(tmp_path):
    lines(tmp_path, STEPS)
    folder = RunFolder(tmp_path / "run")
    rows = folder.rows()
    memory = memory_curves(rows, list(STEPS))
    axes = figure.Figure().subplots()
    draw_memory(axes, folder.config, memory)
    drawn = [line for each in axes.figure.axes for line in each.get_lines()]
    assert [line.get_xdata().tolist() for line in drawn] == [[0, 512], [0, 512]]
    unknown = [row | {"states_in_use": math.nan, "memory_entropy": math.nan} for row in rows]
    assert memory_curves(unknown, list(STEPS)) == {}


def test_one_seed_is_no_mean(tmp_path):
    found = lines(tmp_path, {1952: (0, 512, 1024)}, exact=0.4)
    assert found == {"1 seed, exact": [[0, 512, 1024]], "1 seed, sampled": [[0, 512, 1024]]}
