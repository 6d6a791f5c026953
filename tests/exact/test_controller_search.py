"""Machines keep their value when cut down, and controllers reach what is known of their size."""

import numpy as np
import pytest

import asmpg
from asmpg.exact import infinite_horizon_value, policy_graphs, solve_controller, value_bounds
from asmpg.exact._controller_search import machine_tables
from asmpg.exact._policy_graph import PolicyGraph, evaluated, graph_of, shrunk
from asmpg.exact._sparse_process import SparseProcess
from finite import make_finite

pytestmark = pytest.mark.long_running


@pytest.fixture(scope="module")
def maze():
    model = asmpg.read_pomdp("4x3_nonterminating.pomdp")
    bounds = value_bounds(model.finite(), discount=0.95, seconds=600, max_trials=150)
    return model.finite(), SparseProcess.of(model.finite(), 0.95), bounds


def test_a_machine_is_worth_what_its_tables_are(maze):
    """Two solvers: sparse, on pairs of states, to 1e-5; and that of kernel tables."""
    model, process, _ = maze
    generator = np.random.default_rng(0)
    graph = PolicyGraph(
        generator.integers(4, size=6), generator.integers(6, size=(6, 7)), np.array([3])
    )
    found = evaluated(process, graph)
    tables = machine_tables(model, process, found)
    assert found.value == pytest.approx(
        infinite_horizon_value(model, tables, discount=0.95), rel=1e-3, abs=1e-4
    )
    # Discounted visits sum to 1 / (1 - gamma), and are worth what the values say.
    assert found.visits.sum() == pytest.approx(20, rel=1e-3)
    paid = (found.visits * process.reward[:, graph.action].T).sum()
    assert paid == pytest.approx(found.value, rel=1e-2, abs=1e-3)


def test_a_machine_made_of_the_lower_bound_is_about_as_good(maze):
    """The optimum lies in [1.8899, 1.8910]."""
    _, process, bounds = maze
    whole = graph_of(process, bounds)
    assert 1.8 < whole.value < 1.8911
    small = shrunk(process, whole, 8)
    assert small.graph.num_states == 8
    assert small.graph.successor.max() < 8
    assert 1.7 < small.value < 1.8911


def test_the_best_controller_of_each_size(maze):
    """At least what was measured here, less 3 %; no more than the upper bound."""
    model, _, bounds = maze
    graphs = policy_graphs(model, discount=0.95, bounds=bounds, sizes=(8, 4), seconds=600)
    assert graphs[4].value <= graphs[8].value
    for size, reached in ((4, 1.70), (8, 1.87)):
        found = solve_controller(
            model,
            num_states=size,
            discount=0.95,
            graph=graphs[size],
            seconds=600,
            steps=40,
            restarts=0,
        )
        assert found.num_states == size
        assert found.value >= 0.97 * reached
        assert found.value <= bounds.upper
        again = infinite_horizon_value(model, found.tables, discount=0.95)
        assert again == pytest.approx(found.value, rel=1e-9)


def test_climbing_alone_finds_a_controller_without_bounds():
    """Tiger at 0.95 with 2 agent states cannot do better than listening for ever, -20."""
    model = make_finite("Tiger").model
    found = solve_controller(
        model, num_states=2, discount=0.95, restarts=2, steps=150, seconds=600, seed=0
    )
    assert found.began == "random"
    assert found.value >= -20.5


def test_deterministic_controllers_draw_nothing_at_random(maze):
    model, process, bounds = maze
    graph = shrunk(process, graph_of(process, bounds), 4)
    found = solve_controller(model, num_states=4, discount=0.95, graph=graph, deterministic=True)
    for table in (found.tables.log_nu, found.tables.log_phi):
        assert set(np.unique(np.exp(table))) == {0.0, 1.0}
    with pytest.raises(ValueError, match="graph must be given for a deterministic controller"):
        solve_controller(model, num_states=4, discount=0.95, deterministic=True)


def test_a_machine_has_what_the_search_did_not_look_at():
    """Tiger's search follows one side only, since both are alike; eight states are optimal."""
    model = asmpg.read_pomdp("tiger-alt-start.pomdp").finite()
    bounds = value_bounds(model, discount=0.95, seconds=600, max_trials=16)
    graphs = policy_graphs(model, discount=0.95, bounds=bounds, sizes=(5, 8), seconds=600)
    assert graphs[8].value == pytest.approx(3.7702, abs=1e-3)
    assert graphs[5].value == pytest.approx(3.2992, abs=1e-3)
