"""Compiled environments with action masks and with other actions than one of a few."""

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import asmpg
from asmpg.environments import Box, Discrete, Environment, MultiDiscrete
from asmpg.methods import ASMPG, ASMPPO

QUICK = {"steps": 600, "seeds": (0,), "evaluation_episodes": 4, "verbose": 0}
SMALL = {"num_environments": 2, "rollout_steps": 16, "epochs": 1, "minibatches": 1}


class Doors(Environment):
    """Of five doors the one with the number of the room, and the next, can be opened."""

    max_steps: int = eqx.field(static=True, default=6)
    #: From this room on there is no door.
    walled: int = eqx.field(static=True, default=9)

    def reset(self, key):
        return jnp.zeros((), jnp.int32), jnp.zeros((), jnp.int32)

    def action_mask(self, state):
        doors = jnp.arange(5)
        return ((doors == state) | (doors == state + 1)) & (state < self.walled)

    def step(self, key, state, action):
        allowed = self.action_mask(state)[action]
        after = (state + 1) % 4
        return after, after, jnp.where(allowed, 1.0, -100.0), after == 0

    observation_space = property(lambda self: Discrete(4))
    action_space = property(lambda self: Discrete(5))
    reward_bound = property(lambda self: 100.0)


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


class Aim(Environment):
    """The reward is how near an action is to a target that the first observation shows."""

    kind: str = eqx.field(static=True)
    max_steps: int = eqx.field(static=True, default=4)

    def reset(self, key):
        target = jax.random.randint(key, (), 0, 2)
        return target, target

    def step(self, key, state, action):
        away = jnp.abs(jnp.asarray(action) - (8 if self.kind == "parts" else 0.5) * state)
        return jnp.asarray(2), state, -away.mean(), jnp.asarray(False)

    observation_space = property(lambda self: Discrete(3))
    reward_bound = property(lambda self: 10.0)

    @property
    def action_space(self):
        return MultiDiscrete((9, 9)) if self.kind == "parts" else Box((-1.0,), (1.0,))


@pytest.mark.parametrize(("kind", "most"), [("parts", 3.0), ("real", 0.25)])
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
