"""Each environment replays the trajectories of its specification, step by step."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from asmpg.environments.cheese_maze import CheeseMaze
from asmpg.environments.hallway_navigation import CELLS, HallwayNavigation
from asmpg.environments.healthcare_treatment import HealthcareTreatment, PatientState
from asmpg.environments.machine_repair import MachineRepair, latent_state
from asmpg.environments.velocity_only_cart_pole import CartPoleState, VelocityOnlyCartPole

KEY = jax.random.key(0)


@pytest.fixture(autouse=True)
def _float64():
    with jax.enable_x64(True):
        yield


def discounted(rewards, discount=0.99):
    return sum(discount**t * reward for t, reward in enumerate(rewards))


def numbers(text):
    return np.array([float(number) for number in text.split()])


# A step of a maze is written as: action letter, next state, observation.
CHEESE = [
    (8, 5, "N5.4 N0.0 E1.1 E2.2 S6.4 S10.6"),
    (9, 5, "S9.5 W9.5 N7.4 E7.4 N4.3 W3.1 N3.1 W2.2 S6.4 S10.6"),
    (3, 1, "E4.3 W3.1 W2.2 S6.4 S10.6"),
    (6, 4, "S10.6"),
    (6, 4, "N2.2 S6.4 S10.6"),
]


@pytest.mark.parametrize(("start", "first_observation", "path"), CHEESE)
def test_cheese_maze(start, first_observation, path):
    env = CheeseMaze()
    assert env.tables.start_observation.outcome[start, 0] == first_observation
    state, rewards, ended = jnp.asarray(start), [], []
    for move in path.split():
        observation, state, reward, terminated = env.step(KEY, state, "NSEW".index(move[0]))
        assert f"{move[0]}{state}.{observation}" == move
        rewards.append(float(reward))
        ended.append(bool(terminated))
    assert rewards == [0.0] * (len(rewards) - 1) + [1.0]
    assert ended == [False] * (len(ended) - 1) + [True]
    if start == 8:
        assert discounted(rewards) == pytest.approx(0.9509900499, abs=1e-10)


# A step of the hallway: action letter, next cell, wall bits, reward.
HALLWAY = [
    ("03", "1001", "E13:1010:-0.1 E23:1010:-0.1 E33:1000:-0.1 S32:0101:5", 4.7),
    ("60", "0110", "W50:1010:-0.1 W40:1010:-0.1 W30:0010:-0.1 N31:0101:-0.1 N32:0101:5", 4.6),
    (
        "00",
        "0011",
        "W00:0011:-1 N01:0101:-0.1 E01:0101:-1 N02:0101:-0.1 S01:0101:-0.1 S00:0011:-0.1 "
        "E10:1010:-0.1 E20:1010:-0.1 E30:0010:-0.1 N31:0101:-0.1 E31:0101:-1 N32:0101:5",
        1.2,
    ),
    (
        "63",
        "1100",
        "S62:0101:-0.1 S61:0101:-0.1 N62:0101:-0.1 W62:0101:-1 N63:1100:-0.1 W53:1010:-0.1 "
        "W43:1010:-0.1 W33:1000:-0.1 S32:0101:5",
        3.3,
    ),
]


@pytest.mark.parametrize(("start", "first_bits", "path", "total"), HALLWAY)
def test_hallway_navigation(start, first_bits, path, total):
    env = HallwayNavigation()
    state = jnp.asarray(CELLS.index((int(start[0]), int(start[1]))))
    assert env.tables.start_observation.outcome[state, 0] == int(first_bits, 2)
    rewards = []
    moves = path.split()
    for move in moves:
        where, bits, paid = move[1:].split(":")
        observation, state, reward, terminated = env.step(KEY, state, "NESW".index(move[0]))
        assert CELLS[int(state)] == (int(where[0]), int(where[1]))
        assert int(observation) == int(bits, 2)
        assert float(reward) == pytest.approx(float(paid), abs=1e-12)
        assert bool(terminated) == (move is moves[-1])
        rewards.append(float(reward))
    assert sum(rewards) == pytest.approx(total, abs=1e-12)


def test_hallway_shows_eight_of_sixteen_patterns():
    env = HallwayNavigation()
    assert set(env.model.observation.argmax(axis=-1).ravel()) == {2, 3, 5, 6, 8, 9, 10, 12}


def treat(actions, noises):
    env = HealthcareTreatment()
    _, state = env.reset(KEY)
    history = []
    for action, noise in zip(actions, noises, strict=True):
        state, reward, terminated = env.transition(state, action, noise)
        history.append([*(float(part) for part in state), float(reward)])
        if terminated:
            break
    return np.array(history), bool(terminated)


def test_healthcare_rhythm_recovers_in_sixteen_steps():
    history, terminated = treat([2, 0, 1] * 10, [0.0] * 30)
    expected = numbers(
        """
        1.02000000 1.00000000 0.50000000 -1.98000000
        0.92400000 0.95000000 0.25000000 0.92400000
        0.91880000 1.20250000 0.12500000 -0.08120000
        1.34456000 2.14237500 0.56250000 -1.65544000
        1.23028200 2.03525625 0.28125000 1.23028200
        1.20396790 2.23349344 0.14062500 0.20396790
        1.60385700 3.12181877 0.57031250 -1.39614300
        1.47390790 2.96572783 0.28515625 1.47390790
        1.43223751 3.11744144 0.14257812 0.43223751
        1.81681157 3.96156936 0.57128906 -1.18318843
        1.67342646 3.76349090 0.28564453 1.67342646
        1.61893326 3.87531635 0.14282227 0.61893326
        1.99123484 4.68155053 0.57141113 -1.00876516
        1.83633003 4.44747301 0.28570557 1.83633003
        1.77088580 4.52509936 0.14285278 0.77088580
        2.00000000 5.29884439 0.57142639 49.00000000
        """
    ).reshape(-1, 4)
    assert terminated
    np.testing.assert_allclose(history, expected, atol=1e-8)
    assert history[:, 3].sum() == pytest.approx(50.85923429, abs=1e-8)
    assert discounted(history[:, 3]) == pytest.approx(43.59939767, abs=1e-8)


def test_healthcare_with_injected_noise():
    history, terminated = treat(
        [2, 2, 0, 1, 2, 0, 0, 1], [0.5, -1.0, 0.0, 1.5, -0.5, 0.3, -2.0, 1.0]
    )
    expected = [
        [1.07, 1.174, 1.0628, 1.17816, 1.502702, 1.40539190, 1.08044730, 1.15993744],
        [1, 1.95, 1.8525, 2.059875, 2.95688125, 2.80903719, 2.66858533, 2.83515606],
        [0.5, 0.75, 0.375, 0.1875, 0.59375, 0.296875, 0.1484375, 0.07421875],
        [-1.93, -1.826, 1.0628, 0.17816, -1.497298, 1.40539190, 1.08044730, 0.15993744],
    ]
    assert not terminated
    np.testing.assert_allclose(history.T, expected, atol=1e-8)
    assert history[:, 3].sum() == pytest.approx(-1.36656136, abs=1e-8)
    assert discounted(history[:, 3]) == pytest.approx(-1.45871419, abs=1e-8)


def test_healthcare_untreated_fails_at_step_nineteen():
    history, terminated = treat([0] * 30, [0.0] * 30)
    assert terminated
    assert len(history) == 19
    np.testing.assert_allclose(history[:18, 0], 0.5 - 0.08 * np.arange(1, 19), atol=1e-8)
    assert history[-1, 0] == -1
    assert history[-1, 3] == pytest.approx(-51, abs=1e-12)
    assert history[:, 3].sum() == pytest.approx(-55.68, abs=1e-8)
    assert discounted(history[:, 3]) == pytest.approx(-46.50489910, abs=1e-8)


def test_healthcare_aggressive_fails_at_step_sixteen():
    history, terminated = treat([2] * 30, [0.0] * 30)
    assert terminated
    assert len(history) == 16
    np.testing.assert_allclose(
        history[:7, 0],
        [1.02, 1.224, 1.2628, 1.21216, 1.110302, 0.97666190, 0.82126631],
        atol=1e-8,
    )
    assert history[-1, 3] == pytest.approx(-54, abs=1e-12)
    assert history[:, 3].sum() == pytest.approx(-91.96374979, abs=1e-8)
    assert discounted(history[:, 3]) == pytest.approx(-81.46111353, abs=1e-8)


def test_healthcare_hidden_variables_follow_from_the_actions():
    env = HealthcareTreatment()
    state, toxicity, resistance = PatientState(*map(jnp.asarray, (0.5, 0.0, 0.0))), 0.0, 0.0
    for t, action in enumerate([2, 1, 0, 2, 2, 0, 1, 1]):
        state, _, _ = env.transition(state, action, float(np.sin(t)))
        toxicity = 0.95 * toxicity + (0, 0.3, 1.0)[action]
        resistance = min(1.0, 0.5 * resistance + (0, 0, 0.5)[action])
        assert (float(state.toxicity), float(state.resistance)) == pytest.approx(
            (toxicity, resistance), abs=1e-12
        )


# Condition and wear in tenths before; action; uniform; condition and wear after; reward.
MACHINE = """
H0 C 0.5 H1 1, H1 C 0.5 H2 1, H2 C 0.5 H3 1, H3 C 0.05 D4 1, D4 R 0.9 D4 -1, D4 R 0.3 H0 -1,
H0 C 0.5 H1 1, H1 C 0.5 H2 1, H2 C 0.5 H3 1, H3 C 0.5 H4 1, H4 R 0.99 H0 -1, H0 C 0.01 D1 1,
D1 C 0.54 D3 -1, D3 C 0.7 H5 -1, H5 R 0.2 H1 -1, H1 C 0.5 H2 1
"""
MACHINE_BOUNDS = "D10 C 0.999999 D10 -1, D9 C 0.0 D10 -1, H3 R 0.5 H0 -1"


@pytest.mark.parametrize("table", [MACHINE, MACHINE_BOUNDS])
def test_machine_repair(table):
    env = MachineRepair()
    rewards = []
    for row in table.split(","):
        before, action, uniform, after, reward = row.split()
        state = latent_state("HD".index(before[0]), int(before[1:]))
        state, paid, terminated = env.transition(state, "CR".index(action), float(uniform))
        assert int(state) == latent_state("HD".index(after[0]), int(after[1:])), row
        assert float(paid) == float(reward)
        assert not terminated
        rewards.append(float(paid))
    if table is MACHINE:
        assert sum(rewards) == 4
        assert discounted(rewards) == pytest.approx(3.9569832057, abs=1e-10)


def test_machine_repair_probabilities():
    env = MachineRepair()
    probability = env.model.probability.reshape(2, 11, 2, 2)
    expected = {
        (0, 0): [0.02, 0.026, 0.044, 0.074, 0.116, 0.17, 0.236, 0.314, 0.404, 0.506, 0.62],
        (1, 0): [0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0],
        (1, 1): [0.9, 0.83, 0.76, 0.69, 0.62, 0.55, 0.48, 0.41, 0.34, 0.27, 0.2],
    }
    for (condition, action), row in expected.items():
        np.testing.assert_allclose(probability[condition, :, action, 0], row, atol=1e-12)


def balance(start, actions):
    env = VelocityOnlyCartPole()
    state = CartPoleState(*(jnp.asarray(part, float) for part in start))
    states = []
    for action in actions:
        observation, state, reward, terminated = env.step(KEY, state, action)
        assert float(reward) == 1.0
        np.testing.assert_array_equal(observation, [state.velocity, state.angular_velocity])
        states.append([float(part) for part in state])
        if terminated:
            break
    return np.array(states), bool(terminated)


def test_cart_pole_golden_states():
    states, terminated = balance((0.01, -0.02, 0.03, 0.04), [1, 1, 0, 1, 0, 0, 1, 0])
    expected = numbers(
        """
        0.0096000000 0.1746791957 0.0308000000 -0.2430687180
        0.0130935839 0.3693479761 0.0259386256 -0.5258796281
        0.0204805434 0.1738708126 0.0154210331 -0.2251374161
        0.0239579597 0.3687690102 0.0109182848 -0.5129163478
        0.0313333399 0.1734949928 0.0006599578 -0.2168128684
        0.0348032397 -0.0216363867 -0.0036762996 0.0760781647
        0.0343705120 0.1735380737 -0.0021547363 -0.2177623773
        0.0378412735 -0.0215530089 -0.0065099838 0.0742400754
        """
    ).reshape(-1, 4)
    assert not terminated
    np.testing.assert_allclose(states, expected, atol=1e-9)


@pytest.mark.parametrize(
    ("start", "action", "steps", "angle"),
    [(0.0, 1, 9, -0.21518605), (0.0, 0, 9, 0.21518605), (0.05, 0, 8, None), (0.05, 1, 11, None)],
)
def test_cart_pole_falls_under_a_constant_push(start, action, steps, angle):
    states, terminated = balance((start,) * 4, [action] * 50)
    assert terminated
    assert len(states) == steps
    if angle is not None:
        assert states[-1, 2] == pytest.approx(angle, abs=1e-8)


def test_cart_pole_stays_up_under_the_memoryless_rule():
    env = VelocityOnlyCartPole()

    @jax.jit
    def balance(state):
        def step(carry, _):
            state, alive = carry
            action = (state.angular_velocity + 0.1 * state.velocity > 0).astype(int)
            state, terminated = env.transition(state, action)
            return (state, alive & ~terminated), None

        return jax.lax.scan(step, (state, jnp.asarray(True)), None, length=200)[0]

    state, alive = balance(CartPoleState(*(jnp.zeros(()),) * 4))
    assert alive
    np.testing.assert_allclose(
        np.array(state), [-0.850858, -0.741233, -0.004824, 0.304777], atol=1e-3
    )
