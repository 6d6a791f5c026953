"""Small runs that compile once, and how to compare what they leave behind."""

import numpy as np

from asmpg.runs import RunConfig, RunFolder

SEEDS = (1952, 5235)


def small_config(**changes):
    """A tabular policy with two agent states in a maze of 20 steps: a thousand steps a moment."""
    options = {
        "environment": "CheeseMaze",
        "environment_options": {"max_steps": 20},
        "method": "asmpg",
        "method_options": {"policy": "tabular", "num_states": 2},
        "seeds": SEEDS,
        "steps": 2000,
        "evaluate_every": 500,
        "evaluation_episodes": 10,
    }
    return RunConfig(**options | changes)


def timeless(rows):
    """The rows without their wall times, as text: NaN equals NaN."""
    return [str({name: row[name] for name in row if name != "wall_seconds"}) for row in rows]


def assert_same_runs(one, other):
    """Both folders hold the same rows, but for their times, and checkpoints with the same bits."""
    one, other = RunFolder(one), RunFolder(other)
    assert timeless(one.rows()) == timeless(other.rows())
    for seed in one.config.seeds:
        for which in ("best", "last"):
            first, second = (run.checkpoint_path(seed, which) for run in (one, other))
            assert first.read_bytes() == second.read_bytes()


def arrays(path):
    """The arrays of a checkpoint by name."""
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}
