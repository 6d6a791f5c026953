"""The use of agent states: what is counted while playing is what was played."""

import equinox as eqx
import jax
import numpy as np
import pytest

from asmpg.environments import make
from asmpg.experience import HostEnvironments, HostPlayer, play_episodes, play_for_returns
from asmpg.interop import resolve
from asmpg.policies import (
    Encoding,
    FilterActor,
    MemorylessPolicy,
    TabularPolicy,
    actor,
    filter_actor,
    watched,
)
from host_environments import NumPyCheeseMaze
from quick import long

EPISODES = 20
KEY = jax.random.key(3)


@pytest.fixture(scope="module")
def maze():
    return make("CheeseMaze", max_steps=12)


@pytest.fixture(scope="module")
def policy(maze):
    sizes = {"num_actions": maze.action_space.n, "num_observations": maze.observation_space.n}
    return TabularPolicy(num_states=3, **sizes, key=jax.random.key(0))


def entropy(p):
    return -np.sum(p * np.log(p), axis=-1)


@pytest.mark.parametrize(
    ("make_actor", "greedy"),
    [
        pytest.param(actor, True, id="sampling, greedy"),
        pytest.param(filter_actor, False, id="filtering"),
        long(actor, False, id="sampling"),
        long(filter_actor, True, id="filtering, greedy"),
    ],
)
def test_sums_along_episodes_are_those_of_their_steps(maze, policy, make_actor, greedy):
    plain = make_actor(policy, greedy=greedy)
    options = {"num_episodes": EPISODES}
    played = eqx.filter_jit(play_episodes)(maze, plain, KEY, **options)
    returns = eqx.filter_jit(play_for_returns)(
        maze, watched(plain, policy), KEY, **options, discount=1.0
    )
    np.testing.assert_array_equal(returns.lengths, played.valid.sum(axis=0))
    tables = policy.tabulate()
    past, seen, valid = played.past, played.observations, np.asarray(played.valid)
    nu = np.exp(np.asarray(tables.log_updates(past, seen), float))  # [T, N, s, s']
    if isinstance(plain, FilterActor):
        after = np.asarray(played.memories.belief, float)
        before = np.concatenate([np.full_like(after[:1], 1 / 3), after[:-1]])
    else:
        after = np.eye(3)[np.asarray(played.memories.state)]
        before = np.concatenate([after[:1], after[:-1]])
    step = (before * entropy(nu)).sum(axis=-1)
    np.testing.assert_allclose(returns.use.entropy, (step * valid).sum(axis=0), rtol=1e-4)
    visits = (after * valid[..., None]).sum(axis=0)
    np.testing.assert_allclose(returns.use.visits, visits, rtol=1e-4, atol=1e-5)
    mean = (step * valid).sum() / valid.sum()
    np.testing.assert_allclose(returns.use.mean_entropy, mean, rtol=1e-4)
    share = visits.sum(axis=0) / visits.sum()
    assert float(returns.use.states_in_use) == (share >= 0.01).sum()


def test_on_the_host_every_step_of_every_episode_is_counted(policy):
    source = resolve(NumPyCheeseMaze, {}).source
    assert source is not None
    driver = source.open(3, exactly=False)
    environments = HostEnvironments(
        driver, HostPlayer(lambda kernels: watched(actor(kernels), kernels), 3)
    )
    try:
        environments.reseed(1)
        environments.player.prepare(policy)
        played = environments.returns(num_episodes=7, discount=1.0)
    finally:
        driver.close()
    assert played.use is not None
    np.testing.assert_allclose(played.use.visits.sum(axis=-1), played.lengths)
    assert 0 < played.use.mean_entropy < np.log(3)


def test_who_has_no_agent_states_plays_as_before():
    policy = MemorylessPolicy(encoding=Encoding(2, 4), key=jax.random.key(0))
    plain = policy.actor()
    assert watched(plain, None) is plain
