"""PPO: what it plays, what it credits, what it learns from; with any memory."""

import dataclasses
import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from asmpg.environments import make
from asmpg.experience import Rollouts, open_stream, play_rollouts
from asmpg.gradients import generalised_advantages
from asmpg.interop import Interface
from asmpg.methods import with_array_numbers
from asmpg.methods.critics import ReturnScale
from asmpg.methods.ppo import ASMPPO, GRUPPO, MemorylessPPO, MinGRUPPO
from asmpg.policies import FilteredPolicy, WindowPolicy
from asmpg.runs import RunConfig
from asmpg.training import build_program, start_seed
from compiled_environments import Aim
from learning import improve, initialise, open_compiled
from quick import long

SMALL = {"num_environments": 4, "rollout_steps": 16, "minibatches": 2, "epochs": 2}
METHODS = {
    "asm-ppo": ASMPPO(num_states=3, critic="history", **SMALL),
    "asm-ppo, memory critic": ASMPPO(num_states=3, critic="memory", **SMALL),
    "asm-ppo, recurrent critic": ASMPPO(num_states=3, critic="gru", **SMALL),
    "asm-ppo, in parallel": ASMPPO(num_states=3, critic="linear", filter="parallel", **SMALL),
    "gru-ppo": GRUPPO(width=5, **SMALL),
    "mingru-ppo": MinGRUPPO(width=5, **SMALL),
    "memoryless-ppo": MemorylessPPO(**SMALL),
}


@pytest.fixture(scope="module")
def played():
    """Two segments in a row of a short TMaze, which both terminates and runs into its limit."""
    environment = make("TMaze", length=2, max_steps=7)
    method = METHODS["asm-ppo"]
    learner = initialise(method, environment, jax.random.key(0))
    actor = method.actor(learner, training=True)

    @jax.jit
    def play(stream, key):
        return play_rollouts(environment, actor, stream, key, steps=100)

    stream = open_compiled(environment, actor, method.collects, jax.random.key(3))
    stream, first = play(stream, jax.random.key(1))
    _, second = play(stream, jax.random.key(2))
    return environment, learner, first, second


def test_rollouts_hang_together(played):
    """Time counts up within an episode; what comes next is the next row, unless it ended."""
    _, _, first, second = played
    assert first.observations.shape == (100, 4)
    rows = jax.tree.map(
        lambda *leaves: np.concatenate(leaves),
        *(dataclasses.replace(part, start=None) for part in (first, second)),
    )
    assert (rows.ended & ~rows.terminated).any()
    assert rows.terminated.any()
    np.testing.assert_array_equal(rows.ended, rows.terminated | (rows.time == 6))
    np.testing.assert_array_equal(rows.time[1:], np.where(rows.ended, 0, rows.time + 1)[:-1])
    goes_on = ~rows.ended[:-1]
    np.testing.assert_array_equal(
        rows.next_observations[:-1][goes_on], rows.observations[1:][goes_on]
    )


def test_last_observation_is_the_true_one():
    """Bits are seen at the start only: were it the next episode's first, it would be a bit."""
    environment = make("RepeatFirst", delay=9, max_steps=3)
    interface = Interface.of(environment)

    @eqx.filter_jit
    def play(key):
        actor = METHODS["memoryless-ppo"].make_policy(interface, key).actor()
        stream = open_stream(environment, actor, Rollouts(2, 7), key)
        return play_rollouts(environment, actor, stream, key, steps=7)[1]

    segment = play(jax.random.key(0))
    np.testing.assert_array_equal(segment.ended[:, 0], [0, 0, 1, 0, 0, 1, 0])
    assert not segment.terminated.any()
    assert (segment.next_observations == 2).all()
    assert (segment.observations[jnp.asarray([0, 3, 6])] < 2).all()


def test_memory_is_carried_from_rollout_to_rollout(played):
    """What the second rollout starts from is what the filter says after the first."""
    _, learner, first, second = played
    policy = learner.policy
    assert isinstance(policy, FilteredPolicy)
    along = eqx.filter_jit(policy.distributions)(
        first.start, first.past, first.observations, first.actions
    )
    ended = np.asarray(first.ended[-1])
    np.testing.assert_array_equal(second.start.action[~ended], first.actions[-1][~ended])
    np.testing.assert_allclose(second.start.belief[~ended], along.after[-1][~ended], atol=1e-5)
    fresh = policy.actor().start(jax.random.key(0)).belief
    np.testing.assert_array_equal(np.asarray(second.start.time == 0), ended)
    np.testing.assert_array_equal(second.start.belief[ended], np.tile(fresh, (ended.sum(), 1)))


def test_part_of_the_environments(played):
    _, _, first, _ = played
    part = first.environments(jnp.asarray([2, 0]))
    np.testing.assert_array_equal(part.rewards, first.rewards[:, [2, 0]])
    np.testing.assert_array_equal(part.past.action, first.past.action[:, [2, 0]])


def test_advantages_with_full_traces_are_returns_less_values():
    """A termination, a cut by the time limit, and an end of the segment, by hand."""
    rewards = jnp.asarray([[1.0], [2.0], [4.0], [8.0], [16.0]])
    values = jnp.asarray([[0.1], [0.2], [0.3], [0.4], [0.5]])
    following = jnp.asarray([[0.2], [99.0], [0.4], [7.0], [5.0]])
    terminated = jnp.asarray([[False], [True], [False], [False], [False]])
    ended = jnp.asarray([[False], [True], [False], [True], [False]])
    found = generalised_advantages(
        rewards, values, following, terminated, ended, discount=0.5, gae_lambda=1.0
    )
    returns = [1 + 0.5 * 2, 2, 4 + 0.5 * (8 + 0.5 * 7), 8 + 0.5 * 7, 16 + 0.5 * 5]
    np.testing.assert_allclose(found[:, 0], np.asarray(returns) - values[:, 0], rtol=1e-6)


def test_advantages_without_traces_are_one_step_errors():
    rewards, values, following = jnp.asarray([[[1.0], [2.0]], [[0.1], [0.2]], [[0.2], [3.0]]])
    never = jnp.zeros((2, 1), bool)
    found = generalised_advantages(
        rewards, values, following, never, never, discount=0.5, gae_lambda=0.0
    )
    np.testing.assert_allclose(found[:, 0], [1 + 0.1 - 0.1, 2 + 1.5 - 0.2], rtol=1e-6)


@functools.cache
def judge(name):
    """A learner, and what gives the values of its critic along steps that another has played."""
    method = METHODS[name]
    learner = initialise(method, make("TMaze", length=2, max_steps=7), jax.random.key(3))

    @eqx.filter_jit
    def values(critic, experience):
        actor = method.actor(learner, training=True)
        start = jax.vmap(actor.start)(jax.random.split(jax.random.key(0), 4))
        rows = dataclasses.replace(experience, start=start, memories=None)
        distributions = learner.policy.distributions(
            start, rows.past, rows.observations, rows.actions
        )
        return critic.values(learner.critic_memory, rows, distributions)

    return learner, values


@pytest.mark.parametrize("name", METHODS)
def test_value_of_what_came_next_is_the_next_value(name, played):
    """The look ahead of a critic agrees with its value one row on, wherever an episode goes on."""
    first = played[2]
    learner, values_along = judge(name)
    values = values_along(learner.critic, first)
    goes_on = ~np.asarray(first.ended[:-1])
    np.testing.assert_allclose(values.following[:-1][goes_on], values.now[1:][goes_on], atol=1e-5)
    cut = np.asarray(first.ended[:-1] & ~first.terminated[:-1])
    assert np.abs(values.following[:-1] - values.now[1:])[cut].max() > 1e-4


@pytest.mark.parametrize("name", METHODS)
def test_new_units_change_no_value(name, played):
    first = played[2]
    learner, values_along = judge(name)
    valid = first.time >= 0
    before = ReturnScale.unknown().updated(first.rewards, valid, memory=0.9)
    after = before.updated(3000 + 50 * first.rewards, valid, memory=0.9)
    values = [
        scale.centre + scale.spread * values_along(critic, first).now
        for critic, scale in (
            (learner.critic, before),
            (learner.critic.rescaled(before, after), after),
        )
    ]
    np.testing.assert_allclose(values[0], values[1], rtol=1e-4, atol=1e-3)
    assert after.centre > 250


@pytest.mark.parametrize(
    "name",
    [
        "asm-ppo",
        "asm-ppo, in parallel",
        "gru-ppo",
        *map(long, ("asm-ppo, memory critic", "asm-ppo, recurrent critic")),
        *map(long, ("mingru-ppo", "memoryless-ppo")),
    ],
)
def test_update_is_one_program_that_changes_what_it_should(name):
    environment = make("TMaze", length=2)
    method = METHODS[name]
    learner = initialise(method, environment, jax.random.key(0))
    after, experience, metrics = improve(method, environment, learner, jax.random.key(1))
    assert int(experience.num_steps) == 64
    assert bool(experience.finite)
    assert set(metrics) == set(method.metric_names)
    assert all(np.isfinite(value) for value in metrics.values())
    moved = jax.tree.map(
        lambda new, old: float(jnp.abs(new - old).max()) if eqx.is_inexact_array(new) else 0.0,
        (after.policy, after.critic),
        (learner.policy, learner.critic),
    )
    assert all(max(jax.tree.leaves(part)) > 0 for part in moved)
    assert int(after.updates) == 1


def test_target_kl_stops_the_policy_and_not_the_critic():
    environment = make("TMaze", length=2)
    method = ASMPPO(num_states=3, window=0, target_kl=0.0, **SMALL)
    learner = initialise(method, environment, jax.random.key(0))
    free = ASMPPO(num_states=3, window=0, **SMALL)
    stopped, *_ = improve(method, environment, learner, jax.random.key(1))
    unbound, *_ = improve(free, environment, learner, jax.random.key(1))

    def distance(one, other):
        return float(jnp.abs(one.policy.kernels.phi_logits - other.policy.kernels.phi_logits).max())

    def learned(one, other):
        return float(jnp.abs(one.critic.layers[0].weight - other.critic.layers[0].weight).max())

    assert 0 < distance(stopped, learner) < 0.75 * distance(unbound, learner)
    assert learned(stopped, learner) > 0.5 * learned(unbound, learner) > 0


def test_average_is_what_acts():
    environment = make("TMaze", length=2)
    method = ASMPPO(num_states=3, window=0, averaging=2.0, **SMALL)
    learner = initialise(method, environment, jax.random.key(0))
    first, *_ = improve(method, environment, learner, jax.random.key(1))
    second, *_ = improve(method, environment, first, jax.random.key(2))

    def control(policy):
        return policy.kernels.phi_logits

    one, two = control(first.policy), control(second.policy)
    np.testing.assert_allclose(control(first.average), one, atol=1e-6)
    np.testing.assert_allclose(control(second.average), (one + 3 * two) / 4, atol=1e-6)


@pytest.mark.parametrize("method", [ASMPPO, GRUPPO])
def test_critics_start_as_asked_for(method):
    """Orthogonal, and keeping less; the policy is what it was."""
    environment = make("TMaze", length=2)
    plain = method(critic="history", critic_orthogonal=False, critic_keep_bias=0.0)
    plain = initialise(plain, environment, jax.random.key(0))
    asked = method(critic="history", critic_orthogonal=True, critic_keep_bias=-2.0)
    other = initialise(asked, environment, jax.random.key(0))
    weight = other.critic.encoder.recurrent_weight[:64]
    np.testing.assert_allclose(weight @ weight.T, np.eye(64), atol=1e-5)
    difference = other.critic.encoder.input_bias - plain.critic.encoder.input_bias
    np.testing.assert_allclose(difference, np.repeat([0.0, -2.0, 0.0], 64), atol=1e-6)
    for one, two in zip(jax.tree.leaves(plain.policy), jax.tree.leaves(other.policy), strict=True):
        np.testing.assert_array_equal(one, two)


def test_the_entropy_bonus_fades(played):
    """At the end of the run an update is that without a bonus."""
    environment, learner, experience, _ = played
    update = eqx.filter_jit(ASMPPO.update)

    def learned(entropy_coefficient, progress):
        method = ASMPPO(
            num_states=3, critic="history", entropy_coefficient=entropy_coefficient, **SMALL
        )
        method = method.settled(Interface.of(environment))
        progress = jnp.asarray(progress)
        after, _ = update(
            with_array_numbers(method), learner, experience, jax.random.key(0), progress=progress
        )
        assert isinstance(after.policy, FilteredPolicy)
        assert isinstance(after.policy.kernels, WindowPolicy)
        return np.asarray(after.policy.kernels.window_logits)

    np.testing.assert_allclose(learned(5.0, 1.0), learned(0.0, 1.0), atol=1e-6)
    assert np.abs(learned(5.0, 0.0) - learned(0.0, 0.0)).max() > 1e-3


@pytest.mark.parametrize(
    ("environment", "options", "rate"),
    [
        (Aim(kind="parts"), {}, ASMPPO.by_observations["learning_rate"][0]),
        (Aim(kind="parts"), {"counts": True}, 2e-3),
        (Aim(kind="real"), {}, 1e-3),
        (Aim(kind="real"), {"learning_rate": 0.1}, 0.1),
    ],
)
def test_networks_of_counts_and_of_real_actions_learn_quicker(environment, options, rate):
    assert ASMPPO(**options).settled(Interface.of(environment)).learning_rate == rate


@pytest.mark.parametrize(
    ("method", "name", "gae_lambda"),
    [
        (ASMPPO(), "TMaze", 0.8),
        (ASMPPO(), "VelocityOnlyCartPole", 0.8),
        (ASMPPO(critic="history"), "TMaze", 0.9),
        (ASMPPO(critic="history"), "VelocityOnlyCartPole", 0.95),
        (ASMPPO(gae_lambda=0.9), "TMaze", 0.9),
        (GRUPPO(critic="latent"), "TMaze", 0.7),
    ],
)
def test_a_critic_that_is_shown_the_latent_state_is_trusted_more(method, name, gae_lambda):
    assert method.settled(Interface.of(make(name))).gae_lambda == gae_lambda


@pytest.mark.parametrize(
    ("method", "name", "floor"),
    [
        (ASMPPO(), "TMaze", 0.0),
        (ASMPPO(), "VelocityOnlyCartPole", 0.1),
        (GRUPPO(), "TMaze", 0.1),
        (ASMPPO(advantage_floor=0.2), "TMaze", 0.2),
    ],
)
def test_tables_keep_their_pace_where_a_task_is_solved(method, name, floor):
    assert method.settled(Interface.of(make(name))).advantage_floor == floor


@pytest.mark.parametrize(("name", "place"), [long("TMaze", 0), ("VelocityOnlyCartPole", 1)])
def test_some_defaults_depend_on_the_kind_of_observations(name, place):
    environment, key = make(name), jax.random.key(0)
    chosen = {option: kinds[place] for option, kinds in MemorylessPPO.by_observations.items()}
    assert {"gae_lambda", "learning_rate"} <= chosen.keys()
    learned = []
    for options in ({}, chosen):
        method = MemorylessPPO(**SMALL, **options)
        learner = initialise(method, environment, key)
        learned.append(improve(method, environment, learner, key)[0])
    for one, two in zip(*map(jax.tree.leaves, learned), strict=True):
        np.testing.assert_allclose(one, two, atol=1e-7)


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"minibatches": 3}, "minibatches must divide num_environments, 8, got 3"),
        ({"minibatches": 9}, r"minibatches must be an integer in \[1, 8\], got 9"),
        ({"gae_lambda": 1.5}, r"gae_lambda must be a number in \[0, 1\], got 1.5"),
        (
            {"critic": "lstm"},
            "critic must be one of auto, history, gru, memory, both, linear, latent, got 'lstm'",
        ),
        ({"act_by": "guessing"}, "act_by must be one of sampling, filtering, got 'guessing'"),
        ({"filter": "fast"}, "filter must be one of auto, sequential, parallel, fused, got 'fast'"),
        ({"num_states": 0}, r"num_states must be an integer in \[1, 10000\], got 0"),
        ({"rollout_steps": 0}, "rollout_steps must be an integer of at least 1, got 0"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        ASMPPO(**options)


@pytest.mark.usefixtures("as_user")
def test_tables_need_finite_observations():
    method = ASMPPO(policy="tabular")
    with pytest.raises(ValueError, match="policy='tabular' needs discrete observations"):
        initialise(method, make("VelocityOnlyCartPole"), jax.random.key(0))


def test_stream_opens_with_fresh_episodes():
    environment = make("CheeseMaze")
    interface = Interface.of(environment)

    @eqx.filter_jit
    def opened(key):
        actor = METHODS["gru-ppo"].make_policy(interface, key).actor()
        return open_stream(environment, actor, Rollouts(64, 1), key)

    stream = opened(jax.random.key(1))
    assert len(set(np.asarray(stream.state).tolist())) > 5
    assert (stream.memory.time == 0).all()


def test_rates_follow_the_share_of_the_run_that_is_done():
    """Half the rate at `decay`, whatever the length of the run: the first step of Adam shows it."""
    environment = make("TMaze", length=2, max_steps=7)
    once = {**SMALL, "epochs": 1, "minibatches": 1}
    options = {"decay": 0.5, "averaging": None, "entropy_coefficient": 0.0, **once}
    method = ASMPPO(num_states=3, window=0, critic="memory", **options)
    learner: Any = initialise(method, environment, jax.random.key(0))

    @eqx.filter_jit
    def step(progress):
        after: Any
        after, *_ = improve(method, environment, learner, jax.random.key(1), progress=progress)
        return after.average.kernels.nu_logits - learner.average.kernels.nu_logits

    first, later = step(jnp.asarray(0.0)), step(jnp.asarray(0.5))
    assert jnp.abs(first).max() > 1e-3
    np.testing.assert_allclose(later, 0.5 * first, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("steps", [10_000, 10_000_000])
def test_halfway_is_halfway_however_long_the_run(steps):
    config = RunConfig("TMaze", method="memoryless-ppo", steps=steps)
    program = build_program(config, config.resolve())
    state = start_seed(program, 1)
    state = eqx.tree_at(lambda state: state.steps, state, jnp.asarray(steps // 2))
    assert program.progress(state) == pytest.approx(0.5)


def test_greedy_play_by_filtering_has_no_tables():
    """Its action depends on the belief, not on an agent state: no exact value describes it."""
    environment = make("TMaze", length=2, max_steps=7)
    for act_by, known in (("sampling", True), ("filtering", False)):
        method = ASMPPO(num_states=2, critic="memory", act_by=act_by, **SMALL)
        learner = initialise(method, environment, jax.random.key(0))
        assert method.tables(learner) is not None
        assert (method.tables(learner, greedy=True) is not None) == known


def loops_in(function, *arguments):
    """The lengths of all loops in the program of `function`."""
    found = []

    def is_program(part):
        return hasattr(part, "eqns") or hasattr(part, "jaxpr")

    def visit(jaxpr):
        for equation in jaxpr.eqns:
            if equation.primitive.name in ("scan", "while"):
                found.append(equation.params.get("length"))
            for part in jax.tree.leaves(equation.params, is_leaf=is_program):
                inner = getattr(part, "jaxpr", part)
                if hasattr(inner, "eqns"):
                    visit(inner)

    visit(eqx.filter_make_jaxpr(function)(*arguments)[0].jaxpr)
    return found


@pytest.mark.parametrize("critic", ["memory", "linear", "both"])
def test_a_parallel_update_has_no_loop_over_time(critic, played):
    """But the one over the passes, unless the critic has one."""
    environment, _, experience, _ = played
    method = ASMPPO(num_states=3, critic=critic, filter="parallel", **SMALL)
    learner = initialise(method, environment, jax.random.key(0))
    method = method.settled(Interface.of(environment))
    loops = loops_in(method.update, learner, experience, jax.random.key(0))
    assert (len(experience.rewards) in loops) == (critic == "both")
    assert SMALL["epochs"] * SMALL["minibatches"] in loops


def test_advantages_in_parallel_are_those_of_the_loop(played):
    _, _, experience, _ = played
    keys = jax.random.split(jax.random.key(0))
    now, following = (jax.random.normal(key, experience.rewards.shape) for key in keys)
    arguments = (experience.rewards, now, following, experience.terminated, experience.ended)
    one, two = (
        generalised_advantages(*arguments, discount=0.9, gae_lambda=0.8, parallel=parallel)
        for parallel in (False, True)
    )
    np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-5)
