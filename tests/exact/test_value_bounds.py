"""Bounds hold, meet where they are known to, and the lower one is reached by its plan."""

import numpy as np
import pytest

import asmpg
from asmpg.environments import FiniteModel
from asmpg.exact import belief_process, optimal_returns, value_bounds, yardsticks
from asmpg.exact._point_based import PointBasedSearch
from asmpg.exact._sawtooth import Sawtooth
from asmpg.exact._sparse_process import SparseProcess
from finite import make_finite


def bounds(name, trials, *, first_observation=False, stop_at_goals=False, **options):
    model = asmpg.read_pomdp(name)
    finite = model.finite(first_observation=first_observation, stop_at_goals=stop_at_goals)
    return value_bounds(finite, discount=model.discount, seconds=600, max_trials=trials, **options)


@pytest.mark.parametrize(
    ("name", "first_observation", "trials", "published", "within"),
    [
        ("4x3_nonterminating.pomdp", False, 250, (1.8899, 1.8910), 0.005),
        ("tmaze5.pomdp", True, 30, (2.1258, 2.1258), 0.001),
        ("cheese.95_nonterminating.pomdp", True, 150, (3.5789, 3.5789), 0.005),
        ("tiger-alt-start.pomdp", True, 50, (3.770, 3.770), 0.005),
        ("shuttle.pomdp", True, 60, (32.890, 32.890), 0.05),
    ],
)
def test_bounds_enclose_the_published_optimum(name, first_observation, trials, published, within):
    """Published to so many digits; the interval overlaps with theirs and is as narrow as stated."""
    found = bounds(name, trials, first_observation=first_observation)
    digit = 10.0 ** -str(published[0])[::-1].index(".")
    assert found.lower <= published[1] + digit
    assert found.upper >= published[0] - digit
    assert found.gap <= within * abs(published[0])
    assert found.upper <= found.fast_informed + 1e-9 <= found.full_state + 2e-9


def test_bounds_of_an_episodic_model_enclose_its_exact_optimum():
    """CheeseMaze ends; its history optimum over 200 steps is that of an infinite horizon."""
    model = make_finite("CheeseMaze").model
    exact = optimal_returns(belief_process(model, horizon=200), horizon=200, discount=0.99)
    found = value_bounds(model, discount=0.99, seconds=600, max_trials=100)
    assert found.lower <= exact.discounted + 1e-9
    assert found.upper >= exact.discounted - 1e-9
    assert found.gap < 0.002


def test_what_stops_at_goals_is_worth_less():
    endless = bounds("4x3_nonterminating.pomdp", 20)
    stopping = bounds("4x3_nonterminating.pomdp", 20, stop_at_goals=True)
    assert stopping.upper < endless.lower


def test_bounds_tighten_with_every_trial():
    seen = []
    bounds("4x3_nonterminating.pomdp", 30, progress=lambda low, high: seen.append((low, high)))
    lower, upper = np.array(seen).T
    assert len(seen) == 31
    assert (np.diff(lower) >= -1e-9).all()
    assert (np.diff(upper) <= 1e-9).all()
    assert upper[-1] - lower[-1] < 0.5 * (upper[0] - lower[0])


def test_a_sweep_raises_the_lower_bound_at_beliefs_that_were_visited_and_lowers_it_at_none():
    model = asmpg.read_pomdp("hallway.pomdp")
    search = PointBasedSearch(SparseProcess.of(model.finite(), model.discount))
    for _ in range(5):
        search.trial()
    visited = search.ceiling.points.copy()
    before, upper = search._floor(visited), search._ceiling(visited)
    search._sweep(np.inf)
    after = search._floor(visited)
    assert (after >= before - 1e-9).all()
    assert after.mean() > before.mean()
    assert (after <= upper + 1e-9).all()


def test_the_same_number_of_trials_gives_the_same_bounds():
    one, other = (bounds("hallway.pomdp", 8) for _ in range(2))
    assert (one.lower, one.upper) == (other.lower, other.upper)


def test_the_lower_bound_can_be_worked_out_from_its_plans():
    """Each plan is worth its reward plus what its successors are worth, by definition."""
    model = asmpg.read_pomdp("tiger-alt-start.pomdp")
    finite = model.finite()
    found = value_bounds(finite, discount=model.discount, seconds=600, max_trials=10)
    worth = dict(zip(found.numbers, found.vectors, strict=True))
    checked = 0
    for number, vector in worth.items():
        plan = found.plans[number]
        if all(int(successor) in worth for successor in plan.successor):
            following = np.stack([worth[int(successor)] for successor in plan.successor])
            seen = np.einsum("yo,oy->y", finite.observation[plan.action], following)
            expected = finite.expected_reward[:, plan.action] + model.discount * (
                finite.transition[:, plan.action] @ seen
            )
            np.testing.assert_allclose(vector, expected, rtol=1e-9, atol=1e-9)
            checked += 1
    assert checked > 5


def test_the_sawtooth_is_the_formula():
    generator = np.random.default_rng(0)
    corners = generator.normal(size=5)
    points = generator.dirichlet(np.full(5, 0.5), size=7)
    points[2:4, :3] = 0.0
    points /= points.sum(axis=1, keepdims=True)
    values = points @ corners - generator.uniform(0.1, 1.0, size=7)
    bound = Sawtooth(corners)
    for point, value in zip(points, values, strict=True):
        bound.add(point, value)
    queries = np.concatenate([generator.dirichlet(np.ones(5), size=20), points, np.eye(5)])
    expected = [
        corners @ b
        + min(
            0.0,
            *(
                (v - corners @ p) * np.min(b[p > 0] / p[p > 0])
                for p, v in zip(points, values, strict=True)
            ),
        )
        for b in queries
    ]
    np.testing.assert_allclose(bound.values(queries), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(bound.values(3 * queries), 3 * bound.values(queries), rtol=1e-12)
    before = bound.values(queries)
    bound.prune()
    assert bound.num_points <= 7
    np.testing.assert_allclose(bound.values(queries), before, rtol=1e-9, atol=1e-9)


def test_wrong_arguments_are_named():
    model = FiniteModel.from_arrays(
        transition=np.ones((1, 1, 1)), observation=[[1.0]], reward=[[1.0]], start=[1.0]
    )
    with pytest.raises(ValueError, match="discount must be below 1 over an infinite horizon"):
        value_bounds(model, discount=1.0)
    with pytest.raises(ValueError, match="seconds must be a number of at least 0"):
        value_bounds(model, discount=0.9, seconds=-1)
    assert value_bounds(model, discount=0.9).lower == pytest.approx(10)


def test_the_yardsticks_of_a_file_bracket_its_history_optimum(monkeypatch):
    """With no beliefs to spare, bounds stand for the optimum that all beliefs give."""
    env = asmpg.make("tiger-alt-start.pomdp", max_steps=60)
    exact = yardsticks(env)
    assert exact.history_bound is None
    monkeypatch.setattr("asmpg.exact._yardsticks._MOST_PRODUCTS", 0)
    found = yardsticks(env)
    assert (found.history_optimal.kind, found.history_bound.kind) == ("search", "bound")
    # After sixty steps there is between listening for ever, and the right door at once.
    cut = 0.95**60
    assert found.history_optimal.discounted == pytest.approx(3.77 - 10 * cut, abs=0.02)
    assert found.history_bound.discounted == pytest.approx(3.77 + 20 * cut, abs=0.02)
    assert found.history_optimal.discounted < exact.history_optimal.discounted
    assert exact.history_optimal.discounted < found.history_bound.discounted


def test_lower_corners_lower_the_bound_and_leave_points_as_they_are():
    sawtooth = Sawtooth(np.array([1.0, 2.0]))
    half = np.array([[0.5, 0.5]])
    sawtooth.add(half[0], 1.2)
    sawtooth.lower_corners(np.array([0.8, 3.0]))
    assert sawtooth.corners.tolist() == [0.8, 2.0]
    assert sawtooth.values(half) == pytest.approx([1.2])
    assert sawtooth.values(np.eye(2)) == pytest.approx([0.8, 2.0])
    sawtooth.lower_corners(np.array([0.0, 0.4]))
    assert sawtooth.values(half) == pytest.approx([0.2])
