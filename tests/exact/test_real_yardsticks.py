"""The yardsticks of environments with real observations, and the simulation that checks them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from asmpg.environments.cheese_maze import CheeseMaze
from asmpg.environments.healthcare_treatment import AGGRESSIVE, MILD, NONE, HealthcareTreatment
from asmpg.environments.machine_repair import MachineRepair
from asmpg.environments.tiger import Tiger
from asmpg.environments.velocity_only_cart_pole import VelocityOnlyCartPole
from asmpg.exact import (
    GridSize,
    HealthcareEffort,
    HealthcareSolution,
    HealthTable,
    IntegratingRule,
    StateRule,
    UniformAct,
    ValuedTable,
    VelocityRule,
    Yardstick,
    Yardsticks,
    _environment_yardsticks,
    cart_pole_yardsticks,
    evaluate_table,
    healthcare_optimum,
    healthcare_yardsticks,
    load_memoryless_tables,
    load_reference_values,
    play,
    search_table,
    simulate,
    striped,
    write_reference_values,
)
from quick import long

KEY = jax.random.key(20260)
ANY_TREATMENT = UniformAct(HealthcareTreatment().action_space)
ANY_PUSH = UniformAct(VelocityOnlyCartPole().action_space)


def agrees(estimate, value, error=0.0):
    """Whether a simulated mean is within four standard errors of a value with its own error."""
    return abs(estimate.mean - value) <= 4 * np.hypot(estimate.standard_error, error)


def always(dose):
    return lambda key, step, observation, state, carry: (jnp.asarray(dose), carry)


def three_state_controller(key, step, observation, state, last):
    """R3: the memory is the last dose; aggressive, then rest, then mild or rest, as health asks."""
    health = observation[0]
    after_rest = jnp.where(health >= 1.7, AGGRESSIVE, jnp.where(health >= 0.3, MILD, NONE))
    after_mild = jnp.where(health >= 0.3, AGGRESSIVE, NONE)
    dose = jnp.select([last == AGGRESSIVE, last == NONE], [NONE, after_rest], after_mild)
    return dose, dose


# Simulation.


@pytest.mark.parametrize(
    ("environment", "discounted", "undiscounted", "length"),
    [
        pytest.param(CheeseMaze(), 0.515299, 0.868807, 83.034285, id="CheeseMaze"),
        long(MachineRepair(), -5.358243, -13.239323, 200, id="MachineRepair"),
    ],
)
def test_simulation_agrees_with_exact_values(environment, discounted, undiscounted, length):
    act = UniformAct(environment.action_space)
    played = simulate(environment, act, 10_000, KEY)
    assert agrees(played.discounted, discounted)
    assert agrees(played.undiscounted, undiscounted)
    assert agrees(played.length, length)


def test_simulation_plays_finite_memories():
    played = simulate(HealthcareTreatment(), three_state_controller, 20_000, KEY, carry=MILD)
    assert agrees(played.discounted, 38.35, 0.02)
    assert agrees(played.undiscounted, 42.69, 0.04)


def test_simulated_constant_dose():
    played = simulate(HealthcareTreatment(), always(NONE), 10_000, KEY)
    assert agrees(played.discounted, -45.76, 0.01)
    assert agrees(played.undiscounted, -55.24, 0.01)


def test_memory_starts_anew_with_every_episode():
    def count(key, step, observation, state, carry):
        # Plays south as soon as memory and step disagree, which is never.
        return jnp.where(carry == step, 0, 1), carry + 1

    played = play(CheeseMaze(max_steps=7), count, 10_000, KEY, carry=0)
    assert not np.any(played.undiscounted)
    assert np.all(played.length == 7)


def test_an_episode_depends_on_the_key_and_its_number_only():
    environment, act = HealthcareTreatment(), ANY_TREATMENT
    few = play(environment, act, 50, KEY)
    many = play(environment, act, 1_001, KEY)
    assert many.length.shape == (1_001,)
    np.testing.assert_array_equal(few.length, many.length[:50])
    np.testing.assert_allclose(few.discounted, many.discounted[:50], rtol=1e-5)
    other = play(environment, act, 50, jax.random.key(1))
    assert not np.array_equal(few.length, other.length)


def test_simulation_is_discounted_from_the_second_step():
    played = simulate(
        VelocityOnlyCartPole(max_steps=3),
        ANY_PUSH,
        10,
        KEY,
        0.5,
    )
    assert played.discounted.mean == pytest.approx(1.75)
    assert played.undiscounted.mean == pytest.approx(3)
    assert played.discounted.standard_error == 0


# HealthcareTreatment.


def test_random_value_on_a_grid_agrees_with_simulation():
    table = np.full((61, 3), 1 / 3)
    played = simulate(HealthcareTreatment(), ANY_TREATMENT, 10_000, KEY)
    for discount, estimate in ((0.99, played.discounted), (1.0, played.undiscounted)):
        value = evaluate_table(
            HealthcareTreatment(), table, discount, nodes=2, toxicity=21, resistance=13
        )
        assert agrees(estimate, value)


def test_value_on_a_grid_where_toxicity_never_decays():
    environment = HealthcareTreatment(max_steps=40, toxicity_decay=1.0)
    played = simulate(environment, always(MILD), 10_000, KEY)
    table = np.tile([0.0, 1.0, 0.0], (61, 1))
    value = evaluate_table(environment, table, 0.99, nodes=2, toxicity=21, resistance=13)
    assert agrees(played.discounted, value)


@pytest.mark.parametrize(("discount", "optimum"), [(0.99, 40.56), long(1.0, 52.03)])
def test_coarse_dynamic_programming(discount, optimum):
    """A grid of 61 x 2 x 21 x 17 is off by less than 0.4, and its doses lose less than 0.6."""
    environment = HealthcareTreatment()
    value, doses = healthcare_optimum(environment, discount, GridSize(61, 2, 21, 17))
    assert abs(value - optimum) < 0.4
    played = simulate(environment, doses, 10_000, KEY, discount).discounted
    margin = 4 * played.standard_error
    assert optimum - 0.6 - margin < played.mean < optimum + margin


def test_last_step_of_dynamic_programming_is_myopic():
    """With one step left, resting is best: `E[r] = 0.5 - 0.08`, no threshold within reach."""
    value, doses = healthcare_optimum(
        HealthcareTreatment(max_steps=1), 0.99, GridSize(61, 2, 11, 9)
    )
    assert value == pytest.approx(0.42, abs=1e-9)
    assert doses.dose.shape[0] == 1


def test_a_climb_improves_the_table():
    environment = HealthcareTreatment(max_steps=40)
    start = np.zeros((61, 3))
    found = search_table(environment, 0.99, start, iterations=10, toxicity=9, resistance=7)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-12)
    coarse = {"nodes": 1, "toxicity": 9, "resistance": 7}
    before = evaluate_table(environment, np.full((61, 3), 1 / 3), 0.99, **coarse)
    assert evaluate_table(environment, found, 0.99, **coarse) > before + 5


def test_stripes_keep_the_shares():
    table = np.asarray([[1.0, 0.0, 0.0], [0.2, 0.5, 0.3]])
    stripes = striped(table, 10)
    assert stripes.shape == (20, 3)
    np.testing.assert_array_equal(stripes.sum(axis=1), 1)
    np.testing.assert_allclose(stripes.reshape(2, 10, 3).mean(axis=1), table, atol=0.05)


@pytest.mark.long
def test_all_healthcare_yardsticks_with_little_effort():
    """Other constants than the default: the whole way, in order from least to most informed."""
    environment = HealthcareTreatment(max_steps=10, noise=0.2, resistance_decay=0.4)
    effort = HealthcareEffort(
        toxicity=13, resistance=11, bins=15, climbs=1, iterations=10, stripes=2, episodes=1_000
    )
    found = healthcare_yardsticks(environment, effort=effort)
    assert found.memoryless_deterministic is not None
    assert found.history_optimal is not None
    assert found.random.discounted < found.memoryless.discounted < found.full_state.discounted
    assert found.memoryless_deterministic.discounted <= found.memoryless.discounted
    assert found.history_optimal.discounted == found.full_state.discounted


def test_too_little_noise_is_refused():
    with pytest.raises(ValueError, match=r"noise must be at least 0\.02 .*, got 0"):
        healthcare_yardsticks(HealthcareTreatment(noise=0.0))


# VelocityOnlyCartPole.


@pytest.mark.parametrize(
    ("weight", "discounted", "undiscounted", "error"),
    [
        ((0.1, 1.0), 86.602033, 200.0, 0.001),
        ((0.0, 1.0), 83.464, 181.69, 0.07),
        ((0.05, 1.0), 85.940, 195.81, 0.07),
        ((-1.0, 0.0), 32.752, 40.85, 0.07),
        ((1.0, 0.0), 8.967, 9.35, 0.01),
    ],
)
def test_linear_rules_on_velocities(weight, discounted, undiscounted, error):
    rule = VelocityRule(jnp.asarray(weight))
    played = simulate(VelocityOnlyCartPole(), rule, 2_000, KEY)
    assert agrees(played.discounted, discounted, error)
    assert agrees(played.undiscounted, undiscounted, error)


def test_random_cart_pole():
    played = simulate(VelocityOnlyCartPole(), ANY_PUSH, 10_000, KEY)
    assert agrees(played.discounted, 19.50, 0.02)
    assert agrees(played.undiscounted, 22.24, 0.03)


def test_position_and_angle_balance_for_longer():
    environment = VelocityOnlyCartPole(max_steps=500)
    weight = jnp.asarray([0.05, 0.2, 1.0, 0.3])
    by_state = play(environment, StateRule(weight), 200, KEY)
    assert np.all(by_state.length == 500)
    rule = IntegratingRule(weight, environment.time_step)
    by_history = play(environment, rule, 200, KEY, carry=jnp.zeros(2))
    assert np.all(by_history.length == 500)


@pytest.mark.long
def test_cart_pole_search_reaches_the_ceiling():
    found = cart_pole_yardsticks(VelocityOnlyCartPole(), episodes=1_000)
    assert found.memoryless.kind == "exact"
    assert found.memoryless.undiscounted == 200
    assert found.memoryless.discounted == pytest.approx(86.602033, abs=1e-6)
    assert found.full_state == found.memoryless
    assert found.random.kind == "simulation"


# The shipped values.


def shipped(environment) -> Yardsticks:
    values = load_reference_values(environment)
    assert values is not None
    return values


def test_shipped_healthcare_values():
    """At least what was known before, and in order."""
    values = shipped(HealthcareTreatment())
    assert values.random.discounted == pytest.approx(-27.247, abs=0.01)
    assert values.random.undiscounted == pytest.approx(-54.264, abs=0.01)
    assert values.memoryless.discounted > 3.59
    assert values.memoryless.undiscounted > -1.49
    assert values.memoryless_deterministic is not None
    assert values.memoryless_deterministic.discounted > 1.69
    assert values.memoryless_deterministic.undiscounted > -3.61
    assert values.full_state.discounted == pytest.approx(40.557, abs=0.01)
    assert values.full_state.undiscounted == pytest.approx(52.03, abs=0.02)
    assert values.history_optimal is not None
    assert values.history_optimal.discounted == values.full_state.discounted


def test_shipped_tables_are_worth_what_is_said():
    environment = HealthcareTreatment()
    tables = load_memoryless_tables(environment)
    assert tables is not None
    best = shipped(environment).memoryless
    for table, discount, value in zip(
        tables, (0.99, 1.0), (best.discounted, best.undiscounted), strict=True
    ):
        np.testing.assert_allclose(table.probability.sum(axis=1), 1, atol=1e-9)
        act = HealthTable(jnp.asarray(table.probability))
        assert agrees(simulate(environment, act, 20_000, KEY, discount).discounted, table.value)
        assert table.value <= value <= table.value + 0.1


def test_shipped_cart_pole_values():
    values = shipped(VelocityOnlyCartPole())
    assert values.memoryless.undiscounted == values.full_state.undiscounted == 200
    assert values.random.standard_error is not None
    assert values.random.undiscounted == pytest.approx(22.24, abs=0.12)


@pytest.mark.parametrize(
    "environment",
    [
        HealthcareTreatment(noise=0.11),
        HealthcareTreatment(cost=(0.0, 1.0, 2.0)),
        VelocityOnlyCartPole(max_steps=201),
        Tiger(),
    ],
    ids=["noise", "cost", "max_steps", "not shipped"],
)
def test_other_options_have_no_shipped_values(environment):
    assert load_reference_values(environment) is None
    assert load_reference_values(HealthcareTreatment(), discount=0.95) is None


def test_what_is_written_is_what_is_loaded(tmp_path, monkeypatch):
    """With solvers that know the answers at once."""
    measured = Yardstick(1.0, 2.0, kind="simulation", standard_error=(0.1, 0.2), note="±")
    computed = Yardstick(3.0, 4.0, reward_per_step=0.5)
    known = Yardsticks(measured, None, computed, None, computed)
    tables = tuple(ValuedTable(value, np.eye(3)) for value in (5.0, 6.0))
    solution = HealthcareSolution(known, tables)
    monkeypatch.setattr(_environment_yardsticks, "solve_healthcare", lambda *_, **__: solution)
    monkeypatch.setattr(_environment_yardsticks, "cart_pole_yardsticks", lambda *_, **__: known)
    monkeypatch.setattr(_environment_yardsticks, "finite_yardsticks", lambda *_, **__: known)
    write_reference_values(tmp_path / "reference_values.json")
    monkeypatch.setattr(_environment_yardsticks.resources, "files", lambda _: tmp_path)
    assert load_reference_values(HealthcareTreatment()) == known
    assert load_reference_values(VelocityOnlyCartPole()) == known
    assert load_reference_values(CheeseMaze()) == known
    loaded = load_memoryless_tables(HealthcareTreatment())
    assert loaded is not None
    assert [table.value for table in loaded] == [5.0, 6.0]
    np.testing.assert_array_equal(loaded[0].probability, np.eye(3))
