"""The single adapter keeps Gymnasium's contract."""

import subprocess
import sys
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import asmpg
from asmpg._support.gymnasium_ids import GYMNASIUM_IDS, register_with_gymnasium
from asmpg.environments.velocity_only_cart_pole import CartPoleState, VelocityOnlyCartPole
from asmpg.interop.adapters import GymnasiumEnv

NAMES = (
    "CheeseMaze",
    "HallwayNavigation",
    "HealthcareTreatment",
    "MachineRepair",
    "VelocityOnlyCartPole",
)
each_environment = pytest.mark.parametrize("name", NAMES)


def run_python(code):
    """Run `code` in a fresh interpreter and return what it printed."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def trajectory(env, actions, seed=None):
    """All that happens on playing `actions`, over as many episodes as it takes."""
    observation, info = env.reset(seed=seed)
    record = [(observation, info)]
    for action in actions:
        step = env.step(action)
        record.append(step)
        if step[2] or step[3]:
            record.append(env.reset())
    return record


def assert_same_trajectory(one, other):
    assert len(one) == len(other)
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a[0], b[0])
        assert a[1:] == b[1:]


def random_actions(env, count, seed=0):
    return np.random.default_rng(seed).integers(env.action_space.n, size=count)


def test_the_ids_are_those_that_the_environments_declare():
    environments = [asmpg.make(name) for name in asmpg.registered_names()]
    declared = {
        each.gymnasium_id: {"environment": each.name}
        for each in environments
        if each.gymnasium_id is not None
    }
    assert declared | {"asmpg/Environment-v0": {}} == GYMNASIUM_IDS
    for name in GYMNASIUM_IDS:
        # The time limit is the environment's own business.
        assert gymnasium.spec(name).max_episode_steps is None


def test_registering_again_changes_nothing():
    before = gymnasium.spec("asmpg/CheeseMaze-v0")
    register_with_gymnasium()
    assert gymnasium.spec("asmpg/CheeseMaze-v0") is before


@pytest.mark.parametrize("render_mode", [None, "ansi", "rgb_array"])
@each_environment
def test_gymnasiums_checker_passes_without_a_warning(name, render_mode):
    env = gymnasium.make(f"asmpg/{name}-v0", render_mode=render_mode)
    check_env(env.unwrapped, skip_render_check=False)
    env.close()


@each_environment
def test_make_passes_options_on(name):
    env = gymnasium.make(f"asmpg/{name}-v0", max_steps=7)
    assert isinstance(env.unwrapped, GymnasiumEnv)
    assert env.unwrapped.environment.max_steps == 7


def test_the_generic_id_builds_registered_and_ready_made_environments(monkeypatch):
    monkeypatch.setattr("asmpg.environments._registry._registered", {})
    asmpg.register("Mine", lambda max_steps=9: asmpg.make("CheeseMaze", max_steps=max_steps))
    env = gymnasium.make("asmpg/Environment-v0", environment="Mine").unwrapped
    assert isinstance(env, GymnasiumEnv)
    assert env.environment.max_steps == 9
    ready = asmpg.make("MachineRepair")
    env = gymnasium.make("asmpg/Environment-v0", environment=ready).unwrapped
    assert isinstance(env, GymnasiumEnv)
    env.reset(seed=0)
    assert env.environment.name == "MachineRepair"


@each_environment
def test_elements_have_the_types_of_their_spaces(name):
    env = asmpg.to_gymnasium(name)
    observation, info = env.reset(seed=0)
    assert observation in env.observation_space
    assert info == {}
    observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
    assert observation in env.observation_space
    assert type(reward) is float
    assert type(terminated) is bool
    assert type(truncated) is bool
    assert info == {}


@each_environment
def test_a_seed_fixes_all_episodes_that_follow(name):
    one, other = asmpg.to_gymnasium(name, max_steps=15), asmpg.to_gymnasium(name, max_steps=15)
    actions = random_actions(one, 100)
    other.reset(seed=5)
    record = trajectory(one, actions, seed=3)
    assert_same_trajectory(record, trajectory(other, actions, seed=3))
    assert_same_trajectory(record, trajectory(one, actions, seed=3))


def test_later_episodes_differ_from_the_first():
    env = asmpg.to_gymnasium("VelocityOnlyCartPole")
    starts = [env.reset(seed=0)[0], env.reset()[0], env.reset()[0]]
    assert len({tuple(start.tolist()) for start in starts}) == 3


def test_without_a_seed_each_instance_draws_its_own():
    starts = [asmpg.to_gymnasium("VelocityOnlyCartPole").reset()[0] for _ in range(2)]
    assert (starts[0] != starts[1]).any()


def test_seeds_may_be_of_any_size():
    env = asmpg.to_gymnasium("VelocityOnlyCartPole")
    assert (env.reset(seed=2**100)[0] != env.reset(seed=0)[0]).any()


def compiled(env) -> Any:
    return env._start.func, env._advance.func


def test_instances_of_one_kind_share_the_compiled_step():
    one = asmpg.to_gymnasium("VelocityOnlyCartPole", max_steps=33)
    other = asmpg.to_gymnasium("VelocityOnlyCartPole", max_steps=33, gravity=5.0)
    for env in (one, other):
        env.reset(seed=0)
        env.step(0)
    (start, advance), others = compiled(one), compiled(other)
    assert (start, advance) == others
    assert start._cache_size() == advance._cache_size() == 1


def test_the_time_limit_truncates_and_does_not_terminate():
    env = asmpg.to_gymnasium("MachineRepair", max_steps=15)
    env.reset(seed=0)
    flags = [env.step(0)[2:4] for _ in range(15)]
    assert flags == [(False, False)] * 14 + [(False, True)]


def test_the_goal_terminates_and_does_not_truncate_even_on_the_last_step():
    env = asmpg.to_gymnasium("CheeseMaze", max_steps=2)
    seed = next(s for s in range(100) if env.reset(seed=s)[0] == 2)
    env.reset(seed=seed)
    south = 1
    assert env.step(south)[1:4] == (0.0, False, False)
    assert env.step(south)[1:4] == (1.0, True, False)


@pytest.mark.parametrize("ending", ["terminated", "truncated"])
def test_stepping_after_the_end_asks_for_a_reset(ending):
    if ending == "terminated":
        env = asmpg.to_gymnasium("VelocityOnlyCartPole")
    else:
        env = asmpg.to_gymnasium("MachineRepair", max_steps=15)
    env.reset(seed=0)
    while not any(env.step(0)[2:4]):
        pass
    with pytest.raises(gymnasium.error.ResetNeeded, match=r"reset\(\)"):
        env.step(0)
    env.reset()
    env.step(0)


def test_stepping_before_a_reset_asks_for_one():
    with pytest.raises(gymnasium.error.ResetNeeded, match=r"reset\(\)"):
        asmpg.to_gymnasium("CheeseMaze").step(0)


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize("action", [-1, 4, 1.0, "north", True, np.array([1]), None])
def test_an_action_outside_the_space_is_refused(action):
    env = asmpg.to_gymnasium("CheeseMaze")
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"action must be an integer in \[0, 3\]"):
        env.step(action)


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize("action", [1, np.int64(1), np.int8(1), np.array(1), jnp.asarray(1)])
def test_any_integer_type_is_an_action(action):
    env = asmpg.to_gymnasium("CheeseMaze")
    env.reset(seed=0)
    env.step(action)


@pytest.mark.usefixtures("as_user")
def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="render_mode must be None or one of 'ansi', 'rgb_array'"):
        asmpg.to_gymnasium("CheeseMaze", render_mode="human")
    with pytest.raises(ValueError, match="did you mean CheeseMaze"):
        asmpg.to_gymnasium("CheesMaze")
    with pytest.raises(ValueError, match="already built; got: max_steps"):
        asmpg.to_gymnasium(asmpg.make("CheeseMaze"), max_steps=3)
    with pytest.raises(ValueError, match="environment must be a registered name"):
        asmpg.to_gymnasium(3)


@each_environment
def test_rendering_gives_pictures_and_text(name):
    env = asmpg.to_gymnasium(name, render_mode="rgb_array")
    env.reset(seed=0)
    first = env.render()
    assert first.shape == (480, 640, 3)
    assert first.dtype == np.uint8
    env.step(0)
    assert (env.render() != first).any()
    env = asmpg.to_gymnasium(name, render_mode="ansi")
    env.reset(seed=0)
    env.step(0)
    assert "step 1/200" in env.render()


def test_rendering_before_a_reset_asks_for_one():
    with pytest.raises(gymnasium.error.ResetNeeded, match=r"reset\(\)"):
        asmpg.to_gymnasium("CheeseMaze", render_mode="ansi").render()


def test_rendering_without_a_mode_warns():
    env = asmpg.to_gymnasium("CheeseMaze")
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="render_mode"):
        assert env.render() is None


def test_cart_pole_moves_as_gymnasiums():
    theirs: Any = gymnasium.make("CartPole-v1").unwrapped
    ours = VelocityOnlyCartPole()
    random = np.random.default_rng(0)
    ended = 0
    with jax.enable_x64(True):
        transition = jax.jit(ours.transition)
        terminated = True
        for _ in range(5000):
            if terminated:
                theirs.reset()
                theirs.state = random.uniform(-0.1, 0.1, size=4)
            state = CartPoleState(*(jnp.asarray(float(part)) for part in theirs.state))
            action = int(random.integers(2))
            observation, reward, terminated, _, _ = theirs.step(action)
            state, our_terminated = transition(state, action)
            np.testing.assert_allclose(state, theirs.state, rtol=0, atol=1e-9)
            np.testing.assert_allclose(
                [state.velocity, state.angular_velocity], observation[[1, 3]], rtol=1e-6
            )
            assert our_terminated == terminated
            assert reward == 1
            ended += terminated
    assert ended > 100


def test_import_and_help_need_neither_jax_nor_gymnasium_nor_matplotlib():
    code = """
import sys, asmpg
from asmpg.cli import main
sys.argv = ["asmpg", "--help"]
try:
    main()
except SystemExit:
    print("LOADED", *({"jax", "gymnasium", "matplotlib"} & sys.modules.keys()))
"""
    assert run_python(code).splitlines()[-1].strip() == "LOADED"


@pytest.mark.parametrize("first", ["asmpg", "gymnasium"])
def test_either_may_be_imported_first(first):
    code = f"""
import sys, {first}, importlib.util
assert importlib.util.find_spec("gymnasium").name == "gymnasium"  # looking is not importing
import asmpg, gymnasium, gymnasium.vector
assert "_AfterGymnasium" not in [type(finder).__name__ for finder in sys.meta_path]
assert "_AfterGymnasium" not in gymnasium.__spec__.loader.exec_module.__qualname__
print(*(name for name in gymnasium.registry if name.startswith("asmpg/")))
"""
    assert run_python(code).split() == list(GYMNASIUM_IDS)


def test_making_an_environment_does_not_import_matplotlib():
    code = (
        "import asmpg, sys; asmpg.to_gymnasium('CheeseMaze', render_mode='ansi'); "
        "print('matplotlib' in sys.modules)"
    )
    assert run_python(code) == "False"


def test_gymnasium_finds_us_by_module_name():
    code = "import gymnasium; print(gymnasium.make('asmpg:asmpg/CheeseMaze-v0').spec.id)"
    assert run_python(code) == "asmpg/CheeseMaze-v0"


def test_without_gymnasium_everything_else_works_and_adapters_say_what_to_install():
    code = """
import sys
sys.modules["gymnasium"] = None
import asmpg
print(asmpg.make("CheeseMaze").name)
for adapt in (asmpg.to_gymnasium, asmpg.to_gymnasium_vector):
    try:
        adapt("CheeseMaze")
    except ImportError as error:
        print(error)
"""
    name, *messages = run_python(code).splitlines()
    assert name == "CheeseMaze"
    assert len(messages) == 2
    assert all("pip install gymnasium" in message for message in messages)


def test_the_package_lists_what_it_offers():
    offered = {"make", "register", "registered_names", "FiniteModel", "to_gymnasium"}
    assert offered <= set(dir(asmpg))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        asmpg.nothing  # noqa: B018
