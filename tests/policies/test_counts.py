"""Counts beside the hidden state: what they say, of which actions, and what they cannot.

`test_window.py` has what they share with windows: enumeration, rollouts, saving.
"""

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium import spaces

import asmpg
from asmpg.agents import Agent
from asmpg.environments import Discrete, make
from asmpg.policies import AgentMemory, Categorical, Encoding, TabularPolicy, WindowPolicy
from asmpg.policies._window import empty_window
from windows import make_window


def logits_by_counts(policy, counts):
    """What the counts before a step add to the logits, where 1 is seen after action 0."""
    window = eqx.tree_at(
        lambda window: window.counts, empty_window(1, policy.encoding, counts=True), counts
    )
    one = jnp.ones((), jnp.int32)
    memory = AgentMemory(one, 0 * one, 5 * one, window)
    return np.asarray(policy.count_networks(memory, one))


def test_what_is_learned_of_one_action_holds_for_all():
    """The network of a single action is the same for each: exchanged counts, exchanged logits."""
    actions, symbols = 4, 3
    policy = make_window(Encoding(actions, symbols), 1, jax.random.key(0), counts=True)
    silent = jax.tree.map(jnp.zeros_like, policy.count_networks.of_all)
    policy = eqx.tree_at(lambda policy: policy.count_networks.of_all, policy, silent)
    counts = jax.random.randint(jax.random.key(1), (1 + actions, symbols), 0, 9, jnp.int32)
    logits = logits_by_counts(policy, counts)
    assert np.ptp(logits) > 0.1
    # The step itself is counted after action 0, which stays where it is.
    order = np.array([0, 2, 3, 1])
    exchanged = logits_by_counts(policy, counts[np.concatenate([[0], 1 + order])])
    np.testing.assert_allclose(exchanged, logits[order], rtol=1e-5)
    assert np.abs(exchanged - logits).max() > 1e-2


def test_networks_of_a_single_unit_are_finite():
    hidden = TabularPolicy(num_states=2, num_actions=2, num_observations=3, key=jax.random.key(0))
    policy = WindowPolicy(
        hidden, window=1, encoding=Encoding(2, 3), counts=True, width=1, key=jax.random.key(1)
    )
    for leaf in jax.tree.leaves(policy.count_networks.of_action):
        assert leaf.size > 0
        assert np.isfinite(leaf).all()


def test_combinations_of_parts_are_counted_as_one_action_each():
    """Actions of two parts: the pairs of all six combinations with what was seen after them."""
    encoding = Encoding(Categorical(6, (2, 3)), 2)
    policy = make_window(encoding, 1, jax.random.key(0), counts=True)
    assert policy.empty_window().counts.shape == (7, 2)
    assert policy.count_networks.of_action is not None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"counts": True, "window": 0}, "window must be at least 1 for counts=True, got 0"),
        ({"counts": True, "policy": "joint"}, "counts must be False for policy='joint'"),
        ({"counts": 3}, "counts must be"),
    ],
)
@pytest.mark.usefixtures("as_user")
def test_bad_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        asmpg.ASMPPO(**options).learn("CheeseMaze", steps=1_000, verbose=0)


@pytest.mark.usefixtures("as_user")
def test_real_observations_are_not_counted():
    message = "counts must be False for real observations.*give a longer window instead"
    with pytest.raises(ValueError, match=message):
        asmpg.ASMPPO(counts=True).learn("VelocityOnlyCartPole", steps=1_000, verbose=0)


def test_counts_that_would_not_fit_are_refused():
    class Symbols(gymnasium.Env):
        observation_space, action_space = spaces.Discrete(1_000_000), spaces.Discrete(4)

        def reset(self, *, seed=None, options=None):
            return 0, {}

        def step(self, action):
            return 0, 0.0, False, False, {}

    with pytest.raises(ValueError, match="counts must be False with 1,000,000 observations"):
        asmpg.ASMPPO(counts=True, num_states=1).learn(Symbols(), steps=1_000, verbose=0)


def test_an_agent_that_counts_is_asked_about_whole_episodes_and_has_no_machine(tmp_path):
    policy = make_window(Encoding(4, 7), 1, jax.random.key(0), counts=True)
    agent = Agent.of_policy(policy, Discrete(7))
    assert agent.counts
    assert "window 1 and counts" in repr(agent)
    often, once = agent.phi(1, seen=[5, 3, 3], done=[2, 2]), agent.phi(1, seen=[5, 3], done=[2])
    assert np.abs(often - once).max() > 1e-3
    with pytest.raises(ValueError, match="seen must be the observations of the episode"):
        agent.phi(1, seen=[5, 3])
    with pytest.raises(ValueError, match="counts=False to be a machine"):
        agent.machine(make("CheeseMaze"))
    with pytest.raises(ValueError, match="counts=False to be exported"):
        agent.export(tmp_path / "policy.py")
    with pytest.raises(ValueError, match="num_memories needs counts=False"):
        agent.num_memories()


def test_counting_solves_what_few_agent_states_cannot():
    """A bandit of four arms, two agent states: counting pairs of arm and reward tells them apart.

    At least 0.1 better after 20,000 steps, one seed: 0.43 and 0.14 when this was written.
    """
    bandit = make("popgym-MultiarmedBanditEasy", arms=4)
    returns = {}
    for counts in (False, True):
        method = asmpg.ASMPPO(num_states=2, counts=counts, critic="memory")
        agent = method.learn(bandit, steps=20_000, seeds=(3,), evaluation_episodes=2, verbose=0)
        returns[counts] = agent.evaluate(bandit, episodes=200, seed=1).mean
    assert returns[True] > returns[False] + 0.1
