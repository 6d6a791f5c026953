"""Running statistics of real observations: what they are, who has them, when they change."""

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium import spaces

import asmpg
from asmpg.environments import Box
from asmpg.interop import IntegerWriter, Interface, reader_of
from asmpg.methods import ASMPPO, GRUPPO
from asmpg.policies import Normaliser


def test_the_statistics_of_parts_are_those_of_the_whole():
    """Means and deviations of 900 steps taken in by three unequal parts, to 1e-4 of their size."""
    generator = np.random.default_rng(0)
    seen = generator.normal([3.0, -200.0], [0.1, 50.0], (90, 10, 2)).astype(np.float32)
    valid = generator.random((90, 10)) < 0.7
    normaliser = Normaliser.unknown(2)
    for rows in (slice(0, 5), slice(5, 60), slice(60, 90)):
        normaliser = normaliser.updated(jnp.asarray(seen[rows]), jnp.asarray(valid[rows]))
    counted = seen[valid]
    np.testing.assert_allclose(normaliser.mean, counted.mean(axis=0), rtol=1e-4)
    np.testing.assert_allclose(normaliser.scale, counted.std(axis=0), rtol=1e-4)
    assert normaliser.count == valid.sum()
    shown = normaliser(jnp.asarray(counted))
    np.testing.assert_allclose(shown.mean(axis=0), 0, atol=1e-3)
    np.testing.assert_allclose(shown.std(axis=0), 1, atol=1e-3)
    assert jnp.abs(normaliser(jnp.asarray([1e9, -1e9]))).max() == 10
    untouched = normaliser.updated(jnp.asarray(seen), jnp.zeros((90, 10), bool))
    np.testing.assert_allclose(untouched.mean, normaliser.mean, rtol=1e-6)


def test_they_are_kept_where_ranges_call_for_it():
    def normaliser(high, **options):
        space = Box((-high, -high), (high, high))
        interface = Interface("name", reader_of(space), IntegerWriter(2), 100)
        return ASMPPO(**options).encoding(interface).normaliser

    assert normaliser(5.0) is None
    assert normaliser(20.0) is not None
    assert normaliser(20.0, observation_scale=(20.0, 20.0)) is None
    assert normaliser(20.0, normalise_observations=False) is None
    assert normaliser(5.0, normalise_observations=True) is not None
    with pytest.raises(ValueError, match="observation_scale must be None for normalise_obs"):
        ASMPPO(observation_scale=(1.0,), normalise_observations=True)


class Far(gymnasium.Env):
    """A step is right on the side of the observation, which lies far from zero."""

    observation_space = spaces.Box(-np.inf, np.inf, (1,))
    action_space = spaces.Discrete(2)

    def _seen(self):
        self.side = int(self.np_random.integers(2))
        return np.asarray([5000.0 + 3 * self.side], np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time = 0
        return self._seen(), {}

    def step(self, action):
        reward, self.time = float(action == self.side), self.time + 1
        return self._seen(), reward, self.time == 10, False, {}


@pytest.mark.long
def test_what_was_seen_is_learned_with_saved_and_then_left_alone(tmp_path):
    """Above 9 of 10 steps right after 10,000 steps; what is loaded acts alike."""
    method = GRUPPO(critic_width=8, width=8, learning_rate=5e-3)
    agent = method.learn(Far, steps=10_000, seeds=(0,), evaluation_episodes=20, verbose=0)
    assert agent.result.rows[-1]["undiscounted_return"] > 9
    agent.save(tmp_path / "agent.npz")
    again = asmpg.load(tmp_path / "agent.npz")
    observations = [[5000.0], [5003.0]]
    for _ in range(3):
        found = [
            one.predict(observations, deterministic=True)[0].tolist() for one in (agent, again)
        ]
        assert found == [[0, 1], [0, 1]]
    learned = [leaf for leaf in jax.tree.leaves(agent.learned) if leaf.shape == (1,)]
    assert any(abs(float(leaf[0]) - 5001.5) < 0.2 for leaf in learned)
