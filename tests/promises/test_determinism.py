"""A seed decides its results, whatever runs beside it and however often it is looked at."""

import os
import subprocess
import sys

import jax
import numpy as np
import pytest

from asmpg.training import train
from runs import assert_same_runs, small_config, timeless

ALONE = small_config(seeds=(1952,))


def assert_same_states(one, other):
    for a, b in zip(jax.tree.leaves(one.learner), jax.tree.leaves(other.learner), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.fixture(scope="module")
def alone():
    return train(ALONE)


def test_a_run_repeats_bit_for_bit(alone):
    again = train(ALONE)
    assert timeless(again.rows) == timeless(alone.rows)
    assert_same_states(again.seeds[1952].last, alone.seeds[1952].last)


def test_a_seed_does_not_depend_on_the_seeds_beside_it(alone):
    among = train(small_config(seeds=(8234, 1952, 5235)))
    own = [row for row in among.rows if row["seed"] == 1952]
    assert timeless(own) == timeless(alone.rows)
    assert_same_states(among.seeds[1952].last, alone.seeds[1952].last)


def test_seeds_differ(alone):
    other = train(small_config(seeds=(5235,)))
    assert timeless(other.rows) != timeless(alone.rows)


def test_evaluations_do_not_change_what_is_learned(alone):
    often = train(small_config(seeds=(1952,), evaluate_every=200))
    assert len(often.rows) == 11
    assert_same_states(often.seeds[1952].last, alone.seeds[1952].last)


def test_abreast_a_seed_is_the_same_up_to_rounding(alone, monkeypatch):
    """One program for all seeds sums in another order; its random numbers are the same."""
    monkeypatch.setattr("asmpg.training._loop._in_one_program", lambda: True)
    abreast = train(small_config())
    own = [row for row in abreast.rows if row["seed"] == 1952]
    for row, expected in zip(own, alone.rows, strict=True):
        assert {name: row[name] for name in ("steps", "episodes", "updates")} == {
            name: expected[name] for name in ("steps", "episodes", "updates")
        }
        exact = ("exact_discounted", "exact_undiscounted", "gradient_norm", "nu_entropy")
        for name in exact:
            assert row[name] == pytest.approx(expected[name], rel=1e-4, nan_ok=True)
    again = train(small_config())
    assert timeless(again.rows) == timeless(abreast.rows)


TRAIN = """
import os, sys
os.sched_setaffinity(0, set(map(int, sys.argv[2].split(","))))
import asmpg
small = {"num_states": 2, "num_environments": 4, "rollout_steps": 32, "epochs": 1}
config = asmpg.RunConfig(
    "CheeseMaze",
    method_options=small,
    seeds=(1952, 5235),
    steps=300,
    evaluate_every=150,
    evaluation_episodes=10,
)
asmpg.train(config, sys.argv[1])
"""


@pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2,
    reason="needs two cores to take one away",
)
def test_the_number_of_cores_changes_nothing(tmp_path):
    """The default method, two seeds, on one core and on two."""
    cores = [str(core) for core in sorted(os.sched_getaffinity(0))[:2]]
    for name, seen in (("one", cores[0]), ("two", ",".join(cores))):
        command = [sys.executable, "-c", TRAIN, str(tmp_path / name), seen]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    assert_same_runs(tmp_path / "one", tmp_path / "two")
