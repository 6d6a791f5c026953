"""The infinite horizon is the limit of the finite one, however the linear system is solved."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import asmpg
from asmpg.environments import FiniteModel
from asmpg.exact import _infinite_horizon as module
from asmpg.exact import (
    exact_gradient,
    exact_returns,
    infinite_horizon_gradient,
    infinite_horizon_value,
)
from asmpg.policies import JointTabularPolicy, KernelTables, TabularPolicy
from finite import make_finite
from quick import long

pytestmark = pytest.mark.long_running

DISCOUNT, FAR = 0.8, 160  # 0.8 ** 160 = 3e-16
MODELS = {
    "Tiger": lambda: make_finite("Tiger").model,
    "CheeseMaze, which ends": lambda: make_finite("CheeseMaze").model,
    "4x3, which stops": lambda: asmpg.read_pomdp("4x3_nonterminating.pomdp").finite(
        first_observation=True, stop_at_goals=True
    ),
}


def policy_for(model, kind=TabularPolicy, num_states=3):
    return kind(
        key=jax.random.key(1),
        num_states=num_states,
        num_actions=model.num_actions,
        num_observations=model.num_observations,
    )


@pytest.fixture(params=["factorised", "iterated", "iterated, sparse"])
def solver(request, monkeypatch):
    if request.param != "factorised":
        monkeypatch.setattr(module, "_MOST_FACTORISED", 0)
    if request.param == "iterated, sparse":
        monkeypatch.setattr(module, "_MOST_DENSE", 0)
    module._value.clear_cache()  # pyright: ignore[reportAttributeAccessIssue]
    yield
    module._value.clear_cache()  # pyright: ignore[reportAttributeAccessIssue]


@functools.cache
def finite_horizon(name):
    """The policy, its tables, its value and gradient over a horizon that is as good as infinite."""
    model = MODELS[name]()
    with jax.enable_x64(True):
        policy = policy_for(model)
        tables = policy.tabulate()
        returns = exact_returns(model, tables, horizon=FAR, discount=DISCOUNT)
        value, slope = exact_gradient(model, policy, horizon=FAR, discount=DISCOUNT)
    return model, policy, tables, float(returns.discounted), float(value), slope


@pytest.mark.usefixtures("solver")
@pytest.mark.parametrize("name", ["Tiger", long("CheeseMaze, which ends"), "4x3, which stops"])
def test_value_and_gradient_are_the_limits_of_the_finite_horizon(name):
    model, policy, tables, returned, expected, slope = finite_horizon(name)
    assert infinite_horizon_value(model, tables, discount=DISCOUNT) == pytest.approx(
        returned, rel=1e-10, abs=1e-12
    )
    value, gradient = infinite_horizon_gradient(model, policy, discount=DISCOUNT)
    assert value == pytest.approx(expected, rel=1e-10, abs=1e-12)
    for mine, other in zip(jax.tree.leaves(gradient), jax.tree.leaves(slope), strict=True):
        np.testing.assert_allclose(mine, np.asarray(other), rtol=1e-7, atol=1e-9)


def test_actions_may_depend_on_more_than_the_agent_state():
    model = make_finite("Tiger").model
    with jax.enable_x64(True):
        tables = policy_for(model, JointTabularPolicy).tabulate()
        returns = exact_returns(model, tables, horizon=FAR, discount=DISCOUNT)
    found = infinite_horizon_value(model, tables, discount=DISCOUNT)
    assert found == pytest.approx(float(returns.discounted), rel=1e-10)


def test_a_value_that_can_be_worked_out_by_hand():
    """Listening for ever in the tiger problem: -1 / (1 - 0.95)."""
    tables = KernelTables.deterministic(
        start=[0, 0], update=np.zeros((1, 3, 2), int), control=[0], num_actions=3
    )
    value = infinite_horizon_value(make_finite("Tiger").model, tables, discount=0.95)
    assert value == pytest.approx(-20, rel=1e-12)


def test_values_are_double_precision_whatever_the_tables_are():
    tables = KernelTables.memoryless(jnp.full((1, 2), 0.5))
    ones = FiniteModel.from_arrays(
        transition=np.ones((1, 2, 1)), observation=[[1.0]], reward=[[1.0, 1.0]], start=[1.0]
    )
    assert infinite_horizon_value(ones, tables, discount=0.999) == pytest.approx(1000, rel=1e-6)


def test_wrong_arguments_are_named():
    model = make_finite("Tiger").model
    tables = policy_for(model).tabulate()
    with pytest.raises(ValueError, match="discount must be below 1 over an infinite horizon"):
        infinite_horizon_value(model, tables, discount=1.0)
    timed = jax.tree.map(lambda leaf: jnp.repeat(leaf, 2, axis=0), tables)
    with pytest.raises(ValueError, match="tables must be those of a stationary policy"):
        infinite_horizon_value(model, timed, discount=0.9)
