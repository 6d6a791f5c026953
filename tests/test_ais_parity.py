"""AIS computes what the reference computes, and each loss reaches only what it should."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from scipy import stats

from asmpg.methods.ais import (
    AISNetworks,
    LSTMState,
    Segments,
    _losses,
    ais_gradient,
    ais_loss,
    encode_segments,
    weigh_steps,
)

VARIANTS = ("kl", "mmd")
WEIGHT = {"kl": 1e-4, "mmd": 1e-3}
OBSERVATIONS, ACTIONS = [1, 2, 4, 5, 4, 0], [2, 1, 1, 0, 0, 3]
REWARDS, FIRST = [0, 0, 1, 0, 0, 0], [1, 0, 0, 1, 0, 0]
# Shapes of the eighteen tensors of the fixture, in its order, which is the order of our leaves.
SHAPES = [
    *[(4, 12), (4,), (16, 4), (16, 4), (16,), (16,)],
    *[(2, 8), (2,), (1, 2), (1,), (2, 8), (2,), (7, 2), (7,)],
    *[(4, 4), (4,), (4, 4), (4,)],
]


@pytest.fixture
def x64():
    with jax.enable_x64(True):
        yield


def initialise(**options):
    sizes = {"dimension": 4, "num_actions": 4, "num_observations": 7}
    options = sizes | {"variant": "kl", "start": "zeros"} | options
    return AISNetworks(**options, key=jax.random.key(0))


def make_networks(fill=None, **options):
    """Networks with the given weights, or some: quicker to have than `initialise`."""
    leaves, structure = jax.tree.flatten(eqx.filter_eval_shape(initialise, **options))
    draw = np.random.default_rng(0)
    fill = fill or (lambda number, shape: draw.uniform(-0.5, 0.5, shape))
    weights = [fill(number, leaf.shape) for number, leaf in enumerate(leaves, start=1)]
    return jax.tree.unflatten(structure, map(jnp.asarray, weights))


def fixture_networks(variant):
    def fill(number, shape):
        return 0.5 * np.sin(1.7 * np.arange(np.prod(shape)) + number).reshape(shape)

    networks = make_networks(fill, variant=variant)
    assert [leaf.shape for leaf in jax.tree.leaves(networks)] == SHAPES
    return networks


def fixture_segments(final_observation=6):
    """The fixture's two segments, one after the other in a single lane."""
    following = [2, 4, final_observation, 4, 0, final_observation]
    column = [jnp.array(rows)[:, None] for rows in (OBSERVATIONS, ACTIONS, following, FIRST)]
    observations, actions, next_observations, first = column
    start = jnp.zeros((6, 1, 4))
    return Segments(
        observations=observations,
        actions=actions,
        rewards=jnp.array(REWARDS, float)[:, None],
        next_observations=next_observations,
        terminated=jnp.zeros((6, 1), bool),
        first=first.astype(bool),
        valid=jnp.ones((6, 1), bool),
        starts=LSTMState(start, start),
    )


def side_by_side(segments):
    """The two segments in a lane of their own each."""
    return jax.tree.map(
        lambda leaf: jnp.moveaxis(leaf.reshape(2, 3, *leaf.shape[2:]), 0, 1), segments
    )


def random_segments(steps, lanes, *, observation=(), seed=0):
    """Several segments a lane, with noise to start from."""
    draw = np.random.default_rng(seed)
    shape = (steps, lanes)
    seen = draw.normal(size=(steps + 1, lanes, *observation))
    if not observation:
        seen = draw.integers(7, size=(steps + 1, lanes))
    first = draw.random(shape) < 0.2
    first[0] = True
    real = float if jax.config.jax_enable_x64 else np.float32
    hidden, cell = jnp.asarray(draw.normal(size=(2, *shape, 4)).astype(real))
    return Segments(
        observations=jnp.asarray(seen[:-1]),
        actions=jnp.asarray(draw.integers(4, size=shape)),
        rewards=jnp.asarray(draw.normal(size=shape)),
        next_observations=jnp.asarray(seen[1:]),
        terminated=jnp.zeros(shape, bool),
        first=jnp.asarray(first),
        valid=jnp.ones(shape, bool),
        starts=LSTMState(hidden, cell),
    )


@eqx.filter_jit
def loss(networks, segments, *, discount=0.7, **options):
    weight = WEIGHT[networks.variant]
    return ais_loss(networks, weigh_steps(segments, discount=discount, **options), weight)


@eqx.filter_jit
def gradient(networks, segments, *, part=None, **options):
    """The gradient of the loss or of a part of it, and the loss itself with its parts."""

    def chosen(networks):
        total, parts = loss(networks, segments, **options)
        return (total if part is None else parts[part]), (total, parts)

    return eqx.filter_grad(chosen, has_aux=True)(networks)


encode = eqx.filter_jit(encode_segments)
observation_loss = eqx.filter_jit(_losses.observation_loss)
predict = eqx.filter_jit(AISNetworks.predict)


def close(found, expected, tolerance=1e-8):
    np.testing.assert_allclose(np.asarray(found), expected, rtol=0, atol=tolerance)


@pytest.mark.usefixtures("x64")
def test_fixture_states_predictions_and_policy():
    networks, segments = fixture_networks("kl"), fixture_segments()
    close(segments.returns(0.7)[:, 0], [0.49, 0.7, 1, 0, 0, 0])
    assert segments.last[:, 0].tolist() == [False, False, True, False, False, True]
    z = encode(networks, segments)[:, 0]
    close(z[0], [0.15026257, 0.39559233, 0.06344131, 0.00983033])
    close(z[2], [0.14906916, 0.47438674, 0.01040695, -0.01676554])
    close(z[3], [0.09121478, 0.40073427, 0.05107718, 0.00728918])
    close(z[5], [0.14076598, 0.35986615, -0.00095207, -0.04802454])
    reward, output = predict(networks, z, segments.actions[:, 0])
    close(reward, [-0.04501185, 0.11460801, 0.09052296, -0.20579272, -0.22083743, -0.29081378])
    p_0 = [0.26280689, 0.11034263, 0.09087365, 0.13620677, 0.21384176, 0.10552774, 0.08040055]
    close(jax.nn.softmax(output[0]), p_0)
    log_policy = networks.log_policy(z)[jnp.arange(6), segments.actions[:, 0]]
    taken = [-1.26607934, -0.96448820, -0.96904620, -1.50666428, -1.51809158, -2.13045812]
    close(log_policy, taken)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("layout", [lambda segments: segments, side_by_side], ids=["one", "two"])
@pytest.mark.parametrize(
    ("variant", "prediction_loss", "total", "norms"),
    [
        ("kl", 1.8185223883, 4.0829243117, (0.1253442966, 0.6659788905, 1.2887075564)),
        ("mmd", -0.3466928421, 1.9183903266, (0.0706472897, 0.4295738635, 1.2887075564)),
    ],
)
def test_fixture_losses_and_gradients(variant, prediction_loss, total, norms, layout):
    """Both segments in one lane, and side by side."""
    networks, segments = fixture_networks(variant), layout(fixture_segments())
    slope, (found, parts) = gradient(networks, segments)
    close(parts["reward_loss"], 0.1696670037)
    close(parts["policy_loss"], 2.2645668089)
    close(parts["observation_loss"], prediction_loss)
    close(parts["ais_loss"] + parts["policy_loss"], total)
    close(found, total)
    close([optax.tree.norm(p) for p in (slope.encoder, slope.heads, slope.policy)], norms)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("longest", [1, 16, 17, 40])
def test_the_gradient_in_blocks_is_the_gradient(variant, longest):
    """With padding behind lanes of several lengths, and segments that start inside a block."""
    networks = jax.tree.map(lambda leaf: leaf.astype(float), make_networks(variant=variant))
    segments = random_segments(40, 3)
    lengths = jnp.array([longest, max(longest - 3, 1), max(longest // 2, 1)])
    valid = jnp.arange(40)[:, None] < lengths
    segments = eqx.tree_at(lambda tree: tree.valid, segments, valid)
    options = {"discount": 0.7, "return_baseline": "batch-mean"}
    slope, (_, parts) = gradient(networks, segments, **options)
    steps = weigh_steps(segments, **options)
    found, found_parts = ais_gradient(networks, steps, WEIGHT[variant])
    assert optax.tree.norm(slope) > 0.1
    close(optax.tree.norm(optax.tree.sub(found, slope)), 0, tolerance=1e-12)
    for name, value in parts.items():
        close(found_parts[name], value, tolerance=1e-12)


@pytest.mark.parametrize(
    ("logits", "kl", "mmd"),
    [
        (np.zeros(7), np.log(7), -2 / 7),
        (1e4 * np.eye(7)[2], 0, -2),
        (1e4 * np.eye(7)[5], 1e4, 2),
    ],
    ids=["uniform", "certain and right", "certain and wrong"],
)
def test_observation_losses_by_hand(logits, kl, mmd):
    for variant, expected in (("kl", kl), ("mmd", mmd)):
        networks = make_networks(variant=variant)
        target = networks.encode_observation(jnp.int32(2))
        found = observation_loss(networks, jnp.asarray(logits, float), target)
        assert float(found) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("variant", VARIANTS)
def test_each_loss_reaches_only_what_it_should(variant):
    networks, segments = make_networks(variant=variant), random_segments(20, 3)
    by_policy, _ = gradient(networks, segments, part="policy_loss")
    by_prediction, _ = gradient(networks, segments, part="ais_loss")
    for untouched in (by_policy.encoder, by_policy.heads, by_prediction.policy):
        assert all((leaf == 0).all() for leaf in jax.tree.leaves(untouched))
    for trained in (by_policy.policy, by_prediction.encoder, by_prediction.heads):
        assert all((leaf != 0).any() for leaf in jax.tree.leaves(trained))


def test_the_stop_gradient_is_what_keeps_the_policy_loss_out(monkeypatch):
    """Without it, the policy loss reaches the encoder: the test above is able to fail."""
    monkeypatch.setattr(_losses, "stop_gradient", lambda z: z)
    networks, segments = make_networks(), random_segments(20, 3)

    @eqx.filter_jit
    @eqx.filter_grad
    def slope_of_the_policy_loss(networks):
        return ais_loss(networks, weigh_steps(segments, discount=0.7), 0.1)[1]["policy_loss"]

    slope = slope_of_the_policy_loss(networks)
    assert all((leaf != 0).any() for leaf in jax.tree.leaves(slope.encoder))


@pytest.mark.parametrize(
    ("dimension", "counts"),
    [(40, (13_640, 1_968, 1_804)), (8, (680, 144, 108)), (4, (212, 60, 40)), (3, (135, 32, 28))],
)
def test_parameter_counts(dimension, counts):
    networks = eqx.filter_eval_shape(initialise, dimension=dimension)
    parts = (networks.encoder, networks.heads, networks.policy)
    assert tuple(sum(leaf.size for leaf in jax.tree.leaves(part)) for part in parts) == counts


def test_initialisation_is_uniform_within_the_reference_bounds():
    networks = initialise(dimension=40)
    layers = [networks.encoder.input_layer, *networks.heads.reward, *networks.heads.observation]
    for layer in (*layers, *networks.policy):
        bound = layer.in_features**-0.5
        assert 0.8 * bound < abs(layer.weight).max() <= bound
        assert abs(layer.bias).max() <= bound
    for leaf in jax.tree.leaves(networks.encoder.lstm):
        assert 0.95 * 40**-0.5 < abs(leaf).max() <= 40**-0.5
        assert float(leaf.std()) == pytest.approx((3 * 40) ** -0.5, rel=0.15)
    assert len({leaf.ravel()[0].item() for leaf in jax.tree.leaves(networks)}) == 18


@pytest.mark.usefixtures("x64")
def test_widths_are_switches():
    networks = make_networks(input_width=0, head_width=20, policy_width=0)
    assert networks.encoder.input_layer is None
    assert networks.encoder.lstm.input_weight.shape == (16, 12)
    assert networks.heads.reward[0].weight.shape == (20, 8)
    assert [layer.weight.shape for layer in networks.policy] == [(4, 4)]
    assert np.isfinite(loss(networks, fixture_segments())[0])
    assert make_networks(dimension=1).heads.reward[0].out_features == 1


def test_start_states():
    noise = make_networks(dimension=40, start="normal").start_state(jax.random.key(1), (50,))
    both = jnp.concatenate([noise.hidden, noise.cell])
    assert noise.hidden.shape == (50, 40)
    assert float(both.mean()) == pytest.approx(0, abs=0.05)
    assert float(both.std()) == pytest.approx(1, abs=0.05)
    assert abs(jnp.corrcoef(noise.hidden.ravel(), noise.cell.ravel())[0, 1]) < 0.1
    zeros = make_networks(start="zeros").start_state(jax.random.key(1))
    assert not zeros.hidden.any()
    assert not zeros.cell.any()


@pytest.mark.usefixtures("x64")
def test_segments_in_one_batch_are_encoded_as_if_alone():
    """Step by step, as a rollout does it, starting afresh at every start."""
    networks, segments = make_networks(start="normal"), random_segments(20, 3)
    found = encode(networks, segments)
    step = eqx.filter_jit(networks.encode_step)
    rows = jax.tree.map(np.asarray, segments)
    for lane in range(3):
        for t in range(20):
            fresh = rows.first[t, lane]
            if fresh:
                start = (rows.starts.hidden[t, lane], rows.starts.cell[t, lane])
                state = LSTMState(*map(jnp.asarray, start))
            action = 3 if fresh else rows.actions[t - 1, lane]
            reward = 99.0 if fresh else rows.rewards[t - 1, lane]
            inputs = (rows.observations[t, lane], action, reward, fresh)
            state = step(state, *map(jnp.asarray, inputs))
            close(found[t, lane], state.hidden, 1e-12)


@pytest.mark.usefixtures("x64")
def test_padding_changes_nothing():
    networks, segments = make_networks(), random_segments(9, 2)
    options = {"return_baseline": "batch-mean", "predict_terminal_observation": True}
    padded = jax.tree.map(
        lambda leaf, rest: jnp.concatenate([leaf, rest]),
        segments,
        eqx.tree_at(lambda s: s.first, random_segments(5, 2, seed=1), replace_fn=jnp.zeros_like),
    )
    padded = eqx.tree_at(lambda s: s.valid, padded, replace_fn=lambda v: v.at[9:].set(False))
    assert (padded.last[:9] == segments.last).all()
    assert not padded.last[9:].any()
    expected, found = (gradient(networks, s, **options) for s in (segments, padded))
    jax.tree.map(lambda a, b: close(a, b, 1e-12), expected, found)


@pytest.mark.usefixtures("x64")
def test_the_last_observation_of_a_segment_is_never_a_target():
    networks = fixture_networks("kl")
    one, other = fixture_segments(final_observation=6), fixture_segments(final_observation=3)
    assert loss(networks, one)[0] == loss(networks, other)[0]
    with_one, with_other = (
        loss(networks, segments, predict_terminal_observation=True) for segments in (one, other)
    )
    assert with_one[0] != with_other[0]
    # Two more targets, among six instead of four.
    z = encode(networks, one)
    output = predict(networks, z, one.actions)[1]
    extra = -jax.nn.log_softmax(output)[jnp.array([2, 5]), 0, 6].sum()
    expected = (4 * 1.8185223883 + extra) / 6
    close(with_one[1]["observation_loss"], expected)


def test_no_pairs_no_observation_loss():
    networks, segments = make_networks(), random_segments(1, 3)
    slope, (_, parts) = gradient(networks, segments)
    assert parts["observation_loss"] == 0
    assert all((leaf == 0).all() for leaf in jax.tree.leaves(slope.heads.observation))
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(slope))


@pytest.mark.usefixtures("x64")
def test_the_batch_mean_baseline():
    networks, segments = fixture_networks("kl"), fixture_segments()
    log_taken = [-1.26607934, -0.96448820, -0.96904620, -1.50666428, -1.51809158, -2.13045812]
    returns = np.array([0.49, 0.7, 1, 0, 0, 0])
    _, parts = loss(networks, segments, return_baseline="batch-mean")
    close(parts["policy_loss"], -np.sum(log_taken * (returns - returns.mean())), 1e-7)


@pytest.mark.usefixtures("as_user")
def test_an_unknown_baseline_is_refused():
    with pytest.raises(ValueError, match="return_baseline must be one of none, batch-mean, got"):
        loss(make_networks(), random_segments(2, 1), return_baseline="mean")


@pytest.mark.usefixtures("x64")
def test_real_observations_mmd():
    networks = make_networks(variant="mmd", num_observations=None, observation_scale=(2.0, 0.5))
    segments = random_segments(20, 3, observation=(2,))
    mean = predict(networks, encode(networks, segments), segments.actions)[1]
    target = np.asarray(segments.next_observations) / [2, 0.5]
    distance = 2 * np.sum((np.asarray(mean) - target) ** 2, axis=-1) - 2 * np.sum(target**2, -1)
    _, parts = loss(networks, segments)
    close(parts["observation_loss"], distance[~np.asarray(segments.last)].mean())


@pytest.mark.usefixtures("x64")
def test_real_observations_kl_is_the_likelihood_of_a_mixture():
    networks = make_networks(num_observations=None, observation_scale=(1.0, 1.0))
    output = np.random.default_rng(0).normal(size=25, scale=2.0)
    assert networks.heads.observation[-1].out_features == 25
    target = np.array([0.3, -1.2])
    weights = np.exp(output[:5]) / np.exp(output[:5]).sum()
    means, raw = output[5:].reshape(2, 5, 2)
    density = stats.norm(means, np.exp(5 * np.tanh(raw / 5))).pdf(target).prod(axis=1)
    found = observation_loss(networks, jnp.asarray(output), jnp.asarray(target))
    close(found, -np.log(weights @ density), 1e-10)
    assert np.isfinite(loss(networks, random_segments(6, 1, observation=(2,)))[0])


@jax.jit
@jax.value_and_grad
def mixture_slope(output, target):
    return _losses.gaussian_mixture_loss(output, target).sum()


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e3])
def test_the_mixture_stays_finite(size):
    """In float32, for outputs and targets of any size that may come up."""
    draw = np.random.default_rng(0)
    output, target = (size * draw.normal(size=(200, n)).astype(np.float32) for n in (25, 2))
    value, slope = mixture_slope(jnp.asarray(output), jnp.asarray(target))
    assert np.isfinite(value)
    assert np.isfinite(slope).all()


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize(
    ("option", "wrong", "message"),
    [
        ("dimension", 0, "dimension must be an integer of at least 1, got 0"),
        ("head_width", 0, "head_width must be an integer of at least 1, got 0"),
        ("input_width", -1, "input_width must be an integer of at least 0, got -1"),
        ("num_observations", None, "num_observations must be an integer of at least 1, got None"),
        ("variant", "KL", "variant must be one of kl, mmd, got 'KL'"),
        ("start", "noise", "start must be one of normal, zeros, got 'noise'"),
    ],
)
def test_options_are_checked(option, wrong, message):
    with pytest.raises(ValueError, match=message):
        make_networks(**{option: wrong})
