"""Compiled environments with action masks and with other actions than one of a few."""

import gymnasium
import jax.numpy as jnp
import numpy as np
import pytest

import asmpg
from asmpg.environments import MultiDiscrete
from asmpg.methods import ASMPG, ASMPPO
from compiled_environments import Aim, Doors

QUICK = {"steps": 600, "seeds": (0,), "evaluation_episodes": 4, "verbose": 0}
SMALL = {"num_environments": 2, "rollout_steps": 16, "epochs": 1, "minibatches": 1}


@pytest.mark.parametrize(
    "method", [ASMPPO(num_states=2, **SMALL), ASMPG(num_states=2, policy="tabular")], ids=str
)
def test_no_wall_is_walked_into(method):
    """Every step pays 1: never -100, in training, evaluations, or outside."""
    agent = method.learn(Doors(), **QUICK)
    assert all(row["undiscounted_return"] == 4 for row in agent.result.rows)
    env = asmpg.to_gymnasium(Doors())
    (observation, info), state, total = env.reset(seed=0), None, 0.0
    for _ in range(4):
        action, state = agent.predict(observation, state, action_masks=info["action_mask"])
        observation, reward, _, _, info = env.step(action)
        total += reward
    assert total == 4
    vector = asmpg.to_gymnasium_vector(Doors(), num_envs=3)
    _, info = vector.reset(seed=0)
    assert info["action_mask"].tolist() == [[True, True, False, False, False]] * 3


def test_a_room_without_doors_is_an_error():
    with pytest.raises(asmpg.TrainingError, match=r"an action mask allowed nothing, by step \d+"):
        ASMPPO(num_states=2, **SMALL).learn(Doors(walled=2), **QUICK)


class TwoHands(Doors):
    """Actions have two parts; from some room on, the second has no value that is allowed."""

    action_space = property(lambda self: MultiDiscrete((5, 2)))

    def action_mask(self, state):
        return jnp.concatenate([super().action_mask(state), jnp.full(2, state < 2)])

    def step(self, key, state, action):
        return super().step(key, state, jnp.asarray(action)[0])


def test_a_part_without_a_value_is_an_error():
    with pytest.raises(asmpg.TrainingError, match=r"an action mask allowed nothing, by step \d+"):
        ASMPPO(num_states=2, critic="memory", **SMALL).learn(TwoHands(), **QUICK)


@pytest.mark.parametrize(("kind", "most"), [("parts", 3.0), ("real", 0.25)])
@pytest.mark.long
def test_other_actions_are_learned(kind, most):
    """Which target it was is remembered: on average no further from it than `most`, per step."""
    agent = ASMPPO(num_states=4, critic="memory").learn(
        Aim(kind=kind), **{**QUICK, "steps": 16_000, "evaluation_episodes": 50}
    )
    assert agent.result.rows[-1]["undiscounted_return"] > -4 * most
    env = asmpg.to_gymnasium(Aim(kind=kind), render_mode="rgb_array")
    observation, _ = env.reset(seed=1)
    action, _ = agent.predict(observation)
    assert env.action_space.contains(action)
    env.step(action)
    assert env.render().ndim == 3
    with pytest.raises(ValueError, match="action must be an element of"):
        env.step(np.full(2, 99))
    assert isinstance(env.action_space, gymnasium.spaces.Box) == (kind == "real")
