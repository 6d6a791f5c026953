"""Training in environments of Gymnasium: the same methods, scores, folders and errors."""

import dataclasses
import functools

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium import spaces

import asmpg
from asmpg.exact import exact_returns
from asmpg.experience import HostEnvironments
from asmpg.interop import resolve
from asmpg.runs import RunConfig, RunFolder
from finite import make_finite
from host_environments import Faulty, MazeInParts, NumPyCheeseMaze, RandomWalk
from quick import long
from runs import assert_same_runs, timeless

ID = "host_environments:TestMaze-v0"
IN_PARTS = "host_environments:TestMazeInParts-v0"
gymnasium.register("TestMaze-v0", entry_point=NumPyCheeseMaze, max_episode_steps=20)
gymnasium.register("TestMazeInParts-v0", entry_point=MazeInParts, max_episode_steps=20)

SMALL = {"num_states": 2, "policy": "tabular", "episodes_per_update": 4}
#: A cheap actor-critic that learns the maze in a few seconds.
QUICK = {
    "num_states": 8,
    "decay": None,
    "num_environments": 16,
    "rollout_steps": 32,
    "epochs": 4,
    "minibatches": 1,
    "critic": "memory",
    "critic_width": 32,
}
SEEDS = (1,)


def quietly(method, environment, **options):
    return method.learn(
        environment, verbose=0, **{"steps": 600, "evaluation_episodes": 4} | options
    )


def exact_score(agent):
    """Reward per step of the policy, free of noise."""
    maze = make_finite("CheeseMaze")
    return float(
        exact_returns(
            maze.model, agent.policy.tabulate(), horizon=200, discount=0.99
        ).reward_per_step
    )


@pytest.mark.long
@pytest.mark.usefixtures("as_user")  # The checks of types take more time than all the rest.
def test_the_maze_in_numpy_is_learned_as_well_as_the_compiled_one():
    method = asmpg.ASMPPO(**QUICK)
    scores = {}
    for name, environment in (("host", NumPyCheeseMaze), ("compiled", "CheeseMaze")):
        agent = quietly(method, environment, steps=24_000, seeds=SEEDS, evaluate_every=24_000)
        scores[name] = [exact_score(agent.result.agent(seed, which="last")) for seed in SEEDS]
    # Seeds fixed, exact scores: 0.22 each, of 0.2326 that can be had, 0.1245 without memory.
    assert abs(np.mean(scores["host"]) - np.mean(scores["compiled"])) < 0.015
    assert min(map(min, scores.values())) > 0.2


def test_a_run_by_id_has_the_usual_folder(tmp_path):
    config = RunConfig(
        ID,
        method="asmpg",
        method_options=SMALL,
        seeds=(1, 2),
        steps=400,
        evaluate_every=200,
        evaluation_episodes=4,
    )
    result = asmpg.train(config, tmp_path / "run")
    assert {path.name for path in (tmp_path / "run").iterdir()} == {
        ".lock",
        "checkpoints",
        "config.json",
        "metrics.csv",
    }
    assert [row["seed"] for row in result.rows] == [1, 1, 1, 2, 2, 2]
    assert all(row["steps"] >= 400 for row in result.rows[2::3])
    assert timeless(RunFolder(tmp_path / "run").rows()) == timeless(result.rows)
    assert all(row["states_in_use"] in (1, 2) for row in result.rows)
    assert all(0 < row["memory_entropy"] < np.log(2) for row in result.rows)
    assert RunFolder(tmp_path / "run").config.interface.max_steps == 20
    asmpg.train(config, tmp_path / "again")
    assert_same_runs(tmp_path / "run", tmp_path / "again")
    entries = asmpg.evaluate(tmp_path / "run", episodes=10, seed=2)
    assert entries == asmpg.evaluate(tmp_path / "run", episodes=10, seed=2)
    assert 1 <= entries[0]["episode_length"] <= 20
    assert [path.name for path in asmpg.plot(tmp_path / "run")] == [
        "learning_curve.png",
        "learning_curve.svg",
    ]
    assert asmpg.load(tmp_path / "run").num_states == 2


class StopAfter(asmpg.Callback):
    def __init__(self, number):
        self.left = number

    def on_evaluation(self, seed, row):
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt


def test_a_stopped_run_goes_on_from_its_checkpoints(tmp_path):
    config = RunConfig(
        IN_PARTS,
        method="asmpg",
        method_options=SMALL,
        seeds=(1,),
        steps=900,
        evaluate_every=300,
        evaluation_episodes=4,
    )
    whole = asmpg.train(config, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        asmpg.train(config, tmp_path / "run", callbacks=[StopAfter(3)])
    resumed = asmpg.train(config, tmp_path / "run", resume=True)
    # What was learned before is there to the bit, and the counts go on; the episodes are new.
    before = len(resumed.rows) - 2
    assert timeless(resumed.rows[:before]) == timeless(whole.rows[:before])
    assert len(resumed.rows) == len(whole.rows)
    steps = [row["steps"] for row in resumed.rows]
    assert steps == sorted(steps)


def test_observations_in_parts_survive_their_run(tmp_path):
    agent = quietly(asmpg.ASMPG(**SMALL), IN_PARTS, out=tmp_path / "run", seeds=(1,))
    agent.save(tmp_path / "agent.npz")
    assert asmpg.evaluate(tmp_path / "run", episodes=5)[0]["episodes"] == 5
    shown = {"light": (1,), "shown": 3}
    for loaded in (asmpg.load(tmp_path / "run"), asmpg.load(tmp_path / "agent.npz")):
        np.testing.assert_array_equal(loaded.nu(0, 2, shown), agent.nu(0, 2, shown))
        machine = loaded.machine(episodes=4)
        np.testing.assert_allclose(machine.update[0, 2, 7 + 3], agent.nu(0, 2, shown), atol=1e-6)
        assert machine.observation_names[7 + 3] == "light[0]=1 shown=3"
    agent.export(tmp_path / "policy.h")
    assert "10 light[0]=1 shown=3, 11" in (tmp_path / "policy.h").read_text()


@pytest.mark.long
def test_machines_are_played_on_the_host_too(tmp_path):
    """Tolerance: four standard errors of the difference of two means over 100 episodes."""
    agent = quietly(asmpg.ASMPG(**SMALL), ID, out=tmp_path / "run", seeds=(1,), steps=200)
    learned = asmpg.load(tmp_path / "run").machine(episodes=100)
    maze = asmpg.make("CheeseMaze", max_steps=20)
    compiled = agent.machine(maze)
    assert compiled.value.standard_error == 0
    assert learned.value.standard_error > 0
    away = learned.value.discounted - compiled.value.discounted
    assert abs(away) < 4 * learned.value.standard_error
    np.testing.assert_allclose(learned.shares, compiled.shares, atol=0.1)
    assert learned.visits.steps == pytest.approx(compiled.visits.steps, rel=0.1)
    small = learned.harden().minimise()
    assert [step.done for step in small.steps] == ["learned", "hardened", "minimised"]
    assert small.steps[1].value.discounted == small.value.discounted
    assert "±" in str(small)
    # Real observations become typical cases of what was met.
    walking = quietly(asmpg.ASMPG(num_states=2), RandomWalk, steps=50, seeds=(1,))
    machine = walking.machine(cases=3, episodes=4)
    assert machine.num_observations == 3
    assert machine.value is not None
    assert machine.action_names == ("5", "6", "7")
    with pytest.raises(ValueError, match=r"environment must show what the agent was trained on"):
        walking.machine(NumPyCheeseMaze)


def test_an_environment_given_in_python_is_handed_in_again(tmp_path):
    agent = quietly(asmpg.ASMPG(**SMALL), NumPyCheeseMaze, out=tmp_path / "run")
    with pytest.raises(ValueError, match="NumPyCheeseMaze, was given in Python"):
        asmpg.evaluate(tmp_path / "run")
    with pytest.raises(ValueError, match="handed in again"):
        asmpg.train(RunFolder(tmp_path / "run").config, tmp_path / "run", resume=True)
    entry = asmpg.evaluate(tmp_path / "run", episodes=5, environment=NumPyCheeseMaze)[0]
    assert entry["episodes"] == 5
    # The agent itself needs no environment.
    loaded = asmpg.load(tmp_path / "run")
    np.testing.assert_array_equal(loaded.nu(None, None, 3), agent.nu(None, None, 3))


@pytest.mark.parametrize(
    "method",
    [
        asmpg.AIS(dimension=3, batch_steps=50),
        long(asmpg.AIS(dimension=3, batch="episodes", episodes_per_update=3, variant="mmd")),
    ],
    ids=lambda method: type(method).__name__,
)
def test_every_method_learns_from_real_observations(method):
    agent = quietly(
        method, RandomWalk, steps=100, evaluate_every=50, evaluation_episodes=3, seeds=(7,)
    )
    rows = agent.result.rows
    assert rows[-1]["steps"] >= 100
    assert np.isfinite(rows[-1]["gradient_norm"])
    assert rows[-1]["episodes"] > 0
    action, _ = agent.predict(np.asarray([120.0, 0.0]))
    assert action in spaces.Discrete(3, start=5)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_a_vector_environment_of_ones_own(mode):
    def vector():
        short = functools.partial(NumPyCheeseMaze, max_steps=9)
        return gymnasium.vector.SyncVectorEnv([short] * 4, autoreset_mode=mode)

    method = asmpg.ASMPPO(**QUICK | {"num_environments": 4, "rollout_steps": 16})
    rows = quietly(method, vector, steps=128, evaluate_every=64, seeds=(1,)).result.rows
    assert np.isfinite(rows[-1]["value_loss"])
    assert (rows[-1]["steps"] % 64 == 0) == (mode != "NextStep")
    with pytest.raises(ValueError, match=r"must have 8 copies.*got 4"):
        quietly(dataclasses.replace(method, num_environments=8), vector)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("raise", "Faulty: the environment raised RuntimeError in step: the motor is on fire"),
        ("reward", "Faulty: rewards must be finite, copy 0 paid nan"),
        ("observation", r"Faulty: observation must be finite, got \[nan\]"),
    ],
)
def test_a_faulty_environment_leaves_the_last_checkpoint(tmp_path, fault, message):
    method = asmpg.MemorylessPPO(num_environments=2, rollout_steps=20, epochs=1, minibatches=1)
    with pytest.raises(asmpg.TrainingError, match=message):
        quietly(
            method,
            Faulty(fault),
            steps=10_000,
            evaluate_every=200,
            out=tmp_path / "run",
            seeds=(1,),
        )
    rows = RunFolder(tmp_path / "run").rows()
    assert [row["steps"] for row in rows] == [0, 200, 400, 600]
    assert RunFolder(tmp_path / "run").status(1).evaluations == len(rows)
    asmpg.load(tmp_path / "run").predict(np.zeros(1))


class Shows(NumPyCheeseMaze):
    """A maze whose spaces do not fit, or do not keep their word."""

    def __init__(self, space, actions=None, shown=None):
        super().__init__()
        self.observation_space = space
        self.action_space = actions or spaces.Discrete(4)
        self.shown = shown

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.shown, {}


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (spaces.Dict(), r"must have a part at least, got Dict\(\)"),
        (spaces.Tuple([spaces.Sequence(spaces.Discrete(2))]), r"as part '\[0\]'; 0 cannot be flat"),
        (spaces.Box(0, 255, (64, 64, 3), np.uint8), "looks like a picture"),
        (spaces.Box(0, 1, (40, 40)), "looks like a picture"),
        (spaces.Text(5), r"must be Discrete, .* Box .*, got Text.*\.FlattenObservation"),
    ],
)
def test_observations_that_do_not_fit(space, message):
    with pytest.raises(ValueError, match=message):
        quietly(asmpg.ASMPG(**SMALL), Shows(space))


def test_an_observation_outside_of_its_space():
    with pytest.raises(asmpg.TrainingError, match="an element of the declared space, got 7"):
        quietly(asmpg.ASMPG(**SMALL), Shows(spaces.Discrete(7), shown=7))


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize(
    ("environment", "message"),
    [
        (3, "environment must be a name, a Gymnasium id"),
        ("Nowhere-v0", "'Nowhere-v0' is not a Gymnasium id"),
        ("CheeseMase", "did you mean CheeseMaze"),
        (lambda: 3, "returned 3"),
    ],
)
def test_what_is_no_environment(environment, message):
    with pytest.raises(ValueError, match=message):
        quietly(asmpg.ASMPG(**SMALL), environment)


class Uncopied(NumPyCheeseMaze):
    def __deepcopy__(self, memory):
        raise TypeError("it holds a socket")


def test_an_instance_is_copied_or_made_again():
    partial = functools.partial(NumPyCheeseMaze, max_steps=9)
    for given, name, limit in (
        (NumPyCheeseMaze(max_steps=9), "NumPyCheeseMaze", 10_000),
        (partial, "NumPyCheeseMaze", 10_000),
        (gymnasium.make("TestMaze-v0", max_steps=9), "TestMaze-v0", 20),
    ):
        resolved = resolve(given, {})
        assert (resolved.interface.name, resolved.interface.max_steps) == (name, limit)
        one, other = resolved.source.make(), resolved.source.make()
        assert one.unwrapped is not other.unwrapped
        assert one.unwrapped.max_steps == 9
    gymnasium.register("Uncopied-v0", entry_point=Uncopied)
    assert resolve(gymnasium.make("Uncopied-v0"), {}).interface.name == "Uncopied-v0"
    with pytest.raises(ValueError, match=r"cannot be copied \(it holds a socket\)"):
        resolve(Uncopied(), {})


def test_a_vector_environment_itself_is_refused():
    vector = gymnasium.vector.SyncVectorEnv([NumPyCheeseMaze])
    with pytest.raises(ValueError, match="hand in a function that makes it"):
        quietly(asmpg.ASMPG(**SMALL), vector)


def test_seeds_decide_everything_and_differ():
    found = [
        quietly(asmpg.ASMPG(**SMALL), NumPyCheeseMaze, seeds=(seed,)).result.rows
        for seed in (1, 1, 2)
    ]
    first, second, third = ([row["steps"] for row in rows] for rows in found)
    assert first == second
    assert first != third
    assert jax.tree.map(str, timeless(found[0])) == jax.tree.map(str, timeless(found[1]))


def test_evaluations_are_the_same_from_python_and_by_configuration():
    """Ten evaluations of 30 episodes after the first, however training on the host is asked for."""
    method = asmpg.ASMPG(**SMALL)
    from_python = method.learn(ID, steps=100, verbose=0).result.config
    by_configuration = RunConfig(ID, method="asmpg", method_options=SMALL, steps=100)
    for config in (from_python, by_configuration):
        assert (config.evaluate_every, config.evaluation_episodes) == (10, 30)


def test_a_policy_is_evaluated_once():
    """Evaluations that fall between two updates are left out; the last one is not."""
    for environment, options in ((ID, {}), ("CheeseMaze", {"max_steps": 20})):
        agent = quietly(
            asmpg.ASMPG(**SMALL),
            environment,
            steps=300,
            evaluate_every=1,
            environment_options=options,
        )
        rows = agent.result.rows
        updates = [row["updates"] for row in rows]
        assert updates == sorted(set(updates))
        assert len(updates) > 2
        assert rows[-1]["steps"] >= 300
        assert agent.result.config.finished(agent.result.seeds[rows[0]["seed"]].status)


def test_no_two_streams_of_random_numbers_are_the_same(monkeypatch, tmp_path):
    """NumPy pads seeds with zeros: `(1, 2)` and `(1, 2, 0)` are one stream."""
    streams, reseed = [], HostEnvironments.reseed

    def recording(stage, *seeds):
        streams.append(seeds)
        reseed(stage, *seeds)

    monkeypatch.setattr(HostEnvironments, "reseed", recording)
    config = RunConfig(
        ID,
        method="asmpg",
        method_options=SMALL,
        seeds=(0, 1),
        steps=200,
        evaluate_every=100,
        evaluation_episodes=2,
    )
    asmpg.train(config, tmp_path / "run")
    asmpg.evaluate(tmp_path / "run", episodes=2)
    assert len(streams) > 8
    first = [np.random.default_rng(seeds).integers(2**60) for seeds in streams]
    assert len(set(first)) == len(set(streams)) == len(streams)


def test_few_environments_are_made_beyond_those_that_are_played():
    made = []

    class Counted(NumPyCheeseMaze):
        def __init__(self):
            super().__init__(max_steps=20)
            made.append(self)

    quietly(asmpg.ASMPG(**SMALL), Counted, steps=60, evaluate_every=60, evaluation_episodes=3)
    played = SMALL["episodes_per_update"] + 3
    assert len(made) <= played + 2
