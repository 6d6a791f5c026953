"""A student does what its teacher does, and is an agent like any other."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium import spaces

import asmpg
from asmpg._support.files import read_json
from asmpg.agents import Agent
from asmpg.distillation import Lesson, PredictTeacher, Sampler, log_probabilities
from asmpg.environments import Discrete
from asmpg.exact import BeliefPolicy
from asmpg.interop import resolve
from asmpg.policies import FilteredPolicy, TabularPolicy, actor
from asmpg.runs import RunFolder
from host_environments import RandomWalk

#: A student's run that compiles quickly.
SMALL = {
    "num_environments": 2,
    "rollout_steps": 8,
    "epochs": 1,
    "minibatches": 1,
    "critic_width": 4,
    "critic": "memory",
}
QUICK = {"sequences": 4, "sequence_steps": 16, "rounds": 2, "epochs": 2, "episodes": 4}


class LastTwo:
    """Stands in for a recurrent model of Stable-Baselines3: acts on the last two observations."""

    def __init__(self, num_actions, first_action=0):
        self.num_actions, self.first_action = num_actions, first_action

    def advance(self, observation, state, episode_start):
        seen = np.asarray(observation).reshape(len(observation), -1)[:, 0].astype(int)
        before = np.zeros_like(seen) if state is None else state[0][0]
        before = np.where(episode_start, 0, before)
        return (seen + 2 * before) % self.num_actions, (seen[None],)

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        actions, state = self.advance(observation, state, episode_start)
        return actions + self.first_action, state


class SoftLastTwo(LastTwo):
    def action_probabilities(self, observation, state, episode_start):
        actions, state = self.advance(observation, state, episode_start)
        return 0.8 * np.eye(self.num_actions)[actions] + 0.2 / self.num_actions, state


def controller(*, num_actions=3, num_observations=2):
    """Two agent states: the first observation chooses one, it is mostly kept, and acted upon."""
    policy = TabularPolicy(
        num_states=2,
        num_actions=num_actions,
        num_observations=num_observations,
        nu_scale=0.3,
        bias=3.0 * jnp.eye(2),
        key=jax.random.key(4),
    )
    rows = 0.3 / (num_actions - 1) + (0.7 - 0.3 / (num_actions - 1)) * jnp.eye(num_actions)[:2]
    policy = eqx.tree_at(lambda policy: policy.phi_logits, policy, jnp.log(rows))
    return Agent.of_policy(policy, Discrete(num_observations))


@pytest.mark.long
@pytest.mark.long_running
def test_a_finite_state_controller_is_recovered():
    """On held-out histories, 0.02 in total variation, averaged over their steps."""
    teacher = controller()
    student = asmpg.distil(
        teacher,
        "Tiger",
        num_states=2,
        window=0,
        method_options=SMALL,
        verbose=0,
        **QUICK | {"sequences": 32, "sequence_steps": 64, "epochs": 60},
    )
    sampler = Sampler(resolve("Tiger", {}), sequences=16, steps=64)
    histories = sampler.histories(FilteredPolicy(teacher.policy), 77)
    wanted, found = (
        np.exp(eqx.filter_jit(log_probabilities)(FilteredPolicy(agent.policy), histories))
        for agent in (teacher, student)
    )
    memoryless = np.zeros_like(wanted)
    for symbol in range(2):
        shown = np.asarray(histories.observations) == symbol
        memoryless[shown] = wanted[shown].mean(axis=0)
    # Memory matters: by the last observation alone nobody comes close.
    assert _distance(wanted, memoryless) > 0.1
    assert _distance(wanted, found) < 0.02


@pytest.mark.long
def test_four_states_learn_what_a_belief_policy_does(tmp_path):
    """The optimum of CheeseMaze is 0.23256 per step; within a hundredth of that."""
    asmpg.distil(
        BeliefPolicy("CheeseMaze"),
        "CheeseMaze",
        num_states=4,
        method_options=SMALL,
        out=tmp_path / "run",
        verbose=0,
        **QUICK | {"sequences": 32, "sequence_steps": 64, "epochs": 40},
    )
    report = read_json(tmp_path / "run" / "distil.json")
    assert report["students"][0]["distilled"]["exact"] > 0.23
    assert RunFolder(tmp_path / "run").config.method_options["discount"] == 0.99


def _distance(one, other):
    """In total variation, averaged over the steps."""
    return 0.5 * np.abs(one - other).sum(axis=-1).mean()


@pytest.fixture(scope="module")
def distilled(tmp_path_factory):
    """A run distilled from somebody else's model in a maze of 20 steps, then fine-tuned."""
    out = tmp_path_factory.mktemp("distilled") / "run"
    agent = asmpg.distil(
        LastTwo(4),
        "CheeseMaze",
        environment_options={"max_steps": 20},
        num_states=3,
        window=0,
        finetune=40,
        seeds=(7, 8),
        out=out,
        method_options=SMALL,
        verbose=0,
        **QUICK,
    )
    return out, agent


def test_the_result_is_a_run_like_any_other(distilled, tmp_path):
    out, agent = distilled
    config = RunFolder(out).config
    played = 2 * 4 * 16
    assert (config.method, config.seeds, config.steps) == ("asm-ppo", (7, 8), played + 40)
    assert agent.num_states == asmpg.load(out, seed=7).num_states == 3
    rows = [row for row in RunFolder(out).rows() if row["seed"] == 7]
    assert rows[0]["steps"] == played
    assert rows[-1]["steps"] >= played + 40
    report = read_json(out / "distil.json")
    first, tuned = (report["students"][0][name] for name in ("distilled", "finetuned"))
    assert tuned["steps"] == 40
    np.testing.assert_allclose(rows[-1]["exact_reward_per_step"], tuned["last"]["exact"], rtol=1e-4)
    np.testing.assert_allclose(rows[0]["exact_reward_per_step"], first["exact"], rtol=1e-4)
    agent.save(tmp_path / "agent.npz")
    assert asmpg.load(tmp_path / "agent.npz").predict(3)[0] in range(4)
    assert agent.machine().num_states == 3
    (entry, _) = asmpg.evaluate(out, episodes=10)
    assert entry["steps"] >= played


def test_it_can_be_trained_on(distilled, tmp_path):
    out, _ = distilled
    folder = RunFolder(out)
    more = dataclasses.replace(folder.config, steps=folder.config.steps + 16)
    asmpg.train(more, out, resume=True, verbose=0)
    assert RunFolder(out).finished()


@pytest.mark.parametrize("kind", [LastTwo, SoftLastTwo])
def test_a_model_with_predict_labels_and_plays(kind):
    """On the host its actions count from 5, and it forgets where episodes start."""
    resolved = resolve(RandomWalk, {})
    teacher = PredictTeacher(kind(3, first_action=5), resolved.interface)
    sampler = Sampler(resolved, sequences=3, steps=20)
    histories = sampler.histories(teacher, 1)
    sampler.close()
    labels = teacher.labels(histories).probabilities
    taken = labels.argmax(axis=-1)
    np.testing.assert_allclose(labels.max(), 1 if kind is LastTwo else 0.8 + 0.2 / 3, rtol=1e-6)
    np.testing.assert_array_equal(taken, histories.actions)
    assert (np.asarray(histories.time) == 0).sum() > 3
    seen = np.asarray(histories.observations)[..., 0].astype(int)
    before = np.where(histories.time == 0, 0, np.concatenate([seen[:1], seen[:-1]]))
    np.testing.assert_array_equal(taken, (seen + 2 * before) % 3)


@pytest.mark.long
def test_students_play_on_the_host_what_the_teacher_then_judges():
    lesson = Lesson(LastTwo(3, first_action=5), RandomWalk, **QUICK)
    config = lesson.config(
        num_states=2, window=1, seeds=(3,), options=SMALL | {"hidden": 4}, out=None
    )
    teacher = {"value": 0.0, "standard_error": 0.0, "exact": None, "num_states": None}
    done = lesson.teach(config, None, finetune=0, teacher=teacher, verbose=0)
    lesson.close()
    (entry,) = done.report["students"]
    assert entry["steps"] == 2 * 4 * 16
    assert entry["distilled"]["exact"] is None
    assert done.agent.predict(np.zeros(2))[0] in (5, 6, 7)


def unknown(greedy):
    """An actor of which nobody knows what it looks at, as of AIS."""
    return actor(controller().policy, greedy=greedy)


class Wordless:
    """Has no `predict`."""


class Foreign(LastTwo):
    """Declares spaces as models of Stable-Baselines3 do."""

    def __init__(self, *, actions=4, symbols=7):
        super().__init__(actions)
        self.action_space, self.observation_space = (
            spaces.Discrete(actions),
            spaces.Discrete(symbols),
        )


@pytest.mark.parametrize(
    ("make_teacher", "options", "message"),
    [
        (lambda: controller(num_observations=7), {}, "the 4 actions of CheeseMaze, this one has 3"),
        (lambda: controller(num_actions=4), {}, "must read one of 7 symbols, as CheeseMaze shows"),
        (lambda: Foreign(actions=5), {}, "the 4 actions of CheeseMaze from 0 on, this one has"),
        (
            lambda: BeliefPolicy("Tiger", solver="qmdp"),
            {},
            "the 4 actions of CheeseMaze, this one has 3",
        ),
        (
            lambda: Foreign(symbols=3),
            {},
            "must read the observations of CheeseMaze, one of 7 symbols",
        ),
        (
            lambda: Agent(unknown, Discrete(7)),
            {},
            "must have a distribution of actions for each history",
        ),
        (Wordless, {}, "teacher must be an agent, the folder of a run, a BeliefPolicy, or"),
        (Foreign, {"num_states": 0}, "num_states must be an integer of at least 1, got 0"),
        (Foreign, {"window": -1}, "window must be an integer in"),
        (Foreign, {"rounds": 0}, "rounds must be an integer in"),
        (Foreign, {"finetune": -5}, "finetune must be an integer of at least 0"),
        (
            controller,
            {"environment": None, "environment_options": {"max_steps": 9}},
            "must be given",
        ),
        (Foreign, {"environment": None}, "environment must be given for a teacher that is not"),
        (lambda: "no/such/run", {}, "no/such/run is not the folder of a run"),
    ],
)
@pytest.mark.usefixtures("as_user")
def test_what_cannot_be_is_said_before_anything_is_played(
    make_teacher, options, message, monkeypatch
):
    def refuse(*_, **__):
        raise AssertionError

    monkeypatch.setattr("asmpg.distillation._sampler.Sampler.histories", refuse)
    monkeypatch.setattr("asmpg.distillation._sampler.Sampler.score", refuse)
    with pytest.raises(ValueError, match=message):
        asmpg.distil(make_teacher(), **{"environment": "CheeseMaze", "verbose": 0} | options)


@pytest.mark.usefixtures("as_user")
def test_a_folder_that_is_taken_is_refused(distilled, tmp_path):
    with pytest.raises(ValueError, match="out must be a new or empty folder"):
        asmpg.distil(distilled[1], out=distilled[0], verbose=0)
    with pytest.raises(ValueError, match="out must be a new or empty folder"):
        asmpg.compress(distilled[1], out=distilled[0], verbose=0)


@pytest.mark.usefixtures("as_user")
def test_actions_outside_are_named():
    with pytest.raises(ValueError, match="teacher must predict one of 4 actions from 0 on"):
        asmpg.distil(LastTwo(9), "CheeseMaze", verbose=0, **QUICK)
