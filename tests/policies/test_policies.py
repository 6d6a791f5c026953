"""Policies: one contract, whatever their form; tables, rows and sampling agree."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from asmpg.environments import make
from asmpg.policies import (
    AgentMemory,
    Encoding,
    JointTabularPolicy,
    KernelTables,
    MLPPolicy,
    TabularPolicy,
    TimeIndexedPolicy,
    actor,
    every_input,
    log_probability,
)
from asmpg.policies._kernel_tables import rows_of

SIZES = {"num_states": 3, "num_actions": 2, "num_observations": 4}
KINDS = {
    "mlp": lambda key: MLPPolicy(num_states=3, encoding=Encoding(2, 4), hidden=8, key=key),
    "tabular": lambda key: TabularPolicy(**SIZES, key=key),
    "joint": lambda key: JointTabularPolicy(**SIZES, key=key),
    "by time": lambda key: TimeIndexedPolicy(
        lambda key: TabularPolicy(**SIZES, key=key), horizon=5, key=key
    ),
}


@pytest.fixture(params=KINDS)
def policy(request):
    return KINDS[request.param](jax.random.key(0))


def steps(key, count=200, horizon=5):
    """Arbitrary memories, observations, agent states and actions."""
    keys = jax.random.split(key, 5)
    draw = [
        jax.random.randint(k, (count,), 0, n)
        for k, n in zip(keys, (3, 2, horizon, 4), strict=False)
    ]
    memory = AgentMemory(*(part.astype(jnp.int32) for part in draw[:3]))
    return memory, draw[3], jax.random.randint(keys[4], (count,), 0, 3)


def act(acting, memory, observation, uniforms):
    """A batch of steps; rewards do not matter to ASM policies."""
    return jax.vmap(acting.act)(memory, observation, jnp.zeros(len(uniforms)), uniforms)


def test_tables_hold_the_kernels(policy):
    tables = policy.tabulate()
    memory, observation, state = steps(jax.random.key(1))
    expected = policy.log_rows(memory, observation, state)
    found = tables.log_rows(memory, observation, state)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    np.testing.assert_allclose(tables.joint().sum(axis=(-1, -2)), 1.0, atol=1e-5)


def test_the_two_factors_multiply_to_the_joint_kernel(policy):
    joint = policy.tabulate().joint()
    memory, observation, state = steps(jax.random.key(2))
    log_nu, log_phi = policy.log_rows(memory, observation, state)
    for action in range(2):
        log_pi = log_probability(policy.head, log_nu, log_phi, state, jnp.full_like(state, action))
        time = memory.time if joint.shape[0] > 1 else 0
        index = jnp.where(
            memory.first, observation, 4 + (memory.state * 2 + memory.action) * 4 + observation
        )
        np.testing.assert_allclose(jnp.exp(log_pi), joint[time, index, state, action], atol=1e-6)


def test_every_input_is_numbered_once():
    memory, observation = every_input(**SIZES)
    triples = {
        (bool(first), int(s), int(a), int(o))
        for first, s, a, o in zip(
            memory.first, memory.state, memory.action, observation, strict=True
        )
    }
    assert len(triples) == len(observation) == 4 * (1 + 3 * 2)
    assert sum(first for first, *_ in triples) == 4


def test_the_dummy_pair_is_no_real_pair():
    """What is learned for the first step leaves the pair (0, 0) alone, and the other way round."""
    for kind in ("mlp", "tabular"):
        policy = KINDS[kind](jax.random.key(0))
        zero = jnp.zeros((), jnp.int32)
        first = policy.log_nu(AgentMemory.empty(), zero)
        later = policy.log_nu(AgentMemory(zero, zero, zero + 1), zero)
        assert np.abs(np.asarray(first - later)).max() > 1e-3


def test_mlp_has_the_papers_widths():
    policy = MLPPolicy(num_states=8, encoding=Encoding(4, 7), hidden=128, key=jax.random.key(0))
    widths = [layer.weight.shape for layer in policy.nu_layers]
    assert widths == [(256, 19), (256, 256), (128, 256), (8, 128)]
    assert [layer.weight.shape for layer in policy.phi_layers] == [(128, 8), (128, 128), (4, 128)]


def test_real_observations_are_divided_by_their_scale():
    options = {"num_states": 3, "hidden": 8, "key": jax.random.key(0)}
    memory = AgentMemory.empty()
    plain = MLPPolicy(**options, encoding=Encoding(2, None, (1.0, 1.0)))
    scaled = MLPPolicy(**options, encoding=Encoding(2, None, (2.0, 4.0)))
    np.testing.assert_allclose(
        scaled.log_nu(memory, jnp.array([2.0, 4.0])), plain.log_nu(memory, jnp.array([1.0, 1.0]))
    )
    with pytest.raises(ValueError, match="cannot be tabulated"):
        plain.tabulate()


def test_acting_draws_from_the_kernels(policy):
    """100,000 draws from one input; frequencies within 5 standard deviations, seed 3."""
    draws = 100_000
    memory = AgentMemory(*(jnp.full(draws, n, jnp.int32) for n in (2, 1, 3)))
    observation = jnp.full(draws, 2)
    uniforms = jax.random.uniform(jax.random.key(3), (draws, 2))
    drawn = jax.jit(functools.partial(act, actor(policy)))(memory, observation, uniforms)
    assert (drawn.time == 4).all()
    one = jax.tree.map(lambda leaf: leaf[0], memory)
    joint = jnp.exp(
        policy.log_nu(one, observation[0])[:, None] + policy.log_phi(one, observation[0])
    )
    frequency = np.zeros((3, 2))
    np.add.at(frequency, (np.asarray(drawn.state), np.asarray(drawn.action)), 1 / draws)
    np.testing.assert_allclose(frequency, joint, atol=5 * np.sqrt(0.25 / draws))


def test_acting_greedily_takes_the_most_probable(policy):
    memory, observation, _ = steps(jax.random.key(4))
    uniforms = jax.random.uniform(jax.random.key(5), (200, 2))
    drawn = act(actor(policy, greedy=True), memory, observation, uniforms)
    np.testing.assert_array_equal(
        drawn.state, policy.log_rows(memory, observation, drawn.state)[0].argmax(axis=-1)
    )
    np.testing.assert_array_equal(
        drawn.action, policy.log_rows(memory, observation, drawn.state)[1].argmax(axis=-1)
    )


def test_tables_of_the_wrong_shape_are_refused():
    with pytest.raises(ValueError, match="update must have shape"):
        KernelTables.from_probabilities(
            start=np.ones((4, 3)) / 3, update=np.ones((3, 2, 5, 3)) / 3, control=np.ones((3, 2)) / 2
        )


def test_network_and_table_actors_play_alike():
    """The same uniforms give the same actions, with or without tables."""
    env = make("CheeseMaze")
    policy = MLPPolicy(num_states=3, encoding=Encoding(4, 7), hidden=8, key=jax.random.key(0))
    from asmpg.policies import NetworkActor

    direct = NetworkActor(policy=policy, phi_table=policy.tabulate().log_phi[0, 0], greedy=False)
    memory, observation, _ = steps(jax.random.key(6))
    uniforms = jax.random.uniform(jax.random.key(7), (200, 2))
    one, other = (act(acting, memory, observation, uniforms) for acting in (actor(policy), direct))
    assert eqx.tree_equal(one, other)
    assert len(env.action_names) == 4


def test_the_most_probable_policy_is_what_acting_greedily_plays(policy):
    tables = policy.tabulate().most_probable()
    memory, observation, _ = steps(jax.random.key(8))
    drawn = act(actor(policy, greedy=True), memory, observation, jnp.zeros((len(observation), 2)))
    log_nu, log_phi = tables.log_rows(memory, observation, drawn.state)
    log_pi = log_probability(policy.head, log_nu, log_phi, drawn.state, drawn.action)
    np.testing.assert_array_equal(log_pi, 0.0)
    np.testing.assert_allclose(tables.joint().sum(axis=(-1, -2)), 1.0)


def test_rows_of_a_table_have_the_gradient_of_indexing(x64, monkeypatch):
    """To 1e-12, by a product of matrices where it is not for CPUs."""
    table = jax.random.normal(jax.random.key(0), (5, 2, 3))
    index = jnp.asarray([[0, 4, 4], [1, 0, 4]])
    weights = jax.random.normal(jax.random.key(1), (2, 3, 2, 3))
    expected = jax.grad(lambda table: jnp.sum(weights * table[index] ** 2))(table)
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    rows, found = jax.value_and_grad(lambda table: jnp.sum(weights * rows_of(table, index) ** 2))(
        table
    )
    np.testing.assert_allclose(rows, jnp.sum(weights * table[index] ** 2))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
