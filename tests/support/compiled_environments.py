"""Small compiled environments: one with action masks, two with other actions than a few."""

import equinox as eqx
import jax
import jax.numpy as jnp

from asmpg.environments import Box, Discrete, Environment, MultiDiscrete


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


class Corner(Environment):
    """Pays 1 for the action (2, 1), at each of four steps."""

    max_steps: int = eqx.field(static=True, default=4)

    def reset(self, key):
        return jnp.zeros((), jnp.int32), jnp.zeros((), jnp.int32)

    def step(self, key, state, action):
        paid = jnp.all(jnp.asarray(action) == jnp.asarray([2, 1]))
        return state, state, paid.astype(float), jnp.asarray(False)

    observation_space = property(lambda self: Discrete(1))
    action_space = property(lambda self: MultiDiscrete((3, 2)))
    reward_bound = property(lambda self: 1.0)
