"""`agent.machine()`: what it holds, and what making it smaller costs."""

import dataclasses

import equinox as eqx
import jax
import numpy as np
import pytest

import asmpg
from asmpg.agents import Agent
from asmpg.agents.machine import Machine, Setting, Value, _text
from asmpg.analysis.machine_page import View, machine_page
from asmpg.environments import Discrete, make
from asmpg.exact import policy_returns
from asmpg.policies import (
    Encoding,
    JointTabularPolicy,
    KernelTables,
    MatrixPolicy,
    TabularPolicy,
    TimeIndexedPolicy,
    WindowPolicy,
    actor,
)
from compiled_environments import Corner
from controllers import cheese_maze_controller, hallway_controller, machine_repair_controller
from finite import make_finite
from quick import long

NAMES = {"action_names": ("left", "right"), "observation_names": ("red", "green", "blue")}


def distributions(generator, *shape):
    return generator.dirichlet(np.full(shape[-1], 0.5), shape[:-1])


def random_machine(generator, num_states, *, controls=1):
    return Machine(
        distributions(generator, 3, num_states),
        distributions(generator, num_states, 2, 3, num_states),
        distributions(generator, controls, num_states, 2),
        **NAMES,
    )


def with_copies(machine, copies, generator):
    """Every state several times; arriving in one, any of its copies may come."""
    original = np.repeat(np.arange(machine.num_states), copies)
    original = generator.permutation(original)
    share = distributions(generator, machine.num_states, len(original))
    share = share * (original == np.arange(machine.num_states)[:, None])
    share = share / share.sum(axis=1, keepdims=True)
    spread = Machine(
        machine.start @ share,
        machine.update[original] @ share,
        machine.control[:, original],
        **NAMES,
    )
    return spread, original


def action_distributions(machine, observations, actions):
    """`P(A_t = . | O_1, A_1, ..., O_t)` by filtering the agent state."""
    found, belief = [], machine.start[observations[0]]
    for time, symbol in enumerate(observations):
        if time:
            belief = belief @ machine.update[:, actions[time - 1], symbol]
        phi = machine.control[symbol if len(machine.control) > 1 else 0]
        found.append(belief @ phi)
        belief = belief * phi[:, actions[time]]
        belief = belief / belief.sum()
    return np.array(found)


@pytest.mark.parametrize("controls", [1, 3], ids=["by state", "by state and observation"])
@pytest.mark.parametrize("seed", range(5))
def test_planted_copies_are_found_and_nothing_else(seed, controls):
    generator = np.random.default_rng(seed)
    machine = random_machine(generator, 4, controls=controls)
    spread, original = with_copies(machine, [1, 2, 3, 4], generator)
    small = spread.minimise()
    assert small.num_states == 4
    for _ in range(20):
        observations, actions = generator.integers(3, size=30), generator.integers(2, size=30)
        expected = action_distributions(spread, observations, actions)
        given = action_distributions(small, observations, actions)
        np.testing.assert_allclose(given, expected, rtol=0, atol=1e-12)
    assert machine.minimise().num_states == 4
    assert len(original) == 10


def test_copies_that_differ_a_little_are_merged_up_to_a_tolerance():
    generator = np.random.default_rng(0)
    machine, _ = with_copies(random_machine(generator, 3), [2, 2, 2], generator)
    noisy = 0.999 * machine.update + 0.001 * distributions(generator, *machine.update.shape)
    machine = dataclasses.replace(machine, update=noisy)
    assert machine.minimise().num_states == 6
    assert machine.minimise(tolerance=0.01).num_states == 3


def random_policy(environment, kind=TabularPolicy, num_states=3, **options):
    model = make_finite(environment).model
    return kind(
        num_states=num_states,
        num_actions=model.num_actions,
        num_observations=model.num_observations,
        key=jax.random.key(1),
        nu_scale=2.0,
        **options,
    )


def machine_in(environment, policy, **options):
    return Machine.of_policy(policy, Setting(make(environment), 0.99), **options)


@pytest.mark.parametrize("kind", [TabularPolicy, JointTabularPolicy])
@pytest.mark.parametrize("environment", ["CheeseMaze", *map(long, ("MachineRepair", "Tiger"))])
def test_a_machine_is_worth_what_its_policy_is(environment, kind):
    policy = random_policy(environment, kind)
    machine = machine_in(environment, policy)
    expected = policy_returns(make(environment), policy.tabulate(), discount=0.99)
    assert machine.value.discounted == pytest.approx(float(expected.discounted), rel=1e-4)
    assert machine.value.standard_error == 0
    assert machine.visits.steps == pytest.approx(float(expected.episode_length), rel=1e-4)
    assert machine.shares.sum() == pytest.approx(1)


def test_a_joint_kernel_becomes_a_machine_whose_states_hold_the_action():
    machine = machine_in("CheeseMaze", random_policy("CheeseMaze", JointTabularPolicy))
    assert machine.num_states == 3 * 4
    assert machine.control.shape == (1, 12, 4)


@pytest.mark.parametrize(("action", "value"), [(5, 4.0), (4, 0.0)])
def test_a_machine_plays_the_parts_of_an_action(action, value):
    tables = KernelTables.deterministic(
        start=[0], update=[[[0]] * 6], control=[action], num_actions=6
    )
    machine = Machine.of_policy(tables, Setting(Corner(), 0.99))
    assert machine.value.undiscounted == value
    assert machine.action_names[action] == f"2,{action - 4}"


def test_a_machine_plays_the_parts_of_an_action_on_the_host_too():
    """Two machines of one agent: where it was trained, and compiled."""
    few = {"num_environments": 2, "rollout_steps": 8, "epochs": 1, "minibatches": 1}
    agent = asmpg.ASMPPO(num_states=2, **few).learn(
        lambda: asmpg.to_gymnasium(Corner()), steps=512, evaluation_episodes=2, verbose=0
    )
    on_host, compiled = agent.machine(episodes=1000), agent.machine(Corner(), episodes=1000)
    assert on_host.action_names == compiled.action_names == Corner().action_names
    error = on_host.value.standard_error + compiled.value.standard_error
    assert error > 0
    difference = on_host.value.undiscounted - compiled.value.undiscounted
    assert abs(difference) < 4 * error
    assert compiled.value.undiscounted > 4 / 6


def test_an_action_may_depend_on_the_observation():
    """Agent states that remember nothing, and actions by observation: a memoryless policy."""
    maze = make("CheeseMaze")
    generator = np.random.default_rng(0)
    phi = distributions(generator, 7, 1, 4)
    tables = Machine(
        np.ones((7, 1)), np.ones((1, 4, 7, 1)), phi, maze.action_names, tuple("0123456")
    ).tables()
    machine = machine_in("CheeseMaze", tables)
    assert machine.control.shape == (7, 1, 4)
    same = KernelTables.memoryless(phi[:, 0])
    expected = policy_returns(maze, same, discount=0.99)
    assert machine.value.discounted == pytest.approx(float(expected.discounted), rel=1e-5)
    assert " on passage" in str(machine.harden())


def test_exact_visits_are_what_sampling_finds():
    """Tolerance: five standard errors of a Bernoulli mean over 1,000 episodes of about 20 steps."""
    machine = machine_in("Tiger", random_policy("Tiger"))
    setting = dataclasses.replace(machine.setting, episodes=1000)
    from asmpg.agents.machine._setting import case_actor
    from asmpg.agents.machine._visits import sampled_visits

    played = setting.sample(case_actor(machine.tables(), None))
    symbols = np.asarray(played.observations)
    found = sampled_visits(played, symbols, num_states=3, num_actions=3, num_symbols=2)
    exact = machine.visits
    np.testing.assert_allclose(found.start, exact.start, atol=0.08)
    np.testing.assert_allclose(found.inputs / found.steps, exact.inputs / exact.steps, atol=0.01)


def test_the_steps_say_what_each_of_them_cost():
    machine = machine_in("MachineRepair", random_policy("MachineRepair", num_states=4))
    small = machine.harden().minimise()
    assert [step.done for step in small.steps] == ["learned", "hardened", "minimised"]
    assert [step.num_states for step in small.steps][:2] == [4, 4]
    assert small.deterministic
    values = [step.value.discounted for step in small.steps]
    assert values[1] == pytest.approx(values[2], abs=1e-9)
    assert values[0] != pytest.approx(values[1], abs=1e-3)
    assert f"{values[0]:.4f}" in str(small)


@pytest.mark.parametrize(
    ("environment", "tables", "states"),
    [
        ("CheeseMaze", cheese_maze_controller(), 4),
        ("HallwayNavigation", hallway_controller(), 4),
        ("MachineRepair", machine_repair_controller(), 5),
    ],
)
def test_minimising_a_known_controller_keeps_its_value(environment, tables, states):
    machine = machine_in(environment, tables)
    small = machine.minimise()
    assert small.num_states == states
    assert small.value.discounted == pytest.approx(machine.value.discounted, abs=1e-12)


def test_inputs_that_never_occur_do_not_keep_states_apart():
    """Two copies of a state that differ only in what follows an action they never play."""
    tables = cheese_maze_controller()
    machine = machine_in("CheeseMaze", tables)
    spread, original = with_copies_of(machine)
    update = spread.update.copy()
    unplayed = (original[0] + 1) % 4
    update[0, unplayed] = np.roll(update[0, unplayed], 1, axis=-1)
    spread = dataclasses.replace(spread, update=update).valued("spread")
    assert spread.minimise().num_states == 4
    assert dataclasses.replace(spread, setting=None, visits=None).minimise().num_states == 4


def with_copies_of(machine):
    """Two copies of each state; the first is always taken when an episode starts."""
    states = machine.num_states
    original = np.tile(np.arange(states), 2)
    ways = np.hstack([np.eye(states), np.eye(states)]) / 2
    first = np.hstack([np.eye(states), np.zeros((states, states))])
    return (
        dataclasses.replace(
            machine,
            start=machine.start @ first,
            update=machine.update[original] @ ways,
            control=machine.control[:, original],
        ),
        original,
    )


def test_rare_states_can_be_dropped_at_a_cost():
    machine = machine_in("CheeseMaze", cheese_maze_controller())
    rarest = float(machine.shares.min())
    smaller = machine.drop_unused(below=rarest)
    assert smaller.num_states == 3
    assert smaller.value.discounted < machine.value.discounted
    with pytest.raises(ValueError, match="below must leave a state, got 1"):
        machine.drop_unused(below=1.0)


def test_a_hardened_machine_does_what_predict_does():
    policy = random_policy("CheeseMaze", num_states=5)
    machine = Machine.of_policy(policy).harden()
    agent = Agent.of_policy(policy, Discrete(7))
    generator, memory = np.random.default_rng(0), None
    state = action = None
    for _ in range(200):
        seen = int(generator.integers(7))
        row = machine.start[seen] if state is None else machine.update[state, action, seen]
        state = int(row.argmax())
        action = int(machine.control[0, state].argmax())
        played, memory = agent.predict(seen, memory, deterministic=True)
        assert (played, memory[0][0]) == (action, state)


def test_real_observations_are_told_apart_by_typical_cases():
    environment = make("VelocityOnlyCartPole")
    policy = MatrixPolicy(
        num_states=3,
        encoding=Encoding(2, None, (1.0, 1.0)),
        hidden=8,
        key=jax.random.key(0),
    )
    machine = Machine.of_policy(policy, Setting(environment, 0.99, episodes=50), cases=6)
    assert machine.cases.centres.shape == (6, 2)
    assert machine.num_observations == 6
    assert machine.value.standard_error > 0
    numbers = machine.cases.number(machine.cases.centres)
    assert numbers.tolist() == list(range(6))
    assert all(name.startswith("cart ") and ", pole " in name for name in machine.observation_names)
    assert machine.harden().minimise().num_states <= 3
    with pytest.raises(ValueError, match="environment must be given"):
        Machine.of_policy(policy)


@pytest.fixture(scope="module")
def cart_pole():
    return Setting(make("VelocityOnlyCartPole", max_steps=40), 0.99, episodes=60)


def cart_pole_policy(*, noise):
    encoding = Encoding(2, None, (1.0, 1.0))
    hidden = MatrixPolicy(num_states=3, encoding=encoding, hidden=8, key=jax.random.key(0))
    policy = WindowPolicy(hidden, window=6, encoding=encoding, width=8, key=jax.random.key(1))
    weight = policy.window_layers[-1].weight
    weight = noise * jax.random.normal(jax.random.key(2), weight.shape)
    return eqx.tree_at(lambda policy: policy.window_layers[-1].weight, policy, weight)


def test_a_window_over_real_observations_is_averaged_over_visits(cart_pole, tmp_path):
    """Tolerance: four standard errors of a share of some 1,500 steps."""
    policy = cart_pole_policy(noise=2.0)
    machine = Machine.of_policy(policy, cart_pole, cases=6)
    assert machine.control.shape == (6, 3, 2)
    assert [step.done for step in machine.steps] == ["agent", "typical cases"]
    played = cart_pole.sample(actor(policy))
    valid, state = np.asarray(played.valid), np.asarray(played.memories.state)
    seen, done = np.asarray(played.observations), np.asarray(played.actions)
    assert machine.steps[0].value == cart_pole.value(played)
    often = np.bincount(state[valid], minlength=3) / valid.sum()
    np.testing.assert_allclose(machine.shares, often, atol=0.05)
    chosen = [(done[valid & (state == each)] == 0).mean() for each in range(3)]
    shares = _text.action_shares(machine)
    np.testing.assert_allclose(shares[:, 0], chosen, atol=0.13)
    for each in range(3):
        here = seen[valid & (state == each)]
        np.testing.assert_allclose(machine.visits.observed[0, each], here.mean(axis=0), rtol=1e-4)
        np.testing.assert_allclose(machine.visits.observed[1, each], here.std(axis=0), rtol=1e-4)
    overruled = machine.visits.overruled
    assert 0.1 < overruled.max() < 0.5
    assert "otherwise" in str(machine)
    words = machine.describe()
    assert "Typically sees cart " in words
    assert "of the visits the window decides otherwise" in words
    assert max(map(len, str(machine).splitlines())) <= 100
    small = machine.harden().minimise()
    assert small.deterministic
    assert small.value.standard_error > 0
    assert small.visits.overruled is None
    assert "otherwise" not in str(small) + small.describe()
    page = machine_page([View("small", small)], cart_pole.environment, title="poles", episodes=1)
    assert "Typically sees cart" in page
    machine.export(tmp_path / "machine.json")
    assert Machine.load(tmp_path / "machine.json").harden().describe().count("\n") == 2


def test_a_window_that_says_nothing_decides_nothing(cart_pole):
    policy = cart_pole_policy(noise=0.0)
    machine = Machine.of_policy(policy, cart_pole, cases=6)
    expected = np.exp(np.asarray(policy.hidden.control_table()))
    np.testing.assert_allclose(machine.control, np.tile(expected, (6, 1, 1)), atol=1e-6)
    assert (machine.visits.overruled == 0).all()
    without = Machine.of_policy(policy.hidden, cart_pole, cases=6)
    np.testing.assert_allclose(machine.update, without.update, atol=1e-5)


@pytest.mark.parametrize(("error", "words"), [(0.0, "exact"), (1e-17, "± 0"), (0.0123, "± 0.0123")])
def test_rounding_is_not_shown_as_noise(error, words):
    """Episodes of equal returns have a standard error of rounding."""
    assert str(Value(0.7864, 1.0, 0.0196, error)) == f"discounted 0.7864 ({words}), per step 0.0196"


def test_the_table_names_actions_and_observations():
    machine = machine_in("CheeseMaze", cheese_maze_controller())
    text = str(machine)
    assert text.startswith("CheeseMaze: 4 agent states, deterministic; discounted 0.9675 (exact)")
    assert "junction → s1" in text
    assert max(map(len, text.splitlines())) <= 100
    words = machine.describe()
    assert words.count("\n") == 3
    assert "Last saw junction after" in words
    assert "Plays south. Stays while seeing passage." in words
    assert "cell 6 (x=2, y=1)" in words


def test_a_state_is_described_that_many_cases_share():
    """Each of 22 cells of the corridor is as likely as the others, and none is likely."""
    by_sight = KernelTables.memoryless(np.eye(3)[[0, 0, 0, 1]])
    machine = Machine.of_policy(by_sight, Setting(make("TMaze", length=12), 0.99))
    assert "1 of 12 steps along, up is right (5\xa0%)" in machine.describe()
    assert "or one of 19 others" in machine.describe()


def test_a_machine_without_an_environment_can_be_read_too():
    machine = Machine.of_policy(cheese_maze_controller())
    assert machine.value is None
    assert "s0" in str(machine)
    assert machine.describe().count("\n") == 3
    assert machine.harden().minimise().num_states == 4


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"start": np.ones((3, 2)) / 2}, "start must go with update"),
        ({"control": np.ones((2, 4, 2)) / 2}, "control"),
        ({"update": np.ones((4, 2, 3, 4))}, "update must hold distributions"),
        ({"action_names": ("left",)}, "action_names must have 2 entries, got 1"),
        ({"action_names": ("left", "left")}, "action_names must differ from each other"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(changes, message):
    machine = random_machine(np.random.default_rng(0), 4)
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(machine, **changes)


def test_a_policy_with_kernels_for_each_step_is_refused():
    policy = TimeIndexedPolicy(
        lambda key: TabularPolicy(num_states=2, num_actions=2, num_observations=2, key=key),
        horizon=3,
        key=jax.random.key(0),
    )
    with pytest.raises(ValueError, match="policy must be stationary"):
        Machine.of_policy(policy)


@pytest.mark.parametrize(("name", "window"), [("CheeseMaze", 2), long("Tiger", 3)])
def test_a_window_becomes_part_of_the_state(name, window):
    """Tolerance: four standard errors of the sampled return."""
    environment = make(name, max_steps=30)
    hidden = random_policy(name, num_states=2)
    encoding = Encoding(hidden.num_actions, hidden.num_observations)
    policy = WindowPolicy(hidden, window=window, encoding=encoding, width=8, key=jax.random.key(5))
    noise = jax.random.normal(jax.random.key(6), policy.window_layers[-1].weight.shape)
    policy = eqx.tree_at(lambda policy: policy.window_layers[-1].weight, policy, noise)
    agent = Agent.of_policy(policy, environment.observation_space)
    machine = agent.machine(environment, episodes=200)
    played = Setting(environment, 0.99, 500, seed=8)
    sampled = played.value(played.sample(actor(policy)))
    away = abs(machine.value.discounted - sampled.discounted)
    assert away < 4 * sampled.standard_error
    assert machine.control.shape == (1, machine.num_states, hidden.num_actions)
    # Greedy play is followed step by step, by the small machine as well.
    greedy = played.sample(actor(policy, greedy=True))
    for each in (machine.harden(), machine.harden().minimise()):
        seen, done, valid = greedy.observations, greedy.actions, greedy.valid
        state = np.zeros(seen.shape[1], int)
        for time in range(len(seen)):
            moved = each.update[state, done[time - 1], seen[time]] if time else each.start[seen[0]]
            state = moved.argmax(axis=-1)
            played_here = each.control[0, state].argmax(axis=-1)
            assert (played_here == done[time])[valid[time]].all()
    assert each.num_states < machine.num_states
    with pytest.raises(ValueError, match="with a window of more than one"):
        Machine.of_policy(policy)
