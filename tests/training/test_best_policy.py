"""Which policy `learn`, `load`, checkpoints and studies hand back."""

import math

import pytest

import asmpg
from asmpg.runs import SeedStatus
from asmpg.training import build_program
from host_environments import NumPyCheeseMaze


def history(*evaluations):
    """A status after evaluations given as (value, standard error), a hundred steps apart."""
    status = SeedStatus()
    for number, (value, error) in enumerate(evaluations):
        status = status.after(100 * number, value, error)
    return status


@pytest.mark.parametrize(
    ("evaluations", "best"),
    [
        ([(1.0, 0.0), (1.0, 0.0), (1.0, 0.0)], 3),  # of equals the latest
        ([(1.0, 0.0), (2.0, 0.0), (1.5, 0.0)], 2),  # exact values: the highest
        ([(0.1, 0.1), (1.0, 0.1), (0.9, 0.1)], 3),  # not to be told apart: the latest
        ([(0.1, 0.1), (1.0, 0.1), (0.2, 0.1)], 2),  # clearly worse: not the latest
        ([(0.5, 0.1), (0.9, 0.3), (0.55, 0.05)], 3),  # a lucky evaluation counts for little
        ([(1.0, math.nan), (0.2, math.nan)], 2),  # single episodes tell nothing
        ([(-5.0, 0.0), (-5.0 - 1e-9, 0.0)], 2),  # rounding
    ],
)
def test_the_latest_that_is_not_clearly_worse(evaluations, best):
    status = history(*evaluations)
    assert status.best_evaluations == best
    assert status.best_value == evaluations[best - 1][0]
    assert status.best_steps == 100 * (best - 1)
    assert status.evaluations == len(evaluations)
    assert status.value == evaluations[-1][0]


def test_a_policy_that_falls_little_by_little_does_not_replace_the_best():
    """Each is as good as the one before it, for all the noise shows, but not as the first."""
    status = history(*[(1.0 - 0.1 * step, 0.06) for step in range(10)])
    assert status.best_value > 0.7


def test_the_objective_decides_not_the_undiscounted_return():
    for objective, optimised in (("discounted", "discounted"), ("episodic", "undiscounted")):
        config = asmpg.RunConfig("CheeseMaze", method=asmpg.ASMPG(objective=objective))
        assert build_program(config, config.resolve()).objective == optimised


@pytest.mark.long_running
def test_a_maze_whose_return_is_1_early_on_is_learned_to_the_end():
    """Every episode that finds the cheese returns 1: only discounting tells quick from slow."""
    agent = asmpg.ASMPPO(num_states=8, critic="memory").learn(
        NumPyCheeseMaze, steps=20_000, evaluate_every=5_000, verbose=0
    )
    last = agent.result.rows[-1]
    (seed,) = agent.result.seeds
    status = agent.result.seeds[seed].status
    assert agent.result.rows[1]["undiscounted_return"] > 0.99
    # Wandering about makes 0.05 a step.
    assert last["reward_per_step"] > 0.12
    assert status.best_steps >= 10_000
