"""The filter: it finds what brute force finds, lasts, and acts as sampling does."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from asmpg.environments import make
from asmpg.experience import play_for_returns
from asmpg.policies import (
    AgentMemory,
    Encoding,
    FilterMemory,
    JointTabularPolicy,
    MatrixPolicy,
    MLPPolicy,
    TabularPolicy,
    TimeIndexedPolicy,
    WindowPolicy,
    actor,
    filter_actions,
    filter_actor,
)

SIZES = {"num_states": 3, "num_actions": 2, "num_observations": 4}
CODED = {"num_states": 3, "encoding": Encoding(2, 4)}
REAL = {"num_states": 3, "encoding": Encoding(2, None, (1.0, 2.0))}
KINDS = {
    "tabular": lambda key: TabularPolicy(**SIZES, key=key),
    "joint": lambda key: JointTabularPolicy(**SIZES, key=key),
    "mlp": lambda key: MLPPolicy(**CODED, hidden=8, nu_scale=5.0, key=key),
    "matrix": lambda key: MatrixPolicy(**CODED, hidden=8, key=key),
    "by time": lambda key: TimeIndexedPolicy(
        lambda key: TabularPolicy(**SIZES, key=key), horizon=5, key=key
    ),
    "real mlp": lambda key: MLPPolicy(**REAL, hidden=8, nu_scale=5.0, key=key),
    "real matrix": lambda key: MatrixPolicy(**REAL, hidden=8, key=key),
}


filtered = eqx.filter_jit(filter_actions)


def history(policy, steps, key):
    """Any observations and actions."""
    observation_key, action_key = jax.random.split(key)
    if policy.num_observations is None:
        observations = jax.random.normal(observation_key, (steps, 2))
    else:
        observations = jax.random.randint(observation_key, (steps,), 0, 4)
    return observations, jax.random.randint(action_key, (steps,), 0, 2)


def past_of(actions):
    time = jnp.arange(len(actions), dtype=jnp.int32)
    before = jnp.concatenate([jnp.zeros(1, jnp.int32), actions[:-1].astype(jnp.int32)])
    return AgentMemory(jnp.zeros_like(before), before, time)


@eqx.filter_jit
def log_kernels(policy, memory, observation):
    return policy.log_nu(memory, observation), policy.log_phi(memory, observation)


def by_brute_force(policy, observations, actions):
    """`P(a_1:t | o_1:t)` for every `t`, summed over all paths of agent states."""
    total = np.zeros(len(actions))
    for path in itertools.product(range(policy.num_states), repeat=len(actions)):
        chance, memory = 1.0, AgentMemory.empty()
        for time, state in enumerate(path):
            log_nu, log_phi = log_kernels(policy, memory, observations[time])
            chance *= np.exp(float(log_nu[state] + log_phi[state, actions[time]]))
            memory = AgentMemory(
                jnp.asarray(state, jnp.int32), actions[time].astype(jnp.int32), memory.time + 1
            )
            if all(later == 0 for later in path[time + 1 :]):
                total[time] += chance
    return total


@pytest.mark.parametrize("kind", KINDS)
def test_filter_sums_over_all_paths(kind):
    with jax.enable_x64(True):
        policy = KINDS[kind](jax.random.key(0))
        policy = jax.tree.map(
            lambda leaf: leaf.astype(float) if eqx.is_inexact_array(leaf) else leaf, policy
        )
        observations, actions = history(policy, 3, jax.random.key(1))
        expected = by_brute_force(policy, observations, actions)
        kernels = [policy] if policy.num_observations is None else [policy, policy.tabulate()]
        for kernel in kernels:
            laws = filtered(
                kernel,
                jnp.full((1, 3), 1 / 3),
                jax.tree.map(lambda leaf: leaf[:, None], past_of(actions)),
                observations[:, None],
                actions[:, None],
            )
            found = np.exp(np.cumsum(laws.log_probability[:, 0]))
            np.testing.assert_allclose(found, expected, rtol=1e-10)
            assert laws.log_probabilities is not None
            total = np.exp(laws.log_probabilities).sum(axis=-1)
            np.testing.assert_allclose(total, 1.0, rtol=1e-10)


def test_episode_that_starts_inside_a_segment_remembers_nothing():
    policy = KINDS["tabular"](jax.random.key(0))
    observations, actions = history(policy, 6, jax.random.key(1))
    past = past_of(actions)
    restarted = AgentMemory(past.state, past.action, past.time % 3)
    laws = [
        filtered(
            policy,
            belief,
            jax.tree.map(lambda leaf: leaf[:, None], memory),
            observations[rows][:, None],
            actions[rows][:, None],
        ).log_probabilities
        for belief, memory, rows in (
            (jnp.asarray([[0.2, 0.5, 0.3]]), restarted, slice(0, 6)),
            (jnp.asarray([[0.9, 0.1, 0.0]]), past_of(actions[3:]), slice(3, 6)),
        )
    ]
    assert laws[0] is not None
    assert laws[1] is not None
    np.testing.assert_allclose(laws[0][3:], laws[1], atol=1e-6)
    unbroken = filtered(
        policy,
        jnp.asarray([[0.2, 0.5, 0.3]]),
        jax.tree.map(lambda leaf: leaf[:, None], past),
        observations[:, None],
        actions[:, None],
    ).log_probabilities
    assert np.abs(unbroken[3:] - laws[1]).max() > 0.01


@pytest.mark.parametrize("sharpness", [1.0, 60.0])
def test_long_histories_stay_finite_in_float32(sharpness):
    """10,000 steps; at the higher sharpness nearly every probability is 0 or 1 to the last bit."""
    policy = TabularPolicy(
        **SIZES, nu_scale=sharpness, phi_scale=min(sharpness, 20.0), key=jax.random.key(0)
    )
    observations, actions = history(policy, 10_000, jax.random.key(1))
    arguments = (
        jax.tree.map(lambda leaf: leaf[:, None], past_of(actions)),
        observations[:, None],
        actions[:, None],
    )

    def log_probability(policy):
        laws = filter_actions(policy.tabulate(), jnp.full((1, 3), 1 / 3), *arguments)
        return laws.log_probability.sum()

    value, gradient = eqx.filter_jit(eqx.filter_value_and_grad(log_probability))(policy)
    assert value.dtype == jnp.float32
    assert np.isfinite(value)
    assert value < -100
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradient))


@pytest.mark.parametrize("name", ["CheeseMaze", "VelocityOnlyCartPole"])
def test_filtering_and_sampling_act_alike(name):
    """Same law of actions: mean returns of 4000 episodes within four standard errors."""
    environment = make(name)
    if name == "CheeseMaze":
        policy = TabularPolicy(
            num_states=4, num_actions=4, num_observations=7, nu_scale=2.0, key=jax.random.key(3)
        )
    else:
        policy = MatrixPolicy(
            num_states=4,
            encoding=Encoding(2, None, (1.0, 1.0)),
            key=jax.random.key(3),
        )
    play = eqx.filter_jit(play_for_returns)
    found = [
        play(environment, acting, jax.random.key(5), num_episodes=4000, discount=0.9)
        for acting in (actor(policy), filter_actor(policy))
    ]
    for measure in ("discounted", "lengths"):
        sampled, filtered = (np.asarray(getattr(returns, measure), float) for returns in found)
        error = np.hypot(sampled.std(), filtered.std()) / np.sqrt(4000)
        assert abs(sampled.mean() - filtered.mean()) < 4 * error


def test_acting_follows_the_laws():
    """The belief an actor carries is the one `filter_actions` finds along the same history."""
    policy = KINDS["tabular"](jax.random.key(0))
    acting = filter_actor(policy)
    act = eqx.filter_jit(acting.act)
    memory = acting.start(jax.random.key(0))
    assert isinstance(memory, FilterMemory)
    observations, _ = history(policy, 20, jax.random.key(1))
    uniforms = jax.random.uniform(jax.random.key(2), (20, 2))
    beliefs, actions = [], []
    for observation, uniform in zip(observations, uniforms, strict=True):
        memory = act(memory, observation, jnp.zeros(()), uniform)
        beliefs.append(memory.belief)
        actions.append(memory.action)
    played = jnp.stack(actions)
    laws = filtered(
        policy,
        jnp.full((1, 3), 1 / 3),
        jax.tree.map(lambda leaf: leaf[:, None], past_of(played)),
        observations[:, None],
        played[:, None],
    )
    np.testing.assert_allclose(laws.after[:, 0], jnp.stack(beliefs), atol=1e-5)


def test_on_a_gpu_the_gradient_scatters_nothing(monkeypatch):
    """Deterministic scatters are loops there: tables are looked up by products instead."""
    sizes = {"num_states": 4, "num_actions": 3, "num_observations": 5}
    hidden = TabularPolicy(**sizes, key=jax.random.key(0))
    kernels = WindowPolicy(hidden, window=1, encoding=Encoding(3, 5), key=jax.random.key(1))
    zeros = jnp.zeros((6, 2), jnp.int32)
    past = AgentMemory(zeros, zeros, zeros)

    def scatters():
        # A function of its own each time: what was traced before is not used again.
        def total(kernels):
            belief = jnp.full((2, 4), 0.25)
            found = filter_actions(kernels.prepared(), belief, past, zeros, zeros, how="parallel")
            return found.log_probability.sum() + found.entropy.sum()

        program, *_ = eqx.filter_make_jaxpr(eqx.filter_grad(total))(kernels)
        return str(program).count("scatter")

    assert scatters() > 0
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert scatters() == 0
