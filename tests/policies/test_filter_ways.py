"""The filter by a parallel scan, and as one kernel: the same as step by step, gradients too."""

import subprocess
import sys
from types import SimpleNamespace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from asmpg.policies import (
    AgentMemory,
    Encoding,
    FilteredPolicy,
    FilterMemory,
    Gaussian,
    JointTabularPolicy,
    MatrixPolicy,
    MLPPolicy,
    Product,
    TabularPolicy,
    WindowPolicy,
    _fused_filter,
    _history_policy,
    filter_actions,
    with_windows,
)
from asmpg.policies._fused_filter import beliefs_by_kernel
from asmpg.policies._kernel_tables import Moves
from asmpg.policies._sequential_filter import beliefs_by_steps
from quick import long

STEPS, PLACES, STATES = 21, 3, 4
SIZES = {"num_states": STATES, "num_actions": 3, "num_observations": 4}
FINITE, REAL = Encoding(3, 4), Encoding(3, None, (0.5, 2.0))
MOVING = Encoding(Gaussian((-1.0, -1.0), (1.0, 1.0)), None, (0.5, 2.0))
PARTS = Encoding(Product((2, 3)), 4)


def matrix(encoding, key):
    return MatrixPolicy(num_states=STATES, encoding=encoding, hidden=6, key=key)


def window(hidden, encoding, size, key):
    policy = WindowPolicy(hidden, window=size, encoding=encoding, width=5, key=key)

    def noisy(leaf):
        if not eqx.is_inexact_array(leaf):
            return leaf
        return leaf + 0.3 * jax.random.normal(key, leaf.shape)

    return jax.tree.map(noisy, policy)


KINDS = {
    "tabular": lambda key: (TabularPolicy(**SIZES, nu_scale=2.0, key=key), FINITE),
    "joint": lambda key: (JointTabularPolicy(**SIZES, key=key), FINITE),
    "mlp": lambda key: (MLPPolicy(num_states=STATES, encoding=FINITE, hidden=6, key=key), FINITE),
    "real": lambda key: (matrix(REAL, key), REAL),
    "table and window": lambda key: (
        window(TabularPolicy(**SIZES, key=key), FINITE, 1, key),
        FINITE,
    ),
    "real and window": lambda key: (window(matrix(REAL, key), REAL, 3, key), REAL),
    "gaussian": lambda key: (matrix(MOVING, key), MOVING),
    "product": lambda key: (matrix(PARTS, key), PARTS),
}


def histories(policy, encoding, key):
    """Memories at the start, and what was seen and done; some episodes end on the way."""
    keys = jax.random.split(key, 4)
    shape = (STEPS, PLACES)
    if encoding.num_observations is None:
        observations = jax.random.normal(keys[0], (*shape, 2))
    else:
        observations = jax.random.randint(keys[0], shape, 0, 4)
    blank = encoding.head.blank(shape)
    if jnp.issubdtype(blank.dtype, jnp.inexact):
        actions = 0.5 * jax.random.normal(keys[1], blank.shape)
    else:
        actions = jax.random.randint(keys[1], blank.shape, 0, 2)
    times = [jnp.arange(5, 5 + STEPS), jnp.arange(STEPS) % 7, (jnp.arange(STEPS) - 20) % 40]
    time = jnp.stack(times, axis=1).astype(jnp.int32)
    before = jnp.concatenate([encoding.head.blank((1, PLACES)), actions[:-1]])
    first_window = policy.empty_window((PLACES,))
    past = AgentMemory(jnp.zeros_like(time), before, time)
    past = with_windows(past, first_window, observations, actions)
    belief = jax.nn.softmax(2 * jax.random.normal(keys[2], (PLACES, STATES)))
    memory = FilterMemory(belief, before[0], time[0], first_window)
    return memory, past, observations, actions


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("way", ["parallel", "fused"])
@pytest.mark.parametrize(
    "kind",
    [
        *("tabular", "real and window"),
        *map(long, ("joint", "mlp", "real", "table and window", "gaussian", "product")),
    ],
)
def test_every_way_is_the_sequential_one(kind, way):
    """Log-probabilities, entropies, beliefs, and the gradient of all of them, to 1e-10."""
    policy, encoding = KINDS[kind](jax.random.key(0))
    policy = jax.tree.map(
        lambda leaf: leaf.astype(float) if eqx.is_inexact_array(leaf) else leaf, policy
    )
    memory, *rest = histories(policy, encoding, jax.random.key(1))

    def loss(parts, how):
        kernels, belief = parts
        start = eqx.tree_at(lambda memory: memory.belief, memory, belief)
        found = FilteredPolicy(kernels, how).distributions(start, *rest)
        weights = jax.random.split(jax.random.key(2), 8)
        leaves = jax.tree.leaves(found)
        parts = [
            jnp.vdot(jax.random.normal(key, leaf.shape), leaf)
            for key, leaf in zip(weights, leaves, strict=False)
        ]
        return sum(parts), found

    run = eqx.filter_jit(eqx.filter_value_and_grad(loss, has_aux=True))
    (_, one), slope = run((policy, memory.belief), "sequential")
    (_, two), other = run((policy, memory.belief), way)
    pairs = zip(*map(jax.tree.leaves, ((one, slope), (two, other))), strict=True)
    for expected, found in pairs:
        assert found.dtype == jnp.float64
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
    assert max(np.abs(leaf).max() for leaf in jax.tree.leaves(slope[0])) > 1e-2
    # The belief before an episode that starts with the rollout is forgotten.
    assert (np.abs(other[1]).max(axis=-1) > 0).tolist() == [True, False, True]


@pytest.mark.parametrize("sharpness", [1.0, 60.0])
def test_long_histories_neither_underflow_nor_overflow(sharpness):
    """2000 steps in float32; at the higher sharpness nearly every probability is 0 or 1."""
    scales = {"nu_scale": sharpness, "phi_scale": min(sharpness, 20.0)}
    policy = TabularPolicy(**SIZES, **scales, key=jax.random.key(0))
    keys = jax.random.split(jax.random.key(1))
    observations = jax.random.randint(keys[0], (2000, 1), 0, 4)
    actions = jax.random.randint(keys[1], (2000, 1), 0, 3)
    before = jnp.concatenate([jnp.zeros((1, 1), jnp.int32), actions[:-1]])
    time = jnp.arange(2000, dtype=jnp.int32)[:, None]
    past = AgentMemory(jnp.zeros_like(time), before, time)

    @eqx.filter_jit
    @eqx.filter_value_and_grad
    def log_probability(policy, how):
        start = jnp.full((1, STATES), 1 / STATES)
        found = filter_actions(policy.tabulate(), start, past, observations, actions, how=how)
        return found.log_probability.mean()

    ways = ("parallel", "sequential")
    (value, slope), (expected, other) = (log_probability(policy, how) for how in ways)
    np.testing.assert_allclose(value, expected, rtol=1e-3)
    for found, leaf in zip(jax.tree.leaves(slope), jax.tree.leaves(other), strict=True):
        assert np.isfinite(found).all()
        if sharpness == 1.0:
            np.testing.assert_allclose(found, leaf, rtol=1e-3, atol=1e-6)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("states", [1, 3, 8])
@pytest.mark.parametrize("in_a_table", [True, False])
def test_a_kernel_takes_any_number_of_states_and_a_batch(states, in_a_table):
    """Those that are added to make a power of two change nothing; nor do other seeds beside it."""
    seeds, steps, lanes, starts, pairs = 2, 6, 2, 2, 3
    keys = jax.random.split(jax.random.key(0), 6)
    start = jax.nn.softmax(jax.random.normal(keys[0], (seeds, lanes, states)))
    first = jax.random.uniform(keys[1], (seeds, steps, lanes)) < 0.3
    shape = (starts + pairs * states,) if in_a_table else (steps, lanes, states)
    matrices = jax.nn.softmax(jax.random.normal(keys[2], (seeds, *shape, states)))
    number = jax.random.randint(keys[3], (seeds, steps, lanes), 0, pairs + starts)
    likelihood = jax.random.uniform(keys[4], (seeds, steps, lanes, states))
    weights = jax.random.normal(keys[5], (2, seeds, steps, lanes, states))

    def by_steps(start, first, moves, likelihood):
        return beliefs_by_steps(start, first, moves.along, likelihood)

    def both(way):
        def along(start, first, matrices, number, likelihood):
            moves = Moves(matrices, number, starts) if in_a_table else Moves(matrices)
            return way(start, first, moves, likelihood)

        def total(start, matrices, likelihood):
            found = jnp.stack(jax.vmap(along)(start, first, matrices, number, likelihood))
            return jnp.vdot(weights, found), found

        return jax.jit(jax.value_and_grad(total, argnums=(0, 1, 2), has_aux=True))(
            start, matrices, likelihood
        )

    pairs_of_leaves = zip(
        *map(jax.tree.leaves, map(both, (beliefs_by_kernel, by_steps))), strict=True
    )
    for found, expected in pairs_of_leaves:
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_kernels_are_made_for_gpus(monkeypatch):
    """They go through the compiler of such kernels, which needs no GPU to be there."""
    policy = TabularPolicy(**SIZES, key=jax.random.key(0))
    memory, *rest = histories(policy, FINITE, jax.random.key(1))
    client = SimpleNamespace(platform_version="CUDA 13.0")
    device = SimpleNamespace(platform="gpu", client=client)
    for module in (_fused_filter, _history_policy):
        monkeypatch.setattr(module, "current_device", lambda: device)
    filtered = FilteredPolicy(policy)
    assert (filtered.way, filtered.in_parallel) == ("fused", True)

    def total(logits):
        kernels = eqx.tree_at(lambda policy: policy.nu_logits, policy, logits)
        return FilteredPolicy(kernels).distributions(memory, *rest).log_probability.sum()

    traced = jax.jit(jax.grad(total)).trace(policy.nu_logits)
    lowered = traced.lower(lowering_platforms=("cuda",)).as_text()
    assert lowered.count("stablehlo.custom_call @__gpu$xla.gpu.triton") == 3
    assert "stablehlo.while" not in lowered


@pytest.mark.parametrize(
    ("platform", "version", "states", "expected"),
    [
        ("cpu", "cpu", STATES, "sequential"),
        ("gpu", "CUDA 13", STATES, "fused"),
        ("gpu", "CUDA 13", 200, "sequential"),
        ("gpu", "ROCm 7", STATES, "parallel"),
        ("tpu", "libtpu", 64, "sequential"),
    ],
)
def test_the_way_is_chosen_by_device_and_size(monkeypatch, platform, version, states, expected):
    device = SimpleNamespace(platform=platform, client=SimpleNamespace(platform_version=version))
    for module in (_fused_filter, _history_policy):
        monkeypatch.setattr(module, "current_device", lambda: device)
    sizes = {"num_states": states, "num_actions": 2, "num_observations": 1}
    policy = TabularPolicy(**sizes, key=jax.random.key(0))
    assert FilteredPolicy(policy).way == expected
    assert FilteredPolicy(policy, "parallel").way == "parallel"


def test_a_jax_without_the_triton_backend_filters_in_parallel(monkeypatch):
    client = SimpleNamespace(platform_version="CUDA 13.0")
    device = SimpleNamespace(platform="gpu", client=client)
    for module in (_fused_filter, _history_policy):
        monkeypatch.setattr(module, "current_device", lambda: device)
    monkeypatch.setattr(_fused_filter, "triton", None)
    policy = TabularPolicy(**SIZES, key=jax.random.key(0))
    memory, *rest = histories(policy, FINITE, jax.random.key(1))
    assert FilteredPolicy(policy).way == "parallel"
    with pytest.raises(ValueError, match='filter must be "auto", "parallel" or "sequential"'):
        FilteredPolicy(policy, "fused").distributions(memory, *rest)


def test_a_jax_without_the_triton_backend_can_be_used():
    code = "import sys; sys.modules['jax.experimental.pallas.triton'] = None; import asmpg.policies"
    subprocess.run([sys.executable, "-c", code], check=True)
