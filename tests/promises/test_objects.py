"""What you hand in is what trains: methods, kernels, critics and environments of your own."""

import contextlib
import json

import jax
import numpy as np
import pytest

import asmpg
from asmpg.interop import Interface
from asmpg.methods import PRESETS, register_method
from asmpg.methods.critics import MemoryCritic, MemoryValue
from asmpg.policies import Encoding, TabularPolicy
from asmpg.runs import RunFolder
from quick import long
from runs import timeless

SMALL = {
    "num_states": 2,
    "num_environments": 2,
    "rollout_steps": 16,
    "epochs": 1,
    "minibatches": 1,
    "averaging": None,
}
RUN = {"steps": 64, "evaluate_every": 32, "evaluation_episodes": 5, "verbose": 0}


class Mine(asmpg.ASMPPO):
    """A subclass with a number of its own."""

    bonus: float = 0.5


def my_kernels(interface, num_states, key):
    assert isinstance(interface, Interface)
    return TabularPolicy(
        num_states=num_states,
        num_actions=interface.num_actions,
        num_observations=interface.num_observations,
        key=key,
    )


def my_critic(interface, policy, key):
    encoding = Encoding(interface.num_actions, interface.num_observations)
    return MemoryCritic(
        MemoryValue(width=5, memory_size=policy.memory_size, encoding=encoding, key=key)
    )


MAZE = asmpg.make("CheeseMaze", max_steps=20)
METHOD = Mine(**SMALL, policy=my_kernels, critic=my_critic)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "mine"
    return METHOD.learn(MAZE, out=out, **RUN), out


def test_what_is_handed_in_is_what_trains(run):
    agent, _ = run
    config = agent.result.config
    assert config.method is METHOD
    assert config.environment is MAZE
    assert config.method_name == "Mine"
    learner = agent.result.program.method.initialise(Interface.of(MAZE), jax.random.key(0))
    assert learner.critic.value.layers[0].weight.shape[0] == 5


def test_a_method_that_json_cannot_hold_is_handed_in_again(run):
    agent, out = run
    stored = json.loads((out / "config.json").read_text())["config"]
    assert stored["method"].endswith("test_objects.Mine")
    assert stored["method_by_name"] is False
    assert stored["method_options"]["policy"].endswith("my_kernels")
    assert stored["environment"] == "CheeseMaze"
    assert stored["environment_options"]["max_steps"] == 20
    for again in (asmpg.load, asmpg.evaluate):
        with pytest.raises(ValueError, match=r"method must be handed in again: .*Mine, was given"):
            again(out)
    with pytest.raises(ValueError, match="method must be handed in again"):
        asmpg.train(RunFolder(out).config, out, resume=True, verbose=0)
    loaded = asmpg.load(out, method=METHOD)
    np.testing.assert_array_equal(loaded.nu(0, 1, 2), agent.nu(0, 1, 2))
    assert asmpg.evaluate(out, episodes=4, method=METHOD)[0]["episodes"] == 4
    resumed = METHOD.learn(MAZE, out=out, resume=True, **RUN).result
    assert timeless(resumed.rows) == timeless(agent.result.rows)
    with pytest.raises(ValueError, match=r"method_options.bonus is 0.5 there and 0.25 here"):
        Mine(**SMALL, policy=my_kernels, critic=my_critic, bonus=0.25).learn(
            MAZE, out=out, resume=True, **RUN
        )


def test_a_registered_method_has_a_name_everywhere(tmp_path, monkeypatch):
    monkeypatch.setattr("asmpg.methods._registry.PRESETS", PRESETS)
    options = SMALL | {"critic": "memory"}
    with contextlib.suppress(ValueError):
        register_method("mine", Mine, options=options, steps=64, evaluate_every=32)
    try:
        by_name = asmpg.RunConfig("CheeseMaze", method="mine", evaluation_episodes=5, seeds=(1952,))
        assert (by_name.steps, by_name.evaluate_every) == (64, 32)
        result = asmpg.train(by_name, tmp_path / "run", verbose=0)
        assert asmpg.load(tmp_path / "run").num_states == 2
        assert result.config.to_dict()["method_options"]["bonus"] == 0.5
        for name, method, message in (
            ("mine", Mine, "already registered"),
            ("0", Mine, "must start with a letter"),
        ):
            with pytest.raises(ValueError, match=message):
                register_method(name, method)
    finally:
        PRESETS.pop("mine")


@pytest.fixture
def compilations():
    """What is compiled from here on, one entry each."""
    found = []

    def listen(event, duration, **_):
        if event == "/jax/core/compile/backend_compile_duration":
            found.append(duration)

    jax.monitoring.register_event_duration_secs_listener(listen)
    yield found
    jax.monitoring.unregister_event_duration_listener(listen)


@pytest.mark.usefixtures("as_user")
def test_other_numbers_are_not_compiled_anew(compilations):
    asmpg.ASMPPO(**SMALL, critic="memory").learn(MAZE, **RUN)
    assert compilations
    compilations.clear()
    numbers = {"learning_rate": 0.1, "gae_lambda": 0.5, "hold": 50.0, "critic_keep_bias": 1.0}
    asmpg.ASMPPO(**SMALL, critic="memory", **numbers, discount=0.9, decay=0.3).learn(MAZE, **RUN)
    assert not compilations


#: Two methods that differ in numbers, one of which is left to its default in the first.
PAIR = [
    asmpg.ASMPPO(**SMALL, critic="memory", table_learning_rate=0.01),
    asmpg.ASMPPO(**SMALL, critic="memory", table_learning_rate=0.1, learning_rate=1e-3),
]


@pytest.fixture(scope="module")
def each_alone():
    return [method.learn(MAZE, seeds=(1, 2), **RUN) for method in PAIR]


@pytest.mark.parametrize("in_one_program", [False, long(True)])
def test_methods_that_differ_in_numbers_are_trained_together(
    tmp_path, monkeypatch, each_alone, in_one_program
):
    """As each alone; batched by `vmap`, as on a GPU, up to rounding."""
    monkeypatch.setattr("asmpg.training._loop._in_one_program", lambda: in_one_program)
    together = asmpg.learn(PAIR, MAZE, seeds=(1, 2), out=tmp_path / "both", **RUN)
    assert [agent.result.folder.name for agent in together] == ["0", "1"]
    for alone, agent in zip(each_alone, together, strict=True):
        for row, expected in zip(agent.result.rows, alone.result.rows, strict=True):
            assert row["exact_discounted"] == pytest.approx(expected["exact_discounted"], rel=1e-3)
    first, second = (agent.result.rows[-1]["exact_discounted"] for agent in together)
    assert first != second


def test_methods_of_other_structure_are_not_trained_together():
    with pytest.raises(ValueError, match=r"must differ in numbers only: .* the method at 1"):
        asmpg.learn([asmpg.ASMPPO(num_states=2), asmpg.ASMPPO(num_states=3)], MAZE, **RUN)
    with pytest.raises(ValueError, match="method must be a method, or a list of methods"):
        asmpg.learn([], MAZE, **RUN)
