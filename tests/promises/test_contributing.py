"""Whoever follows CONTRIBUTING.md to the letter gets what it says."""

import re
from pathlib import Path
from typing import Any

import jax
import pytest

import asmpg
from asmpg.methods import PRESETS
from asmpg.studies.executors import ExecutorSettings, make_executor
from quick import LONG, QUICK

PACKAGE = Path(asmpg.__file__).parent
PAGE = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text()


def code_of(section):
    """The Python block of the section with this heading."""
    (text,) = re.findall(rf"^## {section}\n(.*?)(?=^## |^<!--|\Z)", PAGE, re.DOTALL | re.MULTILINE)
    (block,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    return block


def follow(section):
    """What the block defines."""
    names: dict[str, Any] = {"__name__": "followed"}
    exec(compile(code_of(section), f"CONTRIBUTING.md, {section}", "exec"), names)
    return names


@pytest.fixture
def recall(monkeypatch):
    monkeypatch.setattr("asmpg.environments._registry._registered", {})
    return follow("How to add an environment")["Recall"]


@pytest.mark.usefixtures("as_user")
def test_an_environment_is_added(recall):
    environment = asmpg.make("Recall", delay=2)
    assert isinstance(environment, recall)
    assert environment.options() == {"max_steps": 200, "delay": 2}
    signal, state = environment.reset(jax.random.key(0))
    observation, state, reward, terminated = environment.step(jax.random.key(1), state, signal)
    assert (int(observation), float(reward), bool(terminated)) == (2, 0.0, False)
    _, _, reward, terminated = environment.step(jax.random.key(2), state, signal)
    assert (float(reward), bool(terminated)) == (1.0, True)


@pytest.mark.usefixtures("as_user", "recall")
def test_an_added_environment_is_checked_and_trained_by_its_name():
    assert "Recall" in str(asmpg.check("Recall", seconds=0))
    method = asmpg.ASMPG(policy="tabular", num_states=2, learning_rate=0.1)
    agent = method.learn("Recall", steps=8000, environment_options={"delay": 2}, verbose=0)
    assert agent.result.rows[-1]["undiscounted_return"] > 0.9


@pytest.mark.usefixtures("as_user")
def test_a_method_is_added():
    try:
        method = follow("How to add a method")["Reinforce"]
        agent = method().learn("MachineRepair", steps=4000, evaluate_every=4000, verbose=0)
        assert PRESETS["reinforce"].method is method
    finally:
        PRESETS.pop("reinforce", None)
    first, last = agent.result.rows
    assert last["discounted_return"] > first["discounted_return"] + 10


@pytest.mark.usefixtures("as_user")
def test_a_memory_kernel_is_added():
    followed = follow("How to add a memory kernel")
    maze = asmpg.make("CheeseMaze", max_steps=20)
    agent = followed["method"].learn(maze, steps=1024, evaluation_episodes=5, verbose=0)
    assert isinstance(agent.policy, followed["Sticky"])
    assert (agent.nu(0, 0, 4)[0], agent.nu(1, 0, 4)[1]) >= (0.9, 0.9)


def test_an_executor_is_added(monkeypatch):
    monkeypatch.setattr("asmpg.studies.executors._registry._factories", {})
    executor = follow("How to add an executor")["PoliteExecutor"]
    assert isinstance(make_executor("polite", ExecutorSettings()), executor)


def test_the_walks_name_files_that_are_there():
    (walks,) = re.findall(r"^## Walks\n(.*)", PAGE, re.DOTALL | re.MULTILINE)
    files = re.findall(r"`((?:[a-z_]+/)*[a-z_]+\.py)`", walks)
    assert len(files) > 25
    assert all((PACKAGE / file).is_file() for file in files)
    (train, _) = walks.split("`learn(")
    assert len(re.findall(r"\.py`", train)) <= 25


def test_every_section_on_adding_something_is_followed():
    shown = re.sub(r"<!--.*?-->", "", PAGE, flags=re.DOTALL)
    sections = re.findall(r"^## (How to add .*)$", shown, re.MULTILINE)
    assert sections == [
        "How to add an environment",
        "How to add a method",
        "How to add a memory kernel",
        "How to add an executor",
    ]


TESTS = Path(__file__).parents[1]


def test_what_make_check_runs_is_there():
    for name in (*QUICK, *LONG):
        assert (TESTS / name).is_file(), name
    assert "-m quick" in (TESTS.parent / "Makefile").read_text()
