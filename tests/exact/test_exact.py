"""The exact solvers give the reference values, to the digits these are known to."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from asmpg.environments import FiniteModel, make
from asmpg.exact import (
    belief_process,
    best_controller,
    best_stochastic_memoryless,
    exact_gradient,
    exact_returns,
    memoryless_returns,
    optimal_returns,
    policy_returns,
)
from asmpg.policies import KernelTables, TabularPolicy
from controllers import cheese_maze_controller, hallway_controller, machine_repair_controller
from finite import REFERENCE_VALUES, make_finite
from quick import long

pytestmark = pytest.mark.long_running

H, GAMMA = 200, 0.99
CONTROLLERS = {
    "CheeseMaze": (cheese_maze_controller, (0.967457, 1.0, 4.3)),
    "HallwayNavigation": (hallway_controller, (4.481713, 4.65, 4.5)),
    "MachineRepair": (machine_repair_controller, (49.680264, 113.634669, 200.0)),
}


@pytest.mark.parametrize("name", CONTROLLERS)
def test_controllers_have_their_known_values(name):
    build, expected = CONTROLLERS[name]
    with jax.enable_x64(True):
        returns = policy_returns(make(name), build(), discount=GAMMA)
    found = (returns.discounted, returns.undiscounted, returns.episode_length)
    assert tuple(map(float, found)) == pytest.approx(expected, abs=1e-6)


def test_only_tables_in_a_finite_model_have_exact_returns():
    assert policy_returns(make("CheeseMaze"), None, discount=GAMMA) is None
    tables = KernelTables.memoryless(jnp.full((2, 2), 0.5))
    assert policy_returns(make("VelocityOnlyCartPole"), tables, discount=GAMMA) is None


@pytest.mark.parametrize(("continue_states", "discounted"), [(2, 28.688023), (3, 42.329083)])
def test_machine_repair_ladder(continue_states, discounted):
    """Fewer states repair too early: the best controllers with 3 and 4 states."""
    with jax.enable_x64(True):
        tables = machine_repair_controller(continue_states)
        returns = exact_returns(
            make_finite("MachineRepair").model, tables, horizon=H, discount=GAMMA
        )
    assert float(returns.discounted) == pytest.approx(discounted, abs=5e-5)


@pytest.mark.parametrize("name", ["CheeseMaze", *map(long, ("HallwayNavigation", "MachineRepair"))])
def test_memoryless_policies_are_asm_policies(name):
    """Two independent evaluations of the same random policy, backward and forward in time."""
    model = make_finite(name).model
    with jax.enable_x64(True):
        shape = (model.num_observations, model.num_actions)
        policy = jax.nn.softmax(jax.random.normal(jax.random.key(0), shape))
        backward = memoryless_returns(model, horizon=H, discount=GAMMA)(policy)
        tables = KernelTables.memoryless(policy)
        forward = exact_returns(model, tables, horizon=H, discount=GAMMA)
        np.testing.assert_allclose(
            jax.tree.leaves(forward), jax.tree.leaves(backward), rtol=1e-10, atol=1e-12
        )


@pytest.mark.parametrize(
    ("name", "criterion"),
    [
        ("CheeseMaze", "discounted"),
        *(long(name, "discounted") for name in ("HallwayNavigation", "MachineRepair")),
        ("CheeseMaze", "undiscounted"),
        ("CheeseMaze", "reward_per_step"),
    ],
)
def test_exact_gradient_agrees_with_finite_differences(name, criterion):
    """Central differences with step 1e-5 along two random directions, to 1e-6, float64."""
    model = make_finite(name).model
    sizes = {"num_states": 3, "num_actions": model.num_actions}
    with jax.enable_x64(True):
        policy = TabularPolicy(
            key=jax.random.key(1), num_observations=model.num_observations, **sizes
        )

        @jax.jit
        def value_and_gradient(policy):
            return exact_gradient(model, policy, criterion=criterion, horizon=H, discount=GAMMA)

        _, gradient = value_and_gradient(policy)
        for seed in range(2):
            direction = TabularPolicy(
                key=jax.random.key(100 + seed), num_observations=model.num_observations, **sizes
            )
            length = np.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(direction)))
            direction = jax.tree.map(lambda leaf, length=length: leaf / length, direction)

            def moved(step, direction=direction):
                return jax.tree.map(lambda p, d: p + step * d, policy, direction)

            difference = value_and_gradient(moved(1e-5))[0] - value_and_gradient(moved(-1e-5))[0]
            products = jax.tree.map(jnp.vdot, gradient, direction)
            slope = sum(jax.tree.leaves(products))
            assert float(difference / 2e-5) == pytest.approx(float(slope), abs=1e-6)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "reached", "restarts"), [("CheeseMaze", 0.9674, 2), ("MachineRepair", 49.6, 1)]
)
def test_gradient_ascent_finds_the_best_controller_with_eight_states(name, reached, restarts):
    model = make_finite(name).model
    found = best_controller(model, num_states=8, restarts=restarts)
    assert found.returns.discounted >= reached
    optimum = REFERENCE_VALUES[name]["history_optimal"][0]
    assert found.restart_values.max() <= optimum + 1e-6
    again = exact_returns(
        make_finite(name).model, found.policy.tabulate(), horizon=H, discount=GAMMA
    )
    assert float(again.discounted) == pytest.approx(found.returns.discounted, rel=1e-5)


def test_history_optimum_with_noisy_observations():
    """Kaelbling's tiger over 300 steps at discount 0.95: belief search gives the known 19.371."""
    listen, coin = np.array([[0.85, 0.15], [0.15, 0.85]]), np.full((2, 2), 0.5)
    tiger = FiniteModel.from_arrays(
        transition=np.stack([np.eye(2), coin, coin], axis=1),
        observation=np.stack([listen, coin, coin]),
        reward=[[-1.0, -100.0, 10.0], [-1.0, 10.0, -100.0]],
        start=[0.5, 0.5],
        start_observation=coin,
    )
    process = belief_process(tiger, horizon=300)
    returns = optimal_returns(process, horizon=300, discount=0.95)
    assert returns.discounted == pytest.approx(19.371, abs=5e-4)
    with pytest.raises(ValueError, match="more than 10 beliefs are reachable in 300 steps"):
        belief_process(tiger, horizon=300, max_beliefs=10)


def test_time_dependence_matters_to_the_history_optimum():
    """Near the time limit a repair no longer pays; the stationary optimum is below."""
    process = belief_process(make_finite("MachineRepair").model, horizon=H)
    with_limit = optimal_returns(process, horizon=H, discount=GAMMA).discounted
    assert with_limit > 49.680264 + 0.1


def test_memoryless_search_reports_the_policy_it_found():
    ((policy, returns),) = best_stochastic_memoryless(
        make_finite("MachineRepair").model,
        criteria=("discounted",),
        horizon=H,
        discount=GAMMA,
        restarts=2,
    )
    np.testing.assert_allclose(policy.sum(axis=1), 1.0)
    assert policy[0, 1] == pytest.approx(0.1816, abs=1e-4)
    assert policy[1, 1] == pytest.approx(1.0, abs=1e-4)
    assert returns.discounted == pytest.approx(30.128219, abs=1e-6)
