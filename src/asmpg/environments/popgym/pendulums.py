"""POPGym's pendulums: swing up and balance, seeing the angle, with or without noise.

Source: POPGym 1.0.7 (Morad et al., 2023, https://github.com/proroklab/popgym), step by step, with
the dynamics of Gymnasium's Pendulum.

| task                      | Easy      | Medium    | Hard      |
| ------------------------- | --------- | --------- | --------- |
| PositionOnlyPendulum      | 200 steps | 150 steps | 100 steps |
| NoisyPositionOnlyPendulum | noise 0.1 | noise 0.2 | noise 0.3 |

With the angle `th` (0 is upright), the angular velocity `om` and the torque `u`, in steps of 0.05:

```
om' = clip(om + (3 g / (2 l) sin th + 3 / (m l^2) u) 0.05, -8, 8)
th' = th + 0.05 om'
```

A step costs `th^2 + 0.1 om^2 + 0.001 u^2`, with `th` in `[-pi, pi)`, 16.27 at most. Rewards are
these costs, mapped to `[-1, 1] / max_steps`: the return is between -1 and 1. Nothing terminates.
"""

import abc
import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from asmpg._support.checks import check_integer, check_number
from asmpg.environments._environment import Action
from asmpg.environments._spaces import Box
from asmpg.environments.popgym._task import Difficulty, POPGymTask, check_difficulty

GRAVITY, MASS, LENGTH, TIME_STEP = 10.0, 1.0, 1.0, 0.05
MAX_SPEED, MAX_TORQUE = 8.0, 2.0
#: That of hanging down, at the highest speed and torque, as POPGym writes it.
MAX_COST = 16.2736044


class PendulumState(NamedTuple):
    """The angle is seen, as its cosine and sine; the angular velocity is not."""

    angle: Float[Array, ""]
    angular_velocity: Float[Array, ""]


class PendulumTask(POPGymTask[PendulumState]):
    """A pendulum; chance comes in as two normal numbers."""

    @property
    def observation_space(self) -> Box:
        return Box((-1.0, -1.0), (1.0, 1.0))

    @property
    def action_space(self) -> Box:
        return Box((-MAX_TORQUE,), (MAX_TORQUE,))

    @property
    def observation_names(self) -> tuple[str, ...]:
        """Of the angle."""
        return ("cosine", "sine")

    @property
    def reward_bound(self) -> float:
        # Costs may exceed POPGym's maximum in its last digits.
        return 1.000001 / self.max_steps

    def reset(self, key: Key[Array, ""]) -> tuple[Float[Array, "2"], PendulumState]:
        start_key, noise_key = jax.random.split(key)
        angle, velocity = jax.random.uniform(start_key, (2,), minval=-1.0)
        state = PendulumState(math.pi * angle, velocity)
        return self.observe(state, jax.random.normal(noise_key, (2,))), state

    def step(
        self, key: Key[Array, ""], state: PendulumState, action: Action
    ) -> tuple[Float[Array, "2"], PendulumState, Float[Array, ""], Bool[Array, ""]]:
        self.check_action(action)
        return self.transition(state, action, jax.random.normal(key, (2,)))

    def transition(
        self, state: PendulumState, action: Action, normal: Float[Array, "2"]
    ) -> tuple[Float[Array, "2"], PendulumState, Float[Array, ""], Bool[Array, ""]]:
        """The step whose noise, if there is any, comes from two standard `normal` numbers."""
        angle, velocity = state
        torque = jnp.clip(jnp.asarray(action)[0], -MAX_TORQUE, MAX_TORQUE).astype(angle.dtype)
        upright = (angle + math.pi) % (2 * math.pi) - math.pi
        cost = upright**2 + 0.1 * velocity**2 + 0.001 * torque**2
        fall = 3 * GRAVITY / (2 * LENGTH) * jnp.sin(angle)
        velocity += (fall + 3 / (MASS * LENGTH**2) * torque) * TIME_STEP
        velocity = jnp.clip(velocity, -MAX_SPEED, MAX_SPEED)
        after = PendulumState(angle + velocity * TIME_STEP, velocity)
        reward = (1 - 2 * cost / MAX_COST) / self.max_steps
        return self.observe(after, normal), after, reward, jnp.zeros((), bool)

    @abc.abstractmethod
    def observe(self, state: PendulumState, normal: Float[Array, "2"]) -> Float[Array, "2"]:
        """What is seen of `state`."""

    def describe_state(self, state: PendulumState) -> str:
        angle = (math.degrees(float(state.angle)) + 180) % 360 - 180
        turning = math.degrees(float(state.angular_velocity))
        return f"{angle:+.0f}° from upright, turning {turning:+.0f}°/s"


class PositionOnlyPendulum(PendulumTask):
    """Swing a pendulum up and balance it, seeing its angle."""

    max_steps: int = eqx.field(static=True)
    difficulty: Difficulty = eqx.field(static=True)

    def __init__(self, difficulty: Difficulty, *, max_steps: int | None = None):
        self.difficulty = check_difficulty(difficulty)
        default = {"Easy": 200, "Medium": 150, "Hard": 100}[difficulty]
        steps = default if max_steps is None else max_steps
        self.max_steps = check_integer("max_steps", steps, low=1)

    def observe(self, state: PendulumState, normal: Float[Array, "2"]) -> Float[Array, "2"]:
        del normal
        return jnp.stack([jnp.cos(state.angle), jnp.sin(state.angle)])


class NoisyPositionOnlyPendulum(PendulumTask):
    """Swing a pendulum up and balance it, seeing its angle with noise.

    Gaussian noise of standard deviation `noise` is added to its cosine and its sine, then both are
    clipped at -1 and 1.
    """

    max_steps: int = eqx.field(static=True)
    difficulty: Difficulty = eqx.field(static=True)
    noise: float

    def __init__(self, difficulty: Difficulty, *, noise: float | None = None, max_steps: int = 200):
        self.difficulty = check_difficulty(difficulty)
        given = {"Easy": 0.1, "Medium": 0.2, "Hard": 0.3}[difficulty] if noise is None else noise
        self.noise = check_number("noise", given, low=0, high=100)
        self.max_steps = check_integer("max_steps", max_steps, low=1)

    def observe(self, state: PendulumState, normal: Float[Array, "2"]) -> Float[Array, "2"]:
        seen = jnp.stack([jnp.cos(state.angle), jnp.sin(state.angle)]) + self.noise * normal
        return jnp.clip(seen, -1.0, 1.0)
