"""`learn`, `save`, `load` and the commands as functions: what a user types first."""

import dataclasses
import inspect
import json
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import asmpg
from asmpg import cli
from asmpg.methods import preset_name
from asmpg.runs import RunFolder
from asmpg.training import with_progress

SMALL = {"num_states": 2, "policy": "tabular"}
RUN = {
    "steps": 600,
    "evaluate_every": 300,
    "evaluation_episodes": 5,
    "verbose": 0,
    "environment_options": {"max_steps": 20},
}


@pytest.fixture(scope="module")
def agent():
    return asmpg.ASMPG(**SMALL).learn("asmpg/CheeseMaze-v0", seeds=(1, 2), **RUN)


def test_an_agent_knows_its_run(agent):
    result = agent.result
    assert result.config.environment == "CheeseMaze"
    assert [row["seed"] for row in result.rows] == [1, 1, 1, 2, 2, 2]
    best = {
        seed: max(r["exact_discounted"] for r in result.rows if r["seed"] == seed)
        for seed in (1, 2)
    }
    chosen = result.agent(max(best, key=best.__getitem__))
    np.testing.assert_array_equal(agent.nu(None, None, 2), chosen.nu(None, None, 2))


def test_learning_is_training(agent, capsys):
    config = agent.result.config
    stored = asmpg.RunConfig.from_dict(json.loads(json.dumps(config.to_dict())))
    assert config.differences(stored) == []
    assert stored.make_method() == config.method
    again = asmpg.train(config).agent()
    assert capsys.readouterr().err.count("compiled in") == 1
    np.testing.assert_array_equal(agent.nu(0, 1, 2), again.nu(0, 1, 2))


def test_progress_is_shown_once():
    mine, other = asmpg.Progress(), asmpg.Callback()
    assert [type(each) for each in with_progress([other], True)] == [asmpg.Progress, asmpg.Callback]
    assert with_progress([other], False) == [other]
    assert with_progress([other, mine], True) == [other, mine]


def test_a_saved_agent_acts_the_same(agent, tmp_path):
    agent.save(tmp_path / "maze.npz")
    loaded = asmpg.load(tmp_path / "maze.npz")
    for one in (agent, loaded):
        one.seed(5)
    state = other = None
    for observation in (0, 1, 2, 4, 6):
        action, state = agent.predict(observation, state)
        same, other = loaded.predict(observation, other)
        assert action == same
    loaded.save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "maze.npz").read_bytes()


def test_what_is_no_saved_agent(agent, tmp_path):
    (tmp_path / "text").write_text("no agent")
    with pytest.raises(asmpg.CheckpointError, match="not a checkpoint, or is damaged"):
        asmpg.load(tmp_path / "text")
    np.savez(tmp_path / "other.npz", _meta=np.frombuffer(b'{"seed": 1}', np.uint8))
    with pytest.raises(asmpg.CheckpointError, match="not an agent, or is damaged"):
        asmpg.load(tmp_path / "other.npz")
    agent.save(tmp_path / "agent.npz")
    with pytest.raises(ValueError, match="seed must be None for a file"):
        asmpg.load(tmp_path / "agent.npz", seed=1)
    with pytest.raises(ValueError, match="only an agent from training"):
        asmpg.Agent.of_policy(agent.policy, agent.observation_space).save(tmp_path / "policy.npz")


def test_one_of_our_environments_as_an_object_is_known_by_name(tmp_path):
    maze = asmpg.make("CheeseMaze", max_steps=20)
    options = {name: value for name, value in RUN.items() if name != "environment_options"}
    asmpg.ASMPG(**SMALL).learn(maze, seeds=(1, 2), out=tmp_path / "run", **options)
    config = RunFolder(tmp_path / "run").config
    assert (config.environment, config.interface.by_name) == ("CheeseMaze", True)
    assert config.environment_options["max_steps"] == 20


class State(eqx.Module):
    symbol: jax.Array
    time: jax.Array


@dataclasses.dataclass(frozen=True)
class Params:
    max_steps_in_episode: int = 6


@dataclasses.dataclass(frozen=True)
class Space:
    n: int


class RecallEnv:
    """In the style of gymnax: 1 or 2 is shown first, then 0; playing it back pays 1 each step."""

    default_params = Params()
    name = "Recall"

    def reset_env(self, key, params):
        symbol = jax.random.randint(key, (), 1, 3)
        return symbol, State(symbol, jnp.zeros((), jnp.int32))

    def step_env(self, key, state, action, params):
        state = State(state.symbol, state.time + 1)
        reward = (action == state.symbol - 1).astype(float)
        done = state.time >= params.max_steps_in_episode
        return jnp.zeros((), jnp.int32), state, reward, done, {}

    def reset(self, key, params=None):
        return self.reset_env(key, params or self.default_params)

    def step(self, key, state, action, params=None):
        raise AssertionError("it would reset by itself")

    def observation_space(self, params):
        return Space(3)

    def action_space(self, params=None):
        return Space(2)


def test_a_gymnax_environment_is_compiled_and_its_time_limit_is_no_end(tmp_path):
    environment = asmpg.from_gymnax(RecallEnv())
    assert environment.max_steps == 6
    _, state = environment.reset(jax.random.key(0))
    for _ in range(6):
        _, state, _, terminated = environment.step(jax.random.key(1), state, 0)
    assert not terminated
    options = {name: value for name, value in RUN.items() if name != "environment_options"}
    agent = asmpg.ASMPG(
        **SMALL, episodes_per_update=20, optimiser="adam", learning_rate=0.05
    ).learn(
        RecallEnv(),
        out=tmp_path / "run",
        seeds=4,
        **options | {"steps": 24_000, "evaluate_every": 12_000},
    )
    assert agent.result.config.interface.name == "Recall"
    assert asmpg.load(tmp_path / "run").num_states == 2
    with pytest.raises(ValueError, match="Recall, was given in Python"):
        asmpg.evaluate(tmp_path / "run")
    entries = asmpg.evaluate(tmp_path / "run", episodes=200, environment=RecallEnv())
    # Without memory 3.5 of 6 is the most: the symbol is seen at the first step only.
    assert max(entry["undiscounted_return"] for entry in entries) > 4.5


class FailsLastEnv(RecallEnv):
    """Fails for good in step `fail`, which may be that of the time limit."""

    def __init__(self, fail):
        self.fail = fail

    def step_env(self, key, state, action, params):
        seen, state, reward, done, info = super().step_env(key, state, action, params)
        return seen, state, reward, done | (state.time >= self.fail), info


class TupleParams(NamedTuple):
    max_steps_in_episode: jax.Array = np.int32(6)


class PlainParams:
    max_steps_in_episode = 6


class FixedParams:
    @property
    def max_steps_in_episode(self):
        return 6


CHANGEABLE = [Params(), TupleParams(), PlainParams()]


def terminations(environment):
    """Whether each step of an episode, played until it ends, was a termination."""
    _, state = environment.reset(jax.random.key(0))
    found = []
    while len(found) < environment.max_steps and not any(found):
        _, state, _, terminated = environment.step(jax.random.key(1), state, 0)
        found.append(bool(terminated))
    return found


@pytest.mark.parametrize(
    "params", [*CHANGEABLE, FixedParams()], ids=lambda params: type(params).__name__
)
@pytest.mark.parametrize(("max_steps", "limit"), [(None, 6), (4, 4), (6, 6), (50, 6)])
def test_the_time_limit_of_a_gymnax_environment_is_truncation(params, max_steps, limit):
    environment = asmpg.from_gymnax(RecallEnv(), params, max_steps=max_steps)
    assert environment.max_steps == limit
    assert terminations(environment) == [False] * limit


@pytest.mark.parametrize("params", CHANGEABLE, ids=lambda params: type(params).__name__)
@pytest.mark.parametrize(("max_steps", "fail"), [(None, 3), (4, 4), (None, 6), (50, 6)])
def test_a_failure_in_the_last_step_of_a_gymnax_environment_is_termination(params, max_steps, fail):
    environment = asmpg.from_gymnax(FailsLastEnv(fail), params, max_steps=max_steps)
    assert terminations(environment) == [False] * (fail - 1) + [True]


def test_a_gymnax_environment_that_resets_itself_and_ignores_its_params():
    class OwnLimit(RecallEnv):
        reset_env = step_env = property()

        def reset(self, key):
            return jnp.ones((), jnp.int32), State(jnp.ones((), jnp.int32), jnp.zeros((), jnp.int32))

        def step(self, key, state, action):
            done = state.time + 1 >= 6
            after = State(state.symbol, jnp.where(done, 0, state.time + 1))
            return state.symbol, after, jnp.zeros(()), done, {}

    assert terminations(asmpg.from_gymnax(OwnLimit(), max_steps=50)) == [False] * 6


def test_what_is_not_in_the_style_of_gymnax():
    with pytest.raises(ValueError, match="in the style of gymnax, got 3"):
        asmpg.from_gymnax(3)


@pytest.mark.parametrize(
    ("method", "name"),
    [
        (asmpg.ASMPG(), "asmpg"),
        (asmpg.ASMPPO(), "asm-ppo"),
        (asmpg.GRUPPO(), "gru-ppo"),
        (asmpg.MinGRUPPO(), "mingru-ppo"),
        (asmpg.MemorylessPPO(), "memoryless-ppo"),
        (asmpg.AIS(variant="mmd"), "ais-mmd"),
    ],
)
def test_methods_have_the_names_of_the_command_line(method, name):
    assert preset_name(method) == name


def test_every_command_is_a_function_of_the_same_name():
    for name, command in cli.COMMANDS.items():
        function = getattr(asmpg, name)
        assert callable(function), name
        assert function.__doc__, name
        if name in ("study", "sweep"):
            # A group, NAME=VALUE, one at a time, and what the command line itself sees to.
            only_typed = {"running", "executor_option", "no_compile_cache"}
            options = {*inspect.signature(command).parameters}
            options |= {*inspect.signature(type(command.running)).parameters}
            options = options - only_typed | {"executor_options"}
            assert options == {*inspect.signature(function).parameters}


def test_envs_returns_what_the_command_prints():
    (entry,) = asmpg.envs("CheeseMaze")
    assert entry["name"] == "CheeseMaze"
    assert 0.23 < entry["values"]["history_optimal"]["reward_per_step"] < 0.24


def test_all_names_at_the_top_can_be_had():
    for name in dir(asmpg):
        assert getattr(asmpg, name) is not None
