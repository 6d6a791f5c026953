"""`agent.evaluate`, and what an agent says of itself."""

import gymnasium
import numpy as np
import pytest

import asmpg
from asmpg.exact import policy_returns
from host_environments import NumPyCheeseMaze

MAZE = asmpg.make("CheeseMaze", max_steps=20)
RUN = {"steps": 500, "evaluate_every": 500, "evaluation_episodes": 10, "verbose": 0}


@pytest.fixture(scope="module")
def agent():
    return asmpg.ASMPG(policy="tabular", num_states=2).learn(MAZE, seeds=(3, 4), **RUN)


def test_returns_and_lengths_of_the_episodes(agent):
    found = agent.evaluate(episodes=2000)
    assert found.returns.shape == found.lengths.shape == (2000,)
    assert found.mean == found.returns.mean()
    assert found.standard_error == pytest.approx(found.returns.std(ddof=1) / 2000**0.5)
    assert found.reward_per_step == pytest.approx(found.returns.sum() / found.lengths.sum())
    exact = policy_returns(MAZE, agent.policy.tabulate(), discount=1.0)
    assert abs(found.mean - exact.undiscounted) < 4 * found.standard_error
    assert found.lengths.mean() == pytest.approx(float(exact.episode_length), rel=0.05)
    assert f"return {found.mean:.4g} ±" in repr(found)
    assert "2,000 episodes" in repr(found)


def test_the_same_on_the_host_and_in_our_own_environment_for_gymnasium(agent):
    exact = policy_returns(MAZE, agent.policy.tabulate(), discount=1.0).undiscounted
    for environment in (
        lambda: NumPyCheeseMaze(max_steps=20),
        lambda: gymnasium.make("asmpg/CheeseMaze-v0", max_steps=20),
    ):
        found = agent.evaluate(environment, episodes=300)
        assert len(found.returns) == 300
        assert abs(found.mean - exact) < 4 * found.standard_error


def test_the_seed_decides_and_the_most_probable_action_may_be_taken(agent):
    one, same, other = (agent.evaluate(episodes=50, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.returns, same.returns)
    assert not np.array_equal(one.lengths, other.lengths)
    greedy = agent.evaluate(episodes=50, deterministic=True)
    assert not np.array_equal(greedy.lengths, one.lengths)


@pytest.mark.usefixtures("as_user")
def test_what_does_not_fit(agent):
    with pytest.raises(ValueError, match="environment must show what the agent was trained on"):
        agent.evaluate("Tiger")
    with pytest.raises(ValueError, match=r"episodes must be an integer in .*, got 0"):
        agent.evaluate(episodes=0)
    stranger = asmpg.Agent.of_policy(agent.policy, agent.observation_space)
    with pytest.raises(ValueError, match="environment must be given"):
        stranger.evaluate()
    assert stranger.evaluate(MAZE, episodes=3).returns.shape == (3,)


def test_an_agent_says_what_it_is(agent, tmp_path):
    best = agent.result.agent(4)
    row = [row for row in best.result.rows if row["seed"] == 4][-1]
    assert repr(best) == (
        f"Agent(asmpg in CheeseMaze, 2 agent states, 134 parameters; seed 4 (one of 2), "
        f"discounted return {row['exact_discounted']:.4g} after {row['steps']:,} steps)"
    )
    best.save(tmp_path / "agent.npz")
    assert repr(asmpg.load(tmp_path / "agent.npz")) == repr(best)
    assert "not from a run" in repr(asmpg.Agent.of_policy(agent.policy, agent.observation_space))
