"""AIS has the networks of the reference, and computes what it computes."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from ais_examples import (
    close,
    encode,
    fixture_networks,
    fixture_segments,
    gradient,
    initialise,
    loss,
    make_networks,
    predict,
    side_by_side,
)


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
    """Both segments in one column, and side by side."""
    networks, segments = fixture_networks(variant), layout(fixture_segments())
    slope, (found, parts) = gradient(networks, segments)
    close(parts["reward_loss"], 0.1696670037)
    close(parts["policy_loss"], 2.2645668089)
    close(parts["observation_loss"], prediction_loss)
    close(parts["ais_loss"] + parts["policy_loss"], total)
    close(found, total)
    close([optax.tree.norm(p) for p in (slope.encoder, slope.heads, slope.policy)], norms)


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
