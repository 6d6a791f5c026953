"""The agent acts as trained, is spelled as Stable-Baselines3 spells it, and resets when told to."""

import inspect

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector.utils import concatenate, create_empty_array

from asmpg.agents import Agent, load
from asmpg.agents._recipe import Recipe
from asmpg.environments import Box, Discrete
from asmpg.exact import exact_returns
from asmpg.interop import IntegerWriter, Interface
from asmpg.interop.host import read_observation_space
from asmpg.policies import (
    Encoding,
    JointTabularPolicy,
    MLPPolicy,
    TabularPolicy,
    TimeIndexedPolicy,
    actor,
)
from asmpg.runs import RunFolder
from asmpg.training import build_program, evaluate, seed_shapes, train
from controllers import cheese_maze_controller
from finite import make_finite
from runs import SEEDS, small_config

MAX_STEPS = 20
SIZES = {"num_states": 3, "num_actions": 4, "num_observations": 7}
OBSERVATIONS = np.arange(7)


def tabular(seed=0, scale=2.0):
    return TabularPolicy(**SIZES, key=jax.random.key(seed), nu_scale=scale, phi_scale=scale)


def agent_of(policy):
    return Agent.of_policy(policy, Discrete(7))


@pytest.fixture
def agent():
    return agent_of(tabular())


def controller():
    """The four-state controller that solves the maze, as a policy with (almost) sure kernels."""
    tables = cheese_maze_controller()
    sure = [jnp.maximum(table, -50.0) for table in (tables.log_nu[0], tables.log_phi[0, 0])]
    blank = TabularPolicy(num_states=4, num_actions=4, num_observations=7, key=jax.random.key(0))
    return eqx.tree_at(lambda policy: (policy.nu_logits, policy.phi_logits), blank, tuple(sure))


def test_predict_is_spelled_as_in_stable_baselines3():
    parameters = list(inspect.signature(Agent.predict).parameters.values())[1:5]
    assert [(one.name, one.default) for one in parameters] == [
        ("observation", inspect.Parameter.empty),
        ("state", None),
        ("episode_start", None),
        ("deterministic", False),
    ]


def test_a_batch_gives_an_action_for_each(agent):
    actions, state = agent.predict(OBSERVATIONS)
    assert actions.shape == (7,)
    assert actions.dtype == np.int64
    assert [part.shape for part in state] == [(7,)] * 3
    np.testing.assert_array_equal(state[1], actions)
    np.testing.assert_array_equal(state[2], 1)


def test_a_single_observation_gives_a_single_action(agent):
    action, state = agent.predict(3)
    assert np.shape(action) == ()
    assert Discrete(4).contains(action)
    action, state = agent.predict(np.int64(3), state)
    assert [part.shape for part in state] == [(1,)] * 3
    assert state[2] == 2


def test_rows_of_a_batch_are_played_as_if_alone(agent):
    first, state = agent.predict(OBSERVATIONS, deterministic=True)
    second, _ = agent.predict(OBSERVATIONS[::-1], state, deterministic=True)
    for row, (before, after) in enumerate(zip(OBSERVATIONS, OBSERVATIONS[::-1], strict=True)):
        action, state = agent.predict(before, deterministic=True)
        assert action == first[row]
        assert agent.predict(after, state, deterministic=True)[0] == second[row]


@pytest.mark.parametrize("deterministic", [False, True])
def test_an_episode_start_forgets_like_no_state_at_all(agent, deterministic):
    _, state = agent.predict(OBSERVATIONS)
    agent.seed(1)
    fresh, fresh_state = agent.predict(OBSERVATIONS, None, None, deterministic)
    agent.seed(1)
    again, again_state = agent.predict(OBSERVATIONS, state, np.ones(7, bool), deterministic)
    np.testing.assert_array_equal(fresh, again)
    np.testing.assert_array_equal(fresh_state, again_state)


def test_an_episode_start_touches_its_own_row_only(agent):
    start = np.arange(7) % 2 == 0
    _, state = agent.predict(OBSERVATIONS)
    outcomes = []
    for flags in (start, np.ones(7, bool), np.zeros(7, bool), None):
        agent.seed(1)
        outcomes.append(agent.predict(OBSERVATIONS, state, flags)[1])
    mixed, fresh, on, default = outcomes
    for part in range(3):
        np.testing.assert_array_equal(mixed[part], np.where(start, fresh[part], on[part]))
        np.testing.assert_array_equal(on[part], default[part])
    assert mixed[2].tolist() == [1, 2, 1, 2, 1, 2, 1]


def test_the_state_handed_in_is_left_alone(agent):
    _, state = agent.predict(OBSERVATIONS)
    kept = [part.copy() for part in state]
    agent.predict(OBSERVATIONS, state, np.ones(7, bool))
    np.testing.assert_array_equal(kept, state)


def test_seeds_repeat_the_draws(agent):
    draws = []
    for seed in (3, 3, 4):
        agent.seed(seed)
        draws.append(agent.predict(np.zeros(100, int))[0].tolist())
    assert draws[0] == draws[1] != draws[2]


def test_draws_follow_nu_and_phi(agent):
    number = 20_000
    _, (states, actions, time) = agent.predict(np.full(number, 2))
    nu = agent.nu(None, None, 2)
    np.testing.assert_allclose(np.bincount(states, minlength=3) / number, nu, atol=0.02)
    for state in np.flatnonzero(nu > 0.1):
        played = np.bincount(actions[states == state], minlength=4) / (states == state).sum()
        np.testing.assert_allclose(played, agent.phi(state), atol=0.03)
    _, (after, _, _) = agent.predict(
        np.full(number, 4), (np.full(number, 1), np.full(number, 3), time)
    )
    np.testing.assert_allclose(
        np.bincount(after, minlength=3) / number, agent.nu(1, 3, 4), atol=0.02
    )


def test_deterministic_takes_the_most_probable(agent):
    _, (states, actions, _) = agent.predict(OBSERVATIONS, deterministic=True)
    for observation in OBSERVATIONS:
        state = agent.nu(None, None, observation).argmax()
        assert states[observation] == state
        assert actions[observation] == agent.phi(state).argmax()


def evaluate_as_stable_baselines3(agent, envs, episodes, *, deterministic=False):
    """The loop of its `evaluate_policy`, line by line."""
    counts = np.zeros(envs.num_envs, int)
    targets = np.asarray([(episodes + i) // envs.num_envs for i in range(envs.num_envs)])
    returns, lengths = [], []
    reward_sum, length_sum = np.zeros(envs.num_envs), np.zeros(envs.num_envs, int)
    observations, _ = envs.reset(seed=0)
    states, episode_starts = None, np.ones(envs.num_envs, bool)
    while (counts < targets).any():
        actions, states = agent.predict(
            observations, state=states, episode_start=episode_starts, deterministic=deterministic
        )
        observations, rewards, terminated, truncated, _ = envs.step(actions)
        reward_sum += rewards
        length_sum += 1
        episode_starts = terminated | truncated
        for i in np.flatnonzero(episode_starts):
            if counts[i] < targets[i]:
                returns.append(reward_sum[i])
                lengths.append(length_sum[i])
                counts[i] += 1
            reward_sum[i] = length_sum[i] = 0
    return np.asarray(returns), np.asarray(lengths)


def make_mazes(number):
    return gymnasium.make_vec(
        "asmpg/CheeseMaze-v0", num_envs=number, max_steps=MAX_STEPS, autoreset_mode="SameStep"
    )


def test_played_in_gymnasium_a_policy_is_worth_its_exact_value():
    policy = tabular(seed=1)
    exact = exact_returns(
        make_finite("CheeseMaze").model, policy.tabulate(), horizon=MAX_STEPS, discount=1.0
    )
    returns, lengths = evaluate_as_stable_baselines3(agent_of(policy), make_mazes(100), 2000)
    for values, value in ((returns, exact.undiscounted), (lengths, exact.episode_length)):
        assert abs(values.mean() - value) < 4 * values.std() / np.sqrt(len(values))


def test_played_in_gymnasium_the_known_controller_reaches_the_optimum():
    returns, lengths = evaluate_as_stable_baselines3(
        agent_of(controller()), make_mazes(50), 500, deterministic=True
    )
    assert (returns == 1).all()
    assert lengths.mean() == pytest.approx(4.3, abs=4 * lengths.std() / np.sqrt(500))


def test_a_single_environment_can_be_played_too():
    env = gymnasium.make("asmpg/CheeseMaze-v0", max_steps=MAX_STEPS)
    agent = agent_of(controller())
    for seed in range(10):
        observation, _ = env.reset(seed=seed)
        state, ended, total = None, False, 0.0
        while not ended:
            action, state = agent.predict(observation, state, deterministic=True)
            observation, reward, terminated, truncated, _ = env.step(action)
            total, ended = total + reward, terminated or truncated
        assert total == 1


def test_real_observations_may_come_alone_or_in_batches():
    policy = MLPPolicy(
        num_states=3,
        encoding=Encoding(2, None, (1.0, 1.0)),
        hidden=4,
        key=jax.random.key(0),
    )
    agent = Agent.of_policy(policy, Box((-9.0, -9.0), (9.0, 9.0)))
    action, state = agent.predict([0.5, -0.5], deterministic=True)
    actions, states = agent.predict(np.full((5, 2), [0.5, -0.5]), deterministic=True)
    assert (actions == action).all()
    assert (states[0] == state[0]).all()
    assert agent.nu(None, None, [0.5, -0.5]).sum() == pytest.approx(1, abs=1e-6)
    assert agent.phi(2).sum() == pytest.approx(1, abs=1e-6)
    with pytest.raises(ValueError, match="observation must be an element of"):
        agent.predict([0.5, np.nan])
    with pytest.raises(ValueError, match="observation must be an element of"):
        agent.predict(0.5)


PARTS = spaces.Dict(
    card=spaces.Discrete(3),
    place=spaces.Box(-9, 9, (2,)),
    rest=spaces.Tuple([spaces.Discrete(2), spaces.MultiBinary(2)]),
)


@pytest.fixture(scope="module")
def agent_of_parts():
    reader = read_observation_space(PARTS)
    policy = MLPPolicy(
        num_states=3,
        encoding=Encoding(2, None, (1.0,) * reader.space.shape[0]),
        hidden=4,
        key=jax.random.key(0),
    )
    interface = Interface("parts", reader, IntegerWriter(2), MAX_STEPS, on_host=True)
    return Agent(
        lambda greedy: actor(policy, greedy=greedy),
        reader.space,
        policy=policy,
        recipe=Recipe(small_config(), interface),
    )


def test_observations_in_parts_may_come_alone_or_in_batches(agent_of_parts):
    PARTS.seed(0)
    samples = [PARTS.sample() for _ in range(5)]
    # A dict of batches, as vector environments give it and Stable-Baselines3 takes it.
    batch = concatenate(PARTS, samples, create_empty_array(PARTS, 5))
    actions, states = agent_of_parts.predict(batch, deterministic=True)
    assert actions.shape == (5,)
    for sample, action, state in zip(samples, actions, states[0], strict=True):
        alone, (alone_state, *_) = agent_of_parts.predict(sample, deterministic=True)
        assert (alone, alone_state.tolist()) == (action, [state])
        nu = agent_of_parts.nu(None, None, sample)
        assert nu.argmax() == state
    one = jax.tree.map(lambda part: part[:1], batch)
    assert agent_of_parts.predict(one)[0].shape == (1,)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"card": None}, "part 'card' of the observation must be an integer, got"),
        ({"place": np.zeros(3)}, r"part 'place' of the observation must have shape \(2,\)"),
        ({"rest": (1,)}, r"part 'rest' of the observation must be a tuple of 2, got \(1,\)"),
        ({"rest": (1, [0, 2])}, r"part 'rest\[1\]' of the observation must be an element"),
        ({"card": [1, 2]}, "but card is a batch of 2, place is single"),
    ],
)
def test_a_wrong_part_is_named(agent_of_parts, change, message):
    right = {"card": 1, "place": [0.5, 0.5], "rest": (1, [0, 1])}
    agent_of_parts.predict(right)
    with pytest.raises(ValueError, match=message):
        agent_of_parts.predict(right | change)
    with pytest.raises(ValueError, match="observation must have the key 'place', it has 'card'"):
        agent_of_parts.predict({"card": 1})


def test_the_kernels_of_a_joint_policy_need_their_input():
    policy = JointTabularPolicy(**SIZES, key=jax.random.key(0))
    agent = agent_of(policy)
    assert agent.num_states == 3
    one, other = (agent.phi(1, given=given) for given in ((None, None, 2), (0, 1, 2)))
    assert one.sum() == pytest.approx(1, abs=1e-6)
    assert abs(one - other).max() > 0.01
    with pytest.raises(ValueError, match="given must be"):
        agent.phi(1)


def test_time_indexed_kernels_know_their_time():
    policy = TimeIndexedPolicy(
        lambda key: TabularPolicy(**SIZES, key=key), horizon=3, key=jax.random.key(0)
    )
    agent = agent_of(policy)
    tables = policy.tabulate()
    for time in range(3):
        np.testing.assert_allclose(
            agent.phi(1, time=time), np.exp(tables.log_phi[time, 0, 1]), atol=1e-6
        )
    at_one, at_two = agent.nu(0, 0, 0, time=1), agent.nu(0, 0, 0, time=2)
    np.testing.assert_allclose(at_two, np.exp(tables.log_nu[2, 7]), atol=1e-6)
    assert abs(at_one - at_two).max() > 0.01


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda agent: agent.predict(7), r"observation must be an element of Discrete\(7\)"),
        (lambda agent: agent.predict([[1]]), "observation must be an element of"),
        (lambda agent: agent.predict(1.5), "observation must be an element of"),
        (lambda agent: agent.predict([1, 2], agent.predict([1])[1]), "state must be None or"),
        (lambda agent: agent.predict([1, 2], 3 * [[0.5, 0.5]]), "state must be None or"),
        (
            lambda agent: agent.predict([1, 2], agent.predict([1, 2])[1], [True]),
            "episode_start must have a truth value for each of 2",
        ),
        (lambda agent: agent.predict([1, 2], reward=[1.0]), "reward must have a finite number"),
        (lambda agent: agent.nu(3, 0, 0), r"state must be an integer in \[0, 2\], got 3"),
        (lambda agent: agent.nu(0, 4, 0), r"action must be an integer in \[0, 3\], got 4"),
        (lambda agent: agent.nu(None, 1, 0), "state and action must be given both"),
        (lambda agent: agent.nu(0, 0, [0, 1]), "observation must be a single one"),
        (lambda agent: agent.phi("low"), "state must be an integer"),
        (lambda agent: agent.seed(-1), r"seed must be an integer in \[0, "),
    ],
)
def test_wrong_arguments_are_named(agent, ask, message):
    with pytest.raises(ValueError, match=message):
        ask(agent)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "small"
    train(small_config(), out)
    return out


def test_a_loaded_agent_plays_what_was_trained(run):
    folder = RunFolder(run)
    for which in ("best", "last"):
        state, _ = folder.load(
            seed_shapes(build_program(folder.config, folder.config.resolve())), 5235, which
        )
        law = load(run, seed=5235, which=which).nu(None, None, 1)
        np.testing.assert_allclose(law, jax.nn.softmax(state.learner.policy.nu_logits[1]))


def test_without_a_seed_the_best_is_loaded(run):
    values = {seed: RunFolder(run).status(seed).best_value for seed in SEEDS}
    best = max(SEEDS, key=lambda seed: values[seed] or 0.0)
    np.testing.assert_array_equal(load(run).nu(0, 1, 2), load(run, seed=best).nu(0, 1, 2))


def test_runs_in_memory_and_on_disk_give_the_same_agents(run):
    result = train(small_config())
    for seed in (None, *SEEDS):
        np.testing.assert_array_equal(
            result.agent(seed).nu(0, 1, 2), load(run, seed=seed).nu(0, 1, 2)
        )


@pytest.mark.usefixtures("as_user")
def test_what_cannot_be_loaded_is_named(run, tmp_path):
    with pytest.raises(ValueError, match="seed must be one of 1952, 5235, got 3"):
        load(run, seed=3)
    with pytest.raises(ValueError, match="which must be one of best, last, got 'first'"):
        load(run, which="first")
    with pytest.raises(ValueError, match="is not the folder of a run"):
        load(tmp_path)
    RunFolder.create(tmp_path / "begun", small_config())
    with pytest.raises(ValueError, match="begun has no checkpoint yet"):
        load(tmp_path / "begun")


@pytest.mark.parametrize("greedy", [False, True])
def test_evaluation_agrees_with_the_exact_values(run, greedy):
    entries = evaluate(run, episodes=4000, greedy=greedy)
    assert [entry["seed"] for entry in entries] == [*SEEDS]
    for entry in entries:
        for sampled, exact in {
            "discounted_return": "exact_discounted",
            "undiscounted_return": "exact_undiscounted",
            "reward_per_step": "exact_reward_per_step",
            "episode_length": "exact_episode_length",
        }.items():
            error = entry[f"{sampled}_standard_error"]
            assert abs(entry[sampled] - entry[exact]) < 4.5 * error + 1e-6
    assert evaluate(run, episodes=4000, greedy=greedy) == entries


def test_many_episodes_are_played_in_batches(run, monkeypatch):
    monkeypatch.setattr("asmpg.agents._evaluation._BATCH", 1000)
    (entry,) = evaluate(run, episodes=2000, seed=1952, which="last")
    assert entry["episodes"] == 2000
    assert entry["episode_length"] == pytest.approx(
        entry["exact_episode_length"], abs=4.5 * entry["episode_length_standard_error"]
    )
