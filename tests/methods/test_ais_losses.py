"""The losses of AIS: what they are, what each reaches, and what padding and cuts do to them."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from scipy import stats

from ais_examples import (
    VARIANTS,
    WEIGHT,
    close,
    encode,
    fixture_networks,
    fixture_segments,
    gradient,
    loss,
    make_networks,
    observation_loss,
    predict,
    random_segments,
)
from asmpg.methods.ais import LSTMState, _losses, ais_gradient, ais_loss, weigh_steps
from quick import long


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("longest", [*map(long, (1, 16, 40)), 17])
def test_the_gradient_in_blocks_is_the_gradient(variant, longest):
    """With padding behind columns of several lengths, and segments that start inside a block."""
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


@pytest.mark.usefixtures("x64")
def test_segments_in_one_batch_are_encoded_as_if_alone():
    """Step by step, as a rollout does it, starting afresh at every start."""
    networks, segments = make_networks(start="normal"), random_segments(20, 3)
    found = encode(networks, segments)
    step = eqx.filter_jit(networks.encode_step)
    rows = jax.tree.map(np.asarray, segments)
    for column in range(3):
        for t in range(20):
            fresh = rows.first[t, column]
            if fresh:
                start = (rows.starts.hidden[t, column], rows.starts.cell[t, column])
                state = LSTMState(*map(jnp.asarray, start))
            action = 3 if fresh else rows.actions[t - 1, column]
            reward = 99.0 if fresh else rows.rewards[t - 1, column]
            inputs = (rows.observations[t, column], action, reward, fresh)
            state = step(state, *map(jnp.asarray, inputs))
            close(found[t, column], state.hidden, 1e-12)


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
    density = stats.norm.pdf(target, means, np.exp(5 * np.tanh(raw / 5))).prod(axis=1)
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
