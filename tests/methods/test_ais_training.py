"""AIS collects what it says, trains by the common loop, and its seeds run without a hang."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from asmpg.environments import make
from asmpg.experience import Rollouts, WholeEpisodes, collect
from asmpg.methods import with_array_numbers
from asmpg.methods.ais import AIS, Segments, encode_segments
from asmpg.runs import RunConfig, default_seeds
from asmpg.training import train
from learning import improve, initialise
from quick import long


@pytest.fixture(scope="module")
def learned():
    """An untrained learner of the cheese maze with episodes of at most 30 steps."""
    env, method = make("CheeseMaze", max_steps=30), AIS(variant="kl")
    return env, method, initialise(method, env, jax.random.key(0))


def played(env, actor, collection, key):
    return Segments.from_experience(collect(env, actor, collection, None, key)[1])


STEPS = Rollouts(1, 200, continuing=False)


def test_a_batch_has_exactly_its_steps_and_resets_inside(learned):
    env, method, learner = learned
    play = jax.jit(lambda key: played(env, method.actor(learner), STEPS, key))
    batch = jax.device_get(play(jax.random.key(1)))
    first, terminated = batch.first[:, 0], batch.terminated[:, 0]
    assert batch.valid.all()
    assert first[0]
    starts = np.flatnonzero(first)
    lengths = np.diff(starts, append=200)
    assert lengths.max() <= 30
    for start, length in zip(starts[:-1], lengths[:-1], strict=True):
        assert terminated[start + length - 1] or length == 30
        assert not terminated[start : start + length - 1].any()
    inside = ~first[1:]
    np.testing.assert_array_equal(
        batch.next_observations[:-1, 0][inside], batch.observations[1:, 0][inside]
    )
    noise = batch.starts.hidden[starts, 0]
    assert len(np.unique(noise, axis=0)) == len(starts)


def test_whole_episodes_end_by_themselves_or_at_the_limit(learned):
    env, method, learner = learned
    play = jax.jit(lambda key: played(env, method.actor(learner), WholeEpisodes(8), key))
    batch = jax.device_get(play(jax.random.key(2)))
    lengths = batch.valid.sum(axis=0)
    for column, length in enumerate(lengths):
        assert batch.valid[:length, column].all()
        assert batch.terminated[length - 1, column] or length == 30
        assert batch.last[:, column].nonzero()[0].tolist() == [length - 1]
    assert batch.first[0].all()
    assert not batch.first[1:].any()


@pytest.mark.parametrize("whole", [False, True])
def test_the_loss_sees_the_states_that_acted(learned, whole):
    """Stepping the actor through a recorded batch gives the states the loss is computed on."""
    env, method, learner = learned
    actor, networks = method.actor(learner), learner.networks
    collection = WholeEpisodes(4) if whole else Rollouts(1, 60, continuing=False)
    batch = played(env, actor, collection, jax.random.key(3))
    encoded = encode_segments(networks, batch)
    for column in range(batch.valid.shape[1]):
        state = None
        for t in np.flatnonzero(np.asarray(batch.valid[:, column])):
            if batch.first[t, column]:
                state = jax.tree.map(lambda leaf, at=(t, column): leaf[at], batch.starts)
            state = networks.encode_step(
                state,
                batch.observations[t, column],
                batch.actions[t - 1, column],
                batch.rewards[t - 1, column],
                batch.first[t, column],
            )
            np.testing.assert_allclose(state.hidden, encoded[t, column], atol=1e-5)


def test_the_two_losses_have_learning_rates_of_their_own():
    env = make("CheeseMaze")
    moved = {}
    for name in ("state_learning_rate", "policy_learning_rate"):
        rates = {"state_learning_rate": 0.0, "policy_learning_rate": 0.0, name: 0.1}
        method = with_array_numbers(AIS(variant="mmd", **rates))
        before = initialise(method, env, jax.random.key(0))
        after, _, _ = improve(method, env, before, jax.random.key(1))
        moved[name] = [
            part
            for part in ("encoder", "heads", "policy")
            if not eqx.tree_equal(getattr(before.networks, part), getattr(after.networks, part))
        ]
    assert moved == {
        "state_learning_rate": ["encoder", "heads"],
        "policy_learning_rate": ["policy"],
    }


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("HealthcareTreatment", "ais-mmd"),
        long("VelocityOnlyCartPole", "ais-kl-fixed"),
        long("MachineRepair", "ais-mmd-fixed"),
    ],
)
def test_every_variant_trains_by_the_common_loop(name, method):
    """Of `ais-kl` ten seeds are trained below."""
    config = RunConfig(
        name,
        method=method,
        steps=1000,
        seeds=(1, 2),
        evaluate_every=1000,
        evaluation_episodes=5,
    )
    rows = train(config).rows
    assert {row["seed"] for row in rows} == {1, 2}
    last = [row for row in rows if row["steps"] >= 1000]
    assert len(last) == 2
    for row in last:
        for measure in ("discounted_return", "gradient_norm", "observation_loss", "reward_loss"):
            assert np.isfinite(row[measure])


@pytest.mark.long
def test_ten_seeds_run_side_by_side_without_a_hang():
    """10,000 steps of ten seeds; that this returns at all is the test."""
    config = RunConfig("CheeseMaze", method="ais-kl", steps=10_000, seeds=default_seeds(10))
    rows = train(config).rows
    assert len(rows) == 2 * 10
    assert {row["steps"] for row in rows} == {0, 10_000}
    assert jnp.isfinite(jnp.array([row["undiscounted_return"] for row in rows])).all()


def test_the_agent_carries_the_recurrent_state():
    """What `predict` hands back is what it goes on from; `episode_start` forgets it."""
    config = RunConfig(
        "CheeseMaze",
        method="ais-kl",
        method_options={"start": "zeros"},
        steps=200,
        seeds=(1,),
        evaluation_episodes=2,
    )
    agent = train(config).agent()
    observations = np.array([1, 4, 5])
    _, fresh = agent.predict(observations, deterministic=True)
    hidden, cell, *_ = fresh
    assert hidden.shape == cell.shape == (3, 8)
    _, later = agent.predict(observations, fresh, deterministic=True, reward=np.zeros(3))
    assert np.abs(later[0] - hidden).max() > 1e-4
    _, mixed = agent.predict(observations, later, np.array([True, False, True]), deterministic=True)
    np.testing.assert_allclose(mixed[0][[0, 2]], hidden[[0, 2]], atol=1e-6)
    assert np.abs(mixed[0][1] - hidden[1]).max() > 1e-4
    with pytest.raises(ValueError, match="no agent states"):
        agent.phi(0)
