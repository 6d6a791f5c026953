"""A window and counts beside the hidden state: by enumeration, along rollouts, in all methods."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import asmpg
from asmpg.agents import Agent
from asmpg.environments import Discrete, make
from asmpg.exact import exact_returns
from asmpg.experience import Rollouts, collect, play_for_returns
from asmpg.gradients import marginal_gradient, reward_to_go, sampled_gradient
from asmpg.methods import PRESETS
from asmpg.policies import (
    AgentMemory,
    Encoding,
    FilteredPolicy,
    NetworkActor,
    WindowPolicy,
    actor,
    filter_actor,
    window_size,
    with_windows,
)
from asmpg.policies._window import empty_window, window_features
from enumeration import ACTIONS, OBSERVATIONS, STATES, enumerate_process, flat
from finite import make_finite
from learning import open_compiled
from quick import long
from windows import make_window

FINITE = Encoding(2, 4)
REAL = Encoding(2, None, (1.0, 2.0))


def history(encoding, steps, key):
    observation_key, action_key = jax.random.split(key)
    if encoding.num_observations is None:
        observations = jax.random.normal(observation_key, (steps, 2))
    else:
        observations = jax.random.randint(observation_key, (steps,), 0, encoding.num_observations)
    return observations, jax.random.randint(action_key, (steps,), 0, 2, jnp.int32)


@eqx.filter_jit
def one_step(policy, memory, observation, state, action):
    log_nu = policy.log_nu(memory, observation)
    log_phi = policy.log_phi(memory, observation)
    return log_nu[state] + log_phi[state, action], memory.after(state, action, observation)


def by_brute_force(policy, observations, actions):
    """`P(a_1:t | o_1:t)` for every `t`: all paths of hidden states, one step after another."""
    total = np.zeros(len(actions))
    empty = AgentMemory.empty()
    start = AgentMemory(empty.state, empty.action, empty.time, policy.empty_window())
    for path in itertools.product(range(policy.num_states), repeat=len(actions)):
        chance, memory = 1.0, start
        for time, state in enumerate(path):
            state = jnp.asarray(state, jnp.int32)
            log_chance, memory = one_step(policy, memory, observations[time], state, actions[time])
            chance *= np.exp(float(log_chance))
            if all(later == 0 for later in path[time + 1 :]):
                total[time] += chance
    return total


def test_the_past_of_real_observations_is_averaged_over_blocks():
    """Of 1, 2, 4, ... steps, newest first; the oldest block has what is left."""
    observations, actions = history(REAL, 7, jax.random.key(1))
    memory = AgentMemory.empty()
    memory = AgentMemory(memory.state, memory.action, memory.time, empty_window(6, REAL))
    for time in range(6):
        memory = memory.after(jnp.asarray(0), actions[time], observations[time])
    found = window_features(REAL, 6, memory, observations[6], jnp.dtype(jnp.float32))
    seen = np.asarray(observations) / np.asarray(REAL.observation_scale)
    done = np.eye(2)[np.asarray(actions)]
    means = [part[places].mean(axis=0) for part in (seen, done) for places in ([5], [3, 4], [1, 2])]
    np.testing.assert_allclose(found, np.concatenate([seen[6], *means]), rtol=1e-5)
    assert window_size(REAL, 6) == len(found)


@pytest.mark.parametrize(
    ("encoding", "window", "counts"),
    [
        long(FINITE, 1, False),
        (FINITE, 3, False),
        (FINITE, 1, True),
        long(FINITE, 3, True),
        long(REAL, 1, False),
        (REAL, 3, False),
    ],
)
def test_the_filter_sums_over_all_paths(encoding, window, counts):
    with jax.enable_x64(True):
        policy = make_window(encoding, window, jax.random.key(0), counts=counts)
        observations, actions = history(encoding, 4, jax.random.key(1))
        expected = by_brute_force(policy, observations, actions)
        acting = filter_actor(policy)
        start = jax.tree.map(lambda leaf: leaf[None], acting.start(jax.random.key(0)))
        time = jnp.arange(4, dtype=jnp.int32)[:, None]
        before = jnp.concatenate([jnp.zeros(1, jnp.int32), actions[:-1]])[:, None]
        past = AgentMemory(jnp.zeros_like(before), before, time)
        past = with_windows(past, start.window, observations[:, None], actions[:, None])
        found = eqx.filter_jit(FilteredPolicy(policy).distributions)(
            start, past, observations[:, None], actions[:, None]
        )
        chances = np.exp(np.cumsum(found.log_probability[:, 0]))
        np.testing.assert_allclose(chances, expected, rtol=1e-10)


@pytest.mark.parametrize("estimator", [sampled_gradient, marginal_gradient])
@pytest.mark.parametrize(("window", "counts"), [long(1, False), (2, False), (1, True)])
def test_expectation_is_the_exact_gradient(estimator, window, counts):
    with jax.enable_x64(True):
        process = enumerate_process(7, terminating=True)
        encoding = Encoding(ACTIONS, OBSERVATIONS)
        policy = make_window(encoding, window, jax.random.key(3), num_states=STATES, counts=counts)
        number = process.episodes.actions.shape[1]
        process = eqx.tree_at(
            lambda process: process.everything.episodes.start.window,
            process,
            policy.empty_window((number,)),
            is_leaf=lambda leaf: leaf is None,
        )
        probability = np.asarray(process.probability(policy))
        assert probability.sum() == pytest.approx(1.0, abs=1e-12)
        exact = flat(eqx.filter_grad(process.value)(policy, 0.9))
        assert np.linalg.norm(exact) > 0.01
        weights = reward_to_go(process.episodes, discount=0.9)
        estimates = process.gradients(policy, weights, estimator)
        np.testing.assert_allclose(probability @ estimates, exact, atol=1e-10)


@pytest.mark.parametrize(
    ("name", "encoding", "counts"),
    [
        ("CheeseMaze", Encoding(4, 7), True),
        ("VelocityOnlyCartPole", Encoding(2, None, (1.0, 1.0)), False),
    ],
)
def test_rollouts_that_continue_are_followed_as_they_were_played(name, encoding, counts):
    """Across episodes and from one rollout to the next, the window is the one that was acted on."""
    environment = make(name, max_steps=9)
    policy = FilteredPolicy(make_window(encoding, 4, jax.random.key(2), counts=counts))
    acting, rollouts = policy.actor(), Rollouts(3, 16)
    stream = open_compiled(environment, acting, rollouts, jax.random.key(0))

    @eqx.filter_jit
    def play(stream, key):
        stream, experience = collect(environment, acting, rollouts, stream, key)
        found = policy.distributions(
            experience.start, experience.past, experience.observations, experience.actions
        )
        return stream, experience, found

    for number in range(3):
        stream, experience, found = play(stream, jax.random.key(number))
        np.testing.assert_allclose(experience.memories.belief, found.after, atol=1e-5)
        windows, kept = jax.device_get((experience.past.window, experience.memories.window))
        time = np.asarray(experience.time)
        assert (time[1:] > 0).any()
        for step, copy in zip(*np.nonzero(time[1:] > 0), strict=True):
            there = min(3, int(time[step + 1, copy]))
            for part in ("observations", "actions"):
                along, carried = getattr(windows, part), getattr(kept, part)
                np.testing.assert_array_equal(
                    along[step + 1, copy, :there], carried[step, copy, :there]
                )
        if counts:
            np.testing.assert_array_equal(windows.counts.sum(axis=(-2, -1)), time)
            later = time[1:] > 0
            np.testing.assert_array_equal(windows.counts[1:][later], kept.counts[:-1][later])
    assert experience.ended.any()


def test_a_window_of_one_is_a_table_and_has_an_exact_value():
    """The table, sampled agent states and the filter play alike: within 4 standard errors."""
    environment = make_finite("CheeseMaze")
    policy = make_window(Encoding(4, 7), 1, jax.random.key(4), num_states=4)
    tables = policy.tabulate()
    exact = exact_returns(environment.model, tables, horizon=200, discount=0.9)
    looks = NetworkActor(policy=policy, phi_table=None, greedy=False)
    for acting in (actor(policy), looks, filter_actor(policy)):
        played = eqx.filter_jit(play_for_returns)(
            environment, acting, jax.random.key(5), num_episodes=1000, discount=0.9
        )
        returns = np.asarray(played.discounted, float)
        error = returns.std() / np.sqrt(len(returns))
        assert abs(returns.mean() - float(exact.discounted)) < 4 * error


def test_it_starts_as_the_policy_without_a_window():
    for encoding in (FINITE, REAL):
        hidden = make_window(encoding, 2, jax.random.key(0)).hidden
        counts = encoding is FINITE
        policy = WindowPolicy(
            hidden, window=2, encoding=encoding, counts=counts, key=jax.random.key(1)
        )
        observations, _ = history(encoding, 1, jax.random.key(2))
        one = jnp.ones((), jnp.int32)
        memory = AgentMemory(one, one, one, policy.empty_window())
        log_phi = eqx.filter_jit(lambda policy, *given: policy.log_phi(*given))
        np.testing.assert_allclose(
            log_phi(policy, memory, observations[0]),
            log_phi(hidden, memory, observations[0]),
            rtol=1e-6,
        )


@pytest.mark.parametrize(
    ("method", "name", "counts"),
    [
        long("asm-ppo", "RepeatFirst", False),
        ("asm-ppo", "RepeatFirst", True),
        ("asm-ppo", "VelocityOnlyCartPole", False),
        ("asmpg", "RepeatFirst", False),
        long("asmpg", "RepeatFirst", True),
        long("asmpg-marginal", "VelocityOnlyCartPole", False),
    ],
)
def test_methods_train_save_and_play_with_a_window(method, name, counts, tmp_path):
    options = {"window": 3, "counts": counts, "num_states": 4, "hidden": 8}
    if method == "asm-ppo":
        options |= {"num_environments": 2, "rollout_steps": 16, "minibatches": 2, "epochs": 1}
    else:
        options |= {"episodes_per_update": 2}
    learner = PRESETS[method].make(options, name=method)
    agent = learner.learn(name, steps=200, evaluation_episodes=2, verbose=0)
    agent.save(tmp_path / "agent.npz")
    loaded = asmpg.load(tmp_path / "agent.npz")
    reset = jax.jit(jax.vmap(make(name).reset))
    observations, _ = reset(jax.random.split(jax.random.key(0), 6))
    for each in (agent, loaded):
        each.seed(3)
    states: list = [None, None]
    for observation in observations:
        for number, each in enumerate((agent, loaded)):
            action, states[number] = each.predict(np.asarray(observation), states[number])
            assert action in (0, 1)
        for one, other in zip(*states, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"window": -1}, "window must be"),
        ({"window": 2.5}, "window must be"),
        ({"window": 201}, "window must be at most 200, the steps of an episode of CheeseMaze"),
        ({"window": 2, "policy": "joint"}, "window must be 0 for policy='joint'"),
        ({"hold": 1.0}, "hold must be"),
        ({"groups": 0}, "groups must be"),
    ],
)
@pytest.mark.usefixtures("as_user")
def test_bad_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        asmpg.ASMPPO(**options).learn("CheeseMaze", steps=1_000, verbose=0)


def test_a_window_that_would_not_fit_is_refused():
    many = asmpg.environments.FiniteEnvironment(
        make_finite("CheeseMaze").model, max_steps=1_000_000, label="Long"
    )
    with pytest.raises(ValueError, match=r"window must be smaller, got 500000.*window=0"):
        asmpg.ASMPPO(window=500_000).learn(many, verbose=0)


@pytest.fixture(scope="module")
def agent():
    return Agent.of_policy(make_window(Encoding(4, 7), 2, jax.random.key(0)), Discrete(7))


def test_the_memories_that_can_be_met_are_counted(agent):
    """CheeseMaze: between steps, a window of 2 keeps where one was and what one did there."""
    assert agent.window == 2
    assert agent.num_memories() == 3 * (1 + 7 * 4)
    # Nothing yet; any action at the six symbols that are not the goal, which ends the episode.
    assert agent.num_memories(make("CheeseMaze")) == 3 * (1 + 6 * 4)


def test_phi_is_asked_about_a_window(agent):
    assert agent.phi(1, seen=[5, 3], done=[2]).sum() == pytest.approx(1.0, abs=1e-6)
    one = jnp.ones((), jnp.int32)
    zero = jnp.zeros((), jnp.int32)
    start = AgentMemory(zero, zero, zero, agent.policy.empty_window())
    memory = start.after(one, jnp.asarray(2), jnp.asarray(3))
    expected = np.exp(agent.policy.log_phi(memory, jnp.asarray(5))[1])
    np.testing.assert_allclose(agent.phi(1, seen=[5, 3], done=[2]), expected, rtol=1e-6)
    with pytest.raises(ValueError, match="seen must be the last observations, newest first"):
        agent.phi(1)
    with pytest.raises(ValueError, match="got 3 and 2"):
        agent.phi(1, seen=[5, 3, 2], done=[1, 1])
