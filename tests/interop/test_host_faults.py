"""What goes wrong in environments stepped on the host is told in one line, and soon."""

import functools
import os
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.wrappers import TimeLimit

import asmpg
from asmpg.interop import resolve
from asmpg.interop.host import VectorDriver
from asmpg.runs import RunConfig
from asmpg.training import build_program
from host_environments import Endless, Faulty, NumPyCheeseMaze
from quick import long


def opened(environment, copies=2, **options):
    return resolve(environment, {}, **options).source.open(copies, exactly=False)


def play(driver, steps):
    """The steps, `driver` being closed in the end."""
    try:
        driver.reset([0] * driver.copies)
        return [driver.step(np.zeros(driver.copies, int)) for _ in range(steps)]
    finally:
        driver.close()


def vector_of(mode, environment=Endless):
    return lambda: SyncVectorEnv([environment] * 2, autoreset_mode=mode)


@pytest.mark.usefixtures("as_user")  # The checks of types take more time than all the rest.
def test_a_vector_environment_without_automatic_resets_is_truncated():
    maker = functools.partial(TimeLimit, Endless(), 7)
    for environment, limit in ((Endless, 10_000), (maker, 7)):
        resolved = resolve(vector_of(AutoresetMode.DISABLED, environment), {})
        assert resolved.interface.max_steps == limit
        steps = play(resolved.source.open(2), limit + 1)
        assert [step.ended.all() for step in steps] == [*[False] * (limit - 1), True, False]
        assert not any(step.terminated.any() for step in steps)
        # The last observation of the episode, and the first of the next.
        assert (steps[limit - 1].seen.tolist(), steps[limit - 1].observations.tolist()) == (
            [1, 1],
            [0, 0],
        )


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_a_vector_environment_that_never_ends_is_an_error(mode):
    driver = opened(vector_of(mode))
    with pytest.raises(asmpg.TrainingError, match="copy 0 has played more than 10000 steps"):
        play(driver, 10_001)


@pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda mode: mode.value)
def test_a_time_limit_inside_a_vector_environment_is_no_error(mode):
    driver = opened(vector_of(mode, functools.partial(TimeLimit, Endless(), 3)))
    ends = [step.ended.all() for step in play(driver, 8)]
    assert ends == [step % (4 if mode is AutoresetMode.NEXT_STEP else 3) == 2 for step in range(8)]


def test_time_limits_are_found_in_wrappers():
    for environment, limit in (
        (TimeLimit(NumPyCheeseMaze(), 30), 30),
        (gymnasium.wrappers.TransformReward(TimeLimit(NumPyCheeseMaze(), 30), lambda r: r), 30),
        (TimeLimit(TimeLimit(NumPyCheeseMaze(), 20), 30), 20),
        (TimeLimit(gymnasium.make("CartPole-v1"), 30), 30),
        (gymnasium.make("CartPole-v1"), 500),
        (lambda: gymnasium.make_vec("CartPole-v1", num_envs=2), 500),
    ):
        assert resolve(environment, {}).interface.max_steps == limit


@pytest.mark.parametrize(("metadata", "given"), [({}, "None"), ({"autoreset_mode": "x"}, "'x'")])
def test_a_vector_environment_must_say_how_it_resets(metadata, given):
    def vector():
        made = SyncVectorEnv([NumPyCheeseMaze] * 2)
        made.metadata = metadata
        return made

    message = rf'metadata\["autoreset_mode"\] = .*AutoresetMode.NEXT_STEP, .*; got {given}'
    with pytest.raises(ValueError, match=message):
        resolve(vector, {})
    with pytest.raises(ValueError, match=message):
        VectorDriver("maze", vector())


EXIT = "Faulty: the environment raised SystemExit in step: enough"
FLAG = "Faulty: terminated must be True or False, got 'no'"


@pytest.mark.parametrize(
    ("fault", "vectorization", "message"),
    [
        ("exit", "sync", EXIT),
        ("exit", "async", EXIT),
        ("flag", "sync", FLAG),
        long("flag", "async", FLAG),
        ("four", "sync", "Faulty: step must return 5 values, got 4 values"),
    ],
)
def test_faults_of_a_step(fault, vectorization, message):
    driver = opened(Faulty(fault, after=2), vectorization=vectorization)
    with pytest.raises(asmpg.TrainingError, match=message):
        play(driver, 3)


def test_observations_outside_of_their_bounds_are_told_once():
    driver = opened(Faulty("bounds", after=2))
    with pytest.warns(RuntimeWarning, match=r"component 0 is 1.5, not in \[-1, 1\]") as told:
        assert len(play(driver, 6)) == 6
    assert len(told) == 1


def test_what_is_wrong_with_a_part_is_told_by_its_name():
    class Parts(Endless):
        observation_space = spaces.Dict(
            card=spaces.Discrete(9), place=spaces.Box(-1, 1, (2,), np.float32)
        )

        def __init__(self, card, place):
            self.shown = {"card": card, "place": np.asarray(place, np.float32)}

        def reset(self, *, seed=None, options=None):
            return self.shown, {}

    with pytest.warns(RuntimeWarning, match=r"component place\[1\] is 2, not in \[-1, 1\]"):
        opened(lambda: Parts(3, [0, 2])).reset()
    for card, place, message in (
        (9, [0, 0], "part 'card' of the observation must be an element of .* got 9"),
        (0, [np.nan, 0], r"part 'place' of the observation must be finite, got \[nan"),
    ):
        with pytest.raises(asmpg.TrainingError, match=message):
            opened(lambda card=card, place=place: Parts(card, place)).reset()


def test_the_last_observations_may_come_in_parts():
    """Vector environments of other makers stack them like any others."""

    class Stacked(VectorEnv):
        num_envs = 2
        single_observation_space = spaces.Tuple([spaces.Discrete(3), spaces.Box(0, 9, (1,))])
        single_action_space = spaces.Discrete(2)

        def __init__(self):
            self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}

        def step(self, actions):
            over, no = np.asarray([False, True]), np.zeros(2, bool)
            final = (np.asarray([7, 2]), np.asarray([[np.nan], [5]]))
            seen = (np.asarray([0, 1]), np.asarray([[3.0], [4.0]]))
            return seen, np.zeros(2), over, no, {"final_obs": final}

    played = VectorDriver("stacked", Stacked()).step(np.zeros(2, int))
    assert played.seen.tolist() == [[1, 0, 0, 3], [0, 0, 1, 5]]
    assert played.observations.tolist() == [[1, 0, 0, 3], [0, 1, 0, 4]]


def test_rounding_is_no_fault():
    assert len(play(opened(Faulty("rounding", after=2)), 4)) == 4


def test_flags_may_be_ones_and_zeros():
    class Counts(Endless):
        def step(self, action):
            return 1, 0.0, np.int64(1), 0, {}

    assert play(opened(Counts), 1)[0].terminated.tolist() == [True, True]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (np.asarray(["no", "no"]), "terminated must be an array of 2 booleans, got array"),
        ([0.5, 0.0], "terminated must be an array of 2 booleans"),
        (np.zeros(3, bool), "terminated must be an array of 2 booleans"),
    ],
)
def test_flags_of_a_vector_environment(flags, message):
    class Flags(SyncVectorEnv):
        def step(self, actions):
            seen, rewards, _, truncated, info = super().step(actions)
            return seen, rewards, flags, truncated, info

    with pytest.raises(asmpg.TrainingError, match=message):
        play(opened(lambda: Flags([Endless] * 2)), 1)


def test_an_interrupt_stays_one():
    with pytest.raises(KeyboardInterrupt):
        play(opened(Faulty("interrupt", after=0)), 1)


def test_a_process_that_dies():
    driver = opened(Faulty("die", after=1), vectorization="async")
    with pytest.raises(asmpg.TrainingError, match=r"Faulty: a process .* died in step"):
        play(driver, 2)


@pytest.mark.parametrize("vectorization", ["sync", long("async")])
def test_a_failing_close_is_a_warning(vectorization):
    with pytest.warns(UserWarning, match="raised OSError in close: the port is gone"):
        driver = opened(Faulty("close"), vectorization=vectorization)
    assert len(play(driver, 3)) == 3


def test_a_failing_close_of_a_vector_environment_hides_no_error():
    class Closes(SyncVectorEnv):
        def close(self, **options):
            raise OSError("the port is gone")

    with pytest.warns(UserWarning, match="raised OSError in close: the port is gone"):
        driver = opened(lambda: Closes([lambda: Faulty("raise", after=0)] * 2))
    with (
        pytest.warns(UserWarning, match="raised OSError in close: the port is gone"),
        pytest.raises(asmpg.TrainingError, match="the motor is on fire"),
    ):
        play(driver, 1)


@pytest.mark.parametrize("vectorization", ["sync", "async"])
def test_a_step_that_hangs(vectorization):
    resolved = resolve(Faulty("hang", after=2), {}, vectorization=vectorization)
    driver = resolved.with_step_timeout(0.5).source.open(2)
    with pytest.raises(
        asmpg.TrainingError, match=r"Faulty: step did not return within 0\.5 s.* in step 3"
    ):
        play(driver, 3)


def test_a_step_timeout_changes_nothing_else():
    with_timeout = resolve(NumPyCheeseMaze, {}).with_step_timeout(60).source.open(2)
    for one, other in zip(play(with_timeout, 30), play(opened(NumPyCheeseMaze), 30), strict=True):
        np.testing.assert_array_equal(one.observations, other.observations)
    timed = resolve(Faulty("raise", after=0), {}).with_step_timeout(60)
    with pytest.raises(asmpg.TrainingError, match="raised RuntimeError in step: the motor"):
        play(timed.source.open(2), 1)


@pytest.mark.parametrize(
    ("environment", "seconds", "message"),
    [
        (NumPyCheeseMaze, 0, "step_timeout must be a number of at least 0.001, got 0"),
        (NumPyCheeseMaze, "1", "step_timeout must be a number of at least 0.001, got '1'"),
        ("CheeseMaze", 1.0, "step_timeout is for Gymnasium environments.*CheeseMaze"),
    ],
)
@pytest.mark.usefixtures("as_user")
def test_step_timeouts_that_make_no_sense(environment, seconds, message):
    with pytest.raises(ValueError, match=message):
        asmpg.ASMPG().learn(environment, step_timeout=seconds)


SCRIPT = """
import gymnasium, host_environments

gymnasium.register("Faulty-v0", entry_point=host_environments.Faulty, kwargs={"fault": "raise"})
if __name__ == "__main__":
    from asmpg.cli import main

    main(["train", "Faulty-v0", "--method=memoryless-ppo", "--vectorization=async",
          "--option=num_environments=2", "--option=minibatches=1", "--option=rollout_steps=8",
          "--evaluation-episodes=2", "--out=run", "--quiet", "--environment-option=after=3",
          "--step-timeout=60"])
"""


def test_only_our_line_is_printed(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    source = Path(asmpg.__file__).parents[1]
    paths = os.pathsep.join(map(str, (source, Path(__file__).parents[1] / "support")))
    ran = subprocess.run(
        [sys.executable, "script.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 1
    assert ran.stderr == (
        "asmpg: error: Faulty-v0: the environment raised RuntimeError in step: the motor is on "
        "fire\n"
    )


@pytest.mark.parametrize(("observations", "actions"), [(10**9, 2), (2, 10**9)], ids=str)
@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("asm-ppo", {"num_states": 8}),
        ("asm-ppo", {"num_states": 8, "policy": "matrix"}),
        ("asmpg", {"num_states": 2, "policy": "joint"}),
        ("asmpg", {"num_states": 2, "policy": "mlp"}),
        ("mingru-ppo", {}),
        ("memoryless-ppo", {}),
        ("ais-kl", {"dimension": 3}),
    ],
    ids=str,
)
def test_spaces_too_large_to_learn_in(observations, actions, method, options):
    class Large(Endless):
        observation_space = spaces.Discrete(observations)
        action_space = spaces.Discrete(actions)

    config = RunConfig("Large", method=method, method_options=options)
    sizes = f"{observations:,} observations and {actions:,} actions, at most"
    with pytest.raises(ValueError, match=rf"{sizes} \d GiB is accepted.* real features"):
        build_program(config, resolve(Large, {}))
