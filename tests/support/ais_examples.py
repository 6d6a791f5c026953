"""Networks and segments for the tests of AIS: the reference's fixture, and random ones."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from asmpg.methods.ais import (
    AISNetworks,
    LSTMState,
    Segments,
    _losses,
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
    real = float if jax.config.read("jax_enable_x64") else np.float32
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
