"""Training that starts from an agent: what is taken over, what is not, what is refused."""

import equinox as eqx
import jax
import numpy as np
import pytest

import asmpg
from asmpg.runs import RunFolder
from asmpg.training import build_program, starting_from
from quick import long
from runs import assert_same_runs, timeless

MAZE = asmpg.make("CheeseMaze", max_steps=20)
PLAIN = asmpg.ASMPG(policy="tabular", num_states=2)
PPO = asmpg.ASMPPO(
    num_states=4, critic="memory", num_environments=2, rollout_steps=32, epochs=1, minibatches=1
)
RUN = {"steps": 500, "evaluate_every": 500, "evaluation_episodes": 10, "verbose": 0}


class Once(asmpg.Callback):
    """Stops after the first evaluation."""

    def on_evaluation(self, seed, row):
        return False


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "ppo"
    return PPO.learn(MAZE, out=out, **RUN)


def program(environment=MAZE, method=PPO):
    config = asmpg.RunConfig(environment, method=method, seeds=(3,), evaluation_episodes=10)
    return build_program(config, config.resolve())


def same(one, other):
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs if eqx.is_array(a))


def test_policy_critic_and_optimisers_are_taken_over_and_episodes_begin_anew(run):
    state = starting_from(run, program(), (3,))[3]
    assert same(state.learner.trained, run.learner.trained)
    assert same(state.learner.average, run.learner.average)
    assert int(state.learner.updates) == int(run.learner.updates) > 0
    assert not np.asarray(state.learner.critic_memory).any()
    assert int(state.steps) == int(state.updates) == 0


def test_more_environments_may_be_played_in(run):
    method = eqx.tree_at(lambda method: method.table_learning_rate, PPO, 0.01)
    wider = asmpg.ASMPPO(
        num_states=4, critic="memory", num_environments=4, rollout_steps=16, epochs=1, minibatches=1
    )
    for each in (method, wider):
        state = starting_from(run, program(method=each), (3,))[3]
        assert same(state.learner.trained, run.learner.trained)


def test_of_a_file_the_policy_alone(run, tmp_path):
    run.save(tmp_path / "agent.npz")
    agent = asmpg.load(tmp_path / "agent.npz")
    assert agent.learner is None
    state = starting_from(agent, program(), (3,))[3]
    assert same(state.learner.trained.policy, run.learned)
    assert same(state.learner.average, run.learned)
    assert not same(state.learner.trained.critic, run.learner.trained.critic)
    assert int(state.learner.updates) == 0


def test_trained_and_loaded_agents_go_on_alike_and_from_where_they_were(run):
    ends = []
    for agent in (run, asmpg.load(run.result.folder)):
        further = asmpg.learn(MAZE, start=agent, seeds=(3, 4), **RUN)
        first = [row for row in further.result.rows if row["steps"] == 0]
        best = max(row["exact_discounted"] for row in run.result.rows)
        assert [row["exact_discounted"] for row in first] == [best, best]
        assert isinstance(further.config.method, asmpg.ASMPPO)
        ends.append(timeless(further.result.rows))
    assert ends[0] == ends[1]


@pytest.mark.parametrize("abreast", [False, long(True)])
def test_a_run_that_dies_before_its_first_checkpoint_starts_from_the_agent_again(
    tmp_path, monkeypatch, abreast
):
    class Death(BaseException):
        pass

    class Dies(asmpg.Callback):
        def on_compiled(self, seconds):
            raise Death

    monkeypatch.setattr("asmpg.training._loop._in_one_program", lambda: abreast)
    agent = PLAIN.learn(MAZE, **RUN)
    again = {"seeds": (3, 4), **RUN}
    PLAIN.learn(MAZE, start=agent, out=tmp_path / "unbroken", **again)
    with pytest.raises(Death):
        PLAIN.learn(MAZE, start=agent, out=tmp_path / "run", callbacks=[Dies()], **again)
    PLAIN.learn(MAZE, out=tmp_path / "run", resume=True, **again)
    assert_same_runs(tmp_path / "run", tmp_path / "unbroken")
    rows = RunFolder(tmp_path / "run").rows()
    assert rows[0]["exact_discounted"] == rows[2]["exact_discounted"]


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize(
    ("method", "environment", "message"),
    [
        (PPO, "Tiger", "start must be an agent for the observations of Tiger, .*CheeseMaze"),
        (
            asmpg.ASMPPO(num_states=5, critic="memory"),
            MAZE,
            r"start must fit method: .*policy.* has shape .* in the agent and .* in the method; "
            "leave the method out",
        ),
        (asmpg.ASMPG(), MAZE, "start must fit method: .* of another kind"),
    ],
)
def test_what_does_not_fit(run, method, environment, message):
    with pytest.raises(ValueError, match=message):
        asmpg.learn(method, environment, start=run, **RUN)


def test_a_critic_of_another_kind_starts_anew(run):
    """As on the host, where there is no latent state, after a compiled environment."""
    method = asmpg.ASMPPO(
        num_states=4, critic="latent", num_environments=2, rollout_steps=32, epochs=1, minibatches=1
    )
    further = method.learn(MAZE, start=run, **RUN)
    first, *_ = further.result.rows
    assert first["exact_discounted"] == max(row["exact_discounted"] for row in run.result.rows)


@pytest.mark.usefixtures("as_user")
def test_an_agent_of_the_paper_s_method_does_not_fit_ppo():
    plain = PLAIN.learn(MAZE, callbacks=[Once()], **RUN)
    with pytest.raises(ValueError, match=r"start must fit method: .* of another kind"):
        asmpg.learn(PPO, MAZE, start=plain, **RUN)


@pytest.mark.usefixtures("as_user")
def test_only_agents_that_were_trained(run):
    untrained = asmpg.Agent.of_policy(run.policy, run.observation_space)
    for start in ("runs/cheese", untrained):
        with pytest.raises(ValueError, match="start must be an agent that was trained"):
            asmpg.learn(MAZE, start=start, **RUN)


@pytest.mark.usefixtures("as_user")
def test_the_method_may_be_left_out():
    class Seen(BaseException):
        pass

    class Look(asmpg.Callback):
        def on_start(self, config, score, latest):
            raise Seen(config.method_name)

    with pytest.raises(Seen, match="asm-ppo"):
        asmpg.learn("CheeseMaze", callbacks=[Look()], **RUN)
    with pytest.raises(ValueError, match="environment must be"):
        asmpg.learn(PPO, **RUN)
