"""Sampled episodes agree with the exact values: the simulator and the solver check each other.

5,000 episodes each, seed 0; the mean must lie within 4 standard errors of the exact value.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from asmpg.exact import exact_returns
from asmpg.experience import play_episodes
from asmpg.policies import JointTabularPolicy, KernelTables, TableActor
from controllers import cheese_maze_controller, hallway_controller, machine_repair_controller
from finite import make_finite
from quick import long

pytestmark = pytest.mark.long_running

EPISODES, HORIZON, DISCOUNT = 5_000, 200, 0.99
CONTROLLERS = {
    "CheeseMaze": cheese_maze_controller,
    "HallwayNavigation": hallway_controller,
    "MachineRepair": machine_repair_controller,
}
play = eqx.filter_jit(play_episodes)


def policy_tables(name, kind):
    model = make_finite(name).model
    if kind == "controller":
        return CONTROLLERS[name]()
    if kind == "memoryless":
        ones = np.ones(model.num_actions)
        rows = np.random.default_rng(0).dirichlet(ones, model.num_observations)
        return KernelTables.memoryless(rows)
    return JointTabularPolicy(
        num_states=3,
        num_actions=model.num_actions,
        num_observations=model.num_observations,
        key=jax.random.key(1),
    ).tabulate()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("CheeseMaze", "joint"),
        ("HallwayNavigation", "memoryless"),
        ("MachineRepair", "controller"),
        *(long(name, "memoryless") for name in ("CheeseMaze", "MachineRepair")),
        *(long(name, "controller") for name in ("CheeseMaze", "HallwayNavigation")),
    ],
)
def test_sampled_returns_agree_with_the_exact_ones(name, kind):
    env, tables = make_finite(name), policy_tables(name, kind)
    exact = exact_returns(env.model, tables, horizon=HORIZON, discount=DISCOUNT)
    actor = TableActor(
        nu_table=jnp.exp(tables.log_nu),
        phi_table=tables.log_phi,
        actions=tables.head,
        num_observations=tables.num_observations,
        greedy=False,
    )
    episodes = play(env, actor, jax.random.key(0), num_episodes=EPISODES)
    for sampled, value in (
        (episodes.returns(DISCOUNT), exact.discounted),
        (episodes.returns(1.0), exact.undiscounted),
        (episodes.lengths, exact.episode_length),
    ):
        sampled = np.asarray(sampled, float)
        error = 4 * sampled.std() / np.sqrt(EPISODES) + 1e-4 * max(1.0, abs(float(value)))
        assert sampled.mean() == pytest.approx(float(value), abs=error)
