"""What is exported does what `predict(deterministic=True)` does, step by step."""

import functools
import json
import runpy
import shutil
import subprocess

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from asmpg import ASMPPO, CheckpointError
from asmpg.agents import Agent
from asmpg.agents.machine import Machine, Setting
from asmpg.environments import AbstractFiniteEnvironment, Box, Discrete, make, registered_names
from asmpg.interop import resolve
from asmpg.policies import (
    Encoding,
    JointTabularPolicy,
    MatrixPolicy,
    MLPPolicy,
    Normaliser,
    TabularPolicy,
    WindowPolicy,
)
from controllers import cheese_maze_controller
from finite import make_finite
from quick import long

CC = shutil.which("cc")
STEPS = 2_000
FINITE = [
    name if name in ("CheeseMaze", "Tiger") else long(name)
    for name in registered_names()
    if isinstance(make(name), AbstractFiniteEnvironment)
]


def tabular(name, kind=TabularPolicy, num_states=5):
    model = make_finite(name).model
    return kind(
        num_states=num_states,
        num_actions=model.num_actions,
        num_observations=model.num_observations,
        key=jax.random.key(3),
        nu_scale=2.0,
    )


def agent_for(name, kind=TabularPolicy):
    return Agent.of_policy(tabular(name, kind), make(name).observation_space)


def played(agent, observations, starts):
    """The actions of `predict(deterministic=True)`, all episodes in one compiled pass."""
    actor = agent._actors[True]

    def step(memory, row):
        observation, first = row
        blank = actor.start(jax.random.key(0))
        memory = jax.tree.map(lambda new, old: jax.numpy.where(first, new, old), blank, memory)
        memory = actor.act(memory, observation, jax.numpy.zeros(()), jax.numpy.zeros(2))
        return memory, (memory.action, memory.state)

    rows = (jax.numpy.asarray(observations), jax.numpy.asarray(starts))
    _, (actions, states) = jax.lax.scan(step, actor.start(jax.random.key(0)), rows)
    check, memory = [], None
    for seen, first in list(zip(observations, starts, strict=True))[:50]:
        action, memory = agent.predict(seen, None if first else memory, deterministic=True)
        check.append(action)
    assert check == actions[:50].tolist()
    return np.asarray(actions), np.asarray(states)


def history(space, steps=STEPS, seed=0):
    """Random observations, in episodes of 20 steps on average."""
    generator = np.random.default_rng(seed)
    starts = generator.random(steps) < 0.05
    starts[0] = True
    if isinstance(space, Discrete):
        return generator.integers(space.n, size=steps).astype(np.int32), starts
    return generator.normal(size=(steps, *space.shape)).astype(np.float32), starts


def module(path):
    """What running the file defines."""
    return runpy.run_path(str(path))


def python_actions(path, observations, starts):
    policy, actions = module(path)["Policy"](), []
    for seen, first in zip(observations.tolist(), starts, strict=True):
        if first:
            policy.reset()
        actions.append(policy.step(seen))
    return actions


C_PROGRAM = """
#include <stdio.h>
#include "policy.h"
int main(void)
{
    policy_memory memory = {0};
    int observation, start;
    while (scanf("%d %d", &observation, &start) == 2) {
        if (start)
            memory.started = 0;
        printf("%d\\n", policy_step(&memory, observation));
    }
}
"""


def c_actions(folder, given, program=C_PROGRAM):
    (folder / "main.c").write_text(program)
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
    subprocess.run([str(CC), *strict, "-o", "main", "main.c"], cwd=folder, check=True)
    done = subprocess.run(
        [folder / "main"], input=given, capture_output=True, text=True, check=True
    )
    return [int(line) for line in done.stdout.split()]


@functools.cache
def example(name):
    """An agent, observations, and what `predict(deterministic=True)` does then."""
    agent = agent_for(name)
    observations, starts = history(agent.observation_space)
    return agent, observations, starts, *played(agent, observations, starts)


@pytest.mark.skipif(CC is None, reason="no C compiler in the path")
@pytest.mark.parametrize("name", FINITE)
def test_the_c_header_does_what_predict_does(name, tmp_path):
    agent, observations, starts, actions, _ = example(name)
    agent.export(tmp_path / "policy.h")
    text = (tmp_path / "policy.h").read_text()
    assert "float" not in text
    rows = zip(observations, starts, strict=True)
    given = "\n".join(f"{seen} {int(first)}" for seen, first in rows)
    assert c_actions(tmp_path, given) == actions.tolist()


@pytest.mark.parametrize("name", FINITE)
def test_the_python_class_does_what_predict_does(name, tmp_path):
    agent, observations, starts, actions, _ = example(name)
    agent.export(tmp_path / "policy.py")
    assert python_actions(tmp_path / "policy.py", observations, starts) == actions.tolist()


def test_a_joint_kernel_is_exported_as_predict_plays_it(tmp_path):
    agent = agent_for("CheeseMaze", JointTabularPolicy)
    observations, starts = history(agent.observation_space)
    agent.export(tmp_path / "policy.py")
    actions, _ = played(agent, observations, starts)
    assert python_actions(tmp_path / "policy.py", observations, starts) == actions.tolist()


def network_agent(kind):
    """The matrix of normalised observations, some of them cut off; the other's are divided."""
    space = Box((-1.0, -2.0), (1.0, 2.0))
    seen = Normaliser(jnp.asarray(9.0), jnp.asarray([0.5, -1.0]), jnp.asarray([9.0, 0.3]))
    encoding = Encoding(3, None, (0.5, 2.0), seen if kind is MatrixPolicy else None)
    options = {"num_states": 6, "hidden": 8, "nu_scale": 3.0, "key": jax.random.key(1)}
    return Agent.of_policy(kind(encoding=encoding, **options), space)


def session(path):
    runtime = pytest.importorskip("onnxruntime")
    return runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])


def onnx_step(model, observation, state, action, start, uniforms=None):
    given = {
        "observation": observation,
        "last_state": state.astype(np.int64),
        "last_action": action.astype(np.int64),
        "episode_start": start,
    }
    if uniforms is not None:
        given["uniforms"] = uniforms
    return model.run(["action", "state"], given)


def before(values):
    """What was there one step ago; the first has nothing before it."""
    return np.concatenate([np.zeros_like(values[:1]), values[:-1]])


@pytest.mark.parametrize("name", FINITE)
def test_the_onnx_graph_of_tables_does_what_predict_does(name, tmp_path):
    pytest.importorskip("onnx")
    agent, observations, starts, actions, states = example(name)
    agent.export(tmp_path / "policy.onnx")
    model = session(tmp_path / "policy.onnx")
    given = observations.astype(np.int64)
    found = onnx_step(model, given, before(states), before(actions), starts)
    assert found[0].tolist() == actions.tolist()
    assert found[1].tolist() == states.tolist()


@pytest.mark.parametrize("kind", [MatrixPolicy, MLPPolicy])
def test_the_onnx_graph_of_a_network_does_what_predict_does(kind, tmp_path):
    pytest.importorskip("onnx")
    agent = network_agent(kind)
    observations, starts = history(agent.observation_space)
    agent.export(tmp_path / "policy.onnx")
    actions, states = played(agent, observations, starts)
    model = session(tmp_path / "policy.onnx")
    found = onnx_step(model, observations, before(states), before(actions), starts)
    assert_but_for_ties(found[1], states)
    assert_but_for_ties(found[0], actions)


@pytest.mark.parametrize("kind", [MatrixPolicy, MLPPolicy])
def test_the_python_class_of_a_network_does_what_predict_does(kind, tmp_path):
    """Step by step from the same memory: rounding may break ties, and must not add up."""
    agent = network_agent(kind)
    observations, starts = history(agent.observation_space)
    agent.export(tmp_path / "policy.py")
    actions, states = played(agent, observations, starts)
    names = module(tmp_path / "policy.py")
    policy, found = names["Policy"](), []
    for seen, first, state, action in zip(
        observations.tolist(), starts, before(states), before(actions), strict=True
    ):
        policy.state, policy.action = (None, None) if first else (int(state), int(action))
        found.append(policy.step(seen))
    assert_but_for_ties(np.array(found), actions)


def window_agent(name, **options):
    """With the default options of ASM-PPO but for these, and a window network that says a lot."""
    resolved = resolve(name, {})
    method = ASMPPO(**options).settled(resolved.interface)
    kernels = method.make_policy(resolved.interface, jax.random.key(2)).kernels
    assert isinstance(kernels, WindowPolicy)
    assert kernels.window_layers is not None
    weight = kernels.window_layers[-1].weight
    noise = jax.random.normal(jax.random.key(3), weight.shape)
    kernels = eqx.tree_at(lambda policy: policy.window_layers[-1].weight, kernels, noise)
    return Agent.of_policy(kernels, resolved.interface.observation_space)


WINDOWS = {
    "cart pole": ("VelocityOnlyCartPole", {}),
    "popgym": ("popgym-NoisyPositionOnlyCartPoleEasy", {}),
    "mlp in groups": ("VelocityOnlyCartPole", {"policy": "mlp", "window": 2, "hidden": 8}),
    "one real observation": ("VelocityOnlyCartPole", {"window": 1, "hidden": 8}),
    "tables": ("CheeseMaze", {"window": 3, "num_states": 4}),
}


@pytest.fixture(
    scope="module",
    params=[
        *("cart pole", "mlp in groups", "tables"),
        *map(long, ("popgym", "one real observation")),
    ],
    ids=str,
)
def windowed(request):
    """An agent with a window, its steps, and what `predict(deterministic=True)` plays."""
    name, options = WINDOWS[request.param]
    agent = window_agent(name, **options)
    observations, starts = history(agent.observation_space)
    return agent, observations, starts, *played(agent, observations, starts)


def test_the_onnx_graph_of_a_window_does_what_predict_does(windowed, tmp_path):
    """From the same state and action before; the window is handed on from step to step."""
    pytest.importorskip("onnx")
    agent, observations, starts, actions, states = windowed
    agent.export(tmp_path / "policy.onnx")
    model = session(tmp_path / "policy.onnx")
    kept = [each.name for each in model.get_outputs()[2:]]
    memory = {
        f"last_{each.name}": np.zeros((1, each.shape[1]), np.float32)
        for each in model.get_outputs()[2:]
    }
    finite = isinstance(agent.observation_space, Discrete)
    given = observations.astype(np.int64) if finite else observations
    found = []
    for row in zip(given, starts, before(states), before(actions), strict=True):
        seen, first, state, action = (np.asarray(part)[None] for part in row)
        inputs = {"last_state": state.astype(np.int64), "last_action": action.astype(np.int64)}
        inputs |= {"observation": seen, "episode_start": first, **memory}
        done, now, *window = model.run(["action", "state", *kept], inputs)
        memory = dict(zip(memory, window, strict=True))
        found.append((int(done[0]), int(now[0])))
    assert_but_for_ties(np.array(found)[:, 0], actions)
    assert_but_for_ties(np.array(found)[:, 1], states)


def test_the_python_class_of_a_window_does_what_predict_does(windowed, tmp_path):
    agent, observations, starts, actions, states = windowed
    agent.export(tmp_path / "policy.py")
    policy, found = module(tmp_path / "policy.py")["Policy"](), []
    for seen, first, state, action in zip(
        observations.tolist(), starts, before(states), before(actions), strict=True
    ):
        if first:
            policy.reset()
        else:
            policy.state, policy.action = int(state), int(action)
        found.append(policy.step(seen))
    assert_but_for_ties(np.array(found), actions)


def assert_but_for_ties(found, expected):
    """Networks round differently: one step in a thousand may be decided the other way."""
    assert (found != expected).mean() <= 1e-3
    assert len(set(expected.tolist())) > 1


def test_stochastic_exports_draw_as_told(tmp_path):
    """Tolerance: four standard errors of 20,000 draws."""
    generator = np.random.default_rng(0)
    machine = Machine.of_policy(tabular("CheeseMaze", num_states=3))
    machine.export(tmp_path / "policy.py")
    names = module(tmp_path / "policy.py")
    names["random"].seed(0)
    first = [names["Policy"]() for _ in range(20_000)]
    actions = np.array([policy.step(4) for policy in first])
    expected = machine.start[4] @ machine.control[0]
    shares = np.bincount(actions, minlength=4) / len(actions)
    np.testing.assert_allclose(shares, expected, atol=0.015)
    pytest.importorskip("onnx")
    machine.export(tmp_path / "policy.onnx")
    uniforms = generator.random((20_000, 2)).astype(np.float32)
    zeros = np.zeros(20_000, np.int64)
    start = np.ones(20_000, bool)
    model = session(tmp_path / "policy.onnx")
    found = onnx_step(model, zeros + 4, zeros, zeros, start, uniforms)
    shares = np.bincount(found[0], minlength=4) / 20_000
    np.testing.assert_allclose(shares, expected, atol=0.015)


@pytest.mark.skipif(CC is None, reason="no C compiler in the path")
def test_a_stochastic_c_header_draws_by_the_numbers_it_is_given(tmp_path):
    machine = Machine.of_policy(tabular("CheeseMaze", num_states=3))
    machine.export(tmp_path / "policy.h")
    program = C_PROGRAM.replace("int observation, start;", "int observation, start; float u, v;")
    program = program.replace(
        '"%d %d", &observation, &start) == 2', '"%d %d %f %f", &observation, &start, &u, &v) == 4'
    )
    program = program.replace("&memory, observation)", "&memory, observation, u, v)")
    generator = np.random.default_rng(0)
    observations, starts = history(Discrete(7), 2000)
    uniforms = generator.random((2000, 2)).astype(np.float32)
    rows = zip(observations, starts, uniforms, strict=True)
    given = "\n".join(f"{seen} {int(first)} {u:.9g} {v:.9g}" for seen, first, (u, v) in rows)
    expected, state, action = [], 0, 0
    for seen, first, (u, v) in zip(observations, starts, uniforms, strict=True):
        row = machine.start[seen] if first else machine.update[state, action, seen]
        state = int((u >= np.cumsum(row)[:-1]).sum())
        action = int((v >= np.cumsum(machine.control[0, state])[:-1]).sum())
        expected.append(action)
    assert np.mean(np.array(c_actions(tmp_path, given, program)) != expected) < 0.01


@pytest.mark.skipif(CC is None, reason="no C compiler in the path")
def test_typical_cases_are_told_apart_in_c_and_python(tmp_path):
    environment = make("VelocityOnlyCartPole")
    policy = MatrixPolicy(
        num_states=3,
        encoding=Encoding(2, None, (1.0, 1.0)),
        hidden=8,
        nu_scale=3.0,
        key=jax.random.key(0),
    )
    machine = Machine.of_policy(policy, Setting(environment, 0.99, episodes=20), cases=6).harden()
    machine.export(tmp_path / "policy.h")
    machine.export(tmp_path / "policy.py")
    observations, starts = history(environment.observation_space, 2000)
    program = C_PROGRAM.replace("int observation, start;", "int start; float seen[2];")
    program = program.replace(
        '"%d %d", &observation, &start) == 2', '"%f %f %d", seen, seen + 1, &start) == 3'
    )
    program = program.replace("&memory, observation)", "&memory, seen)")
    rows = zip(observations, starts, strict=True)
    given = "\n".join(f"{seen[0]:.9g} {seen[1]:.9g} {int(first)}" for seen, first in rows)
    in_python = python_actions(tmp_path / "policy.py", observations, starts)
    assert c_actions(tmp_path, given, program) == in_python
    assert len(set(in_python)) == 2


def test_json_gives_the_same_machine_back(tmp_path):
    machine = Machine.of_policy(tabular("Tiger", num_states=3), Setting(make("Tiger"), 0.99))
    for each in (machine, machine.harden().minimise()):
        each.export(tmp_path / "policy.json")
        again = Machine.load(tmp_path / "policy.json")
        for part in ("start", "update", "control"):
            np.testing.assert_array_equal(getattr(again, part), getattr(each, part))
        assert again.action_names == each.action_names == make("Tiger").action_names
    assert json.loads((tmp_path / "policy.json").read_text())["value"]["standard_error"] == 0


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize(
    "change",
    [
        {"format": "else"},
        {"update": [[1]]},
        {"num_states": 10**12},
        {"num_states": "3"},
        {"action_names": [1, 2, 3]},
        {"start": "no"},
        {"control": [[[0.0, "x", 1.0]]]},
        {"name": None, "update": []},
    ],
)
def test_a_damaged_file_is_refused_in_one_line(change, tmp_path):
    machine = Machine.of_policy(tabular("Tiger", num_states=3)).harden()
    machine.export(tmp_path / "policy.json")
    content = json.loads((tmp_path / "policy.json").read_text()) | change
    (tmp_path / "policy.json").write_text(json.dumps(content))
    with pytest.raises(CheckpointError, match=r"policy\.json is not a machine") as caught:
        Machine.load(tmp_path / "policy.json")
    assert "\n" not in str(caught.value)


def test_dot_has_a_line_for_each_state_and_edge(tmp_path):
    seen = ('nw "corner"', "corridor", "junction", "ne", "passage", "dead end", "cheese")
    setting = Setting(make("CheeseMaze"), 0.99)
    machine = Machine.of_policy(cheese_maze_controller(), setting, observation_names=seen)
    machine.export(tmp_path / "policy.dot")
    text = (tmp_path / "policy.dot").read_text()
    assert sum(line.startswith("  s") and "fillcolor" in line for line in text.splitlines()) == 4
    assert '"nw \\"corner\\""' in text
    assert "start -> s" in text
    if dot := shutil.which("dot"):
        subprocess.run([dot, "-Tplain"], input=text, text=True, check=True, capture_output=True)


def test_aalpy_runs_the_same_machine():
    pytest.importorskip("aalpy")
    agent = agent_for("CheeseMaze")
    automaton = Machine.of_policy(agent.policy).harden().to_aalpy()
    observations, starts = history(agent.observation_space, 500)
    actions, _ = played(agent, observations, starts)
    for seen, first, action in zip(observations, starts, actions, strict=True):
        if first:
            automaton.reset_to_initial()
        assert automaton.step(str(seen)) == str(action)


@pytest.mark.parametrize(
    ("make_agent", "name", "message"),
    [
        (lambda: agent_for("Tiger"), "policy.txt", "path must end in .h, .py, .json, .dot, .fsc"),
        (lambda: network_agent(MLPPolicy), "policy.h", "path must end in .py, .onnx"),
    ],
)
def test_what_cannot_be_written_is_refused(make_agent, name, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        make_agent().export(tmp_path / name)
    assert list(tmp_path.iterdir()) == []
