"""POPGym's three cart-poles: positions, positions with noise, or velocities are seen.

Source: POPGym 1.0.7 (Morad et al., 2023, https://github.com/proroklab/popgym), step by step, with
the dynamics of Gymnasium's CartPole.

| task                      | Easy      | Medium    | Hard      |
| ------------------------- | --------- | --------- | --------- |
| PositionOnlyCartPole      | 200 steps | 400 steps | 600 steps |
| VelocityOnlyCartpole      | 200 steps | 400 steps | 600 steps |
| NoisyPositionOnlyCartPole | noise 0.1 | noise 0.2 | noise 0.3 |

Each step pays `1 / max_steps`, the last one included, so the return is 1 at most. Only the fall of
the pole or the loss of the cart terminates an episode; the time limit truncates it.
"""

import abc
import math
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from asmpg._support.checks import check_integer, check_number
from asmpg.environments._environment import Action
from asmpg.environments._spaces import Box, Discrete
from asmpg.environments.popgym._task import Difficulty, POPGymTask, check_difficulty
from asmpg.environments.velocity_only_cart_pole import CartPoleState, VelocityOnlyCartPole

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from asmpg.environments._episode import Episode


class CartPoleTask(POPGymTask[CartPoleState]):
    """A pole to balance, of which two numbers are seen; chance comes in as two normal numbers."""

    cart_pole: eqx.AbstractVar[VelocityOnlyCartPole]

    @property
    def action_space(self) -> Discrete:
        return Discrete(2)

    @property
    def reward_bound(self) -> float:
        return 1 / self.max_steps

    @property
    def observation_names(self) -> tuple[str, ...]:
        """Of the cart and of the pole."""
        return ("cart", "pole")

    @property
    def action_names(self) -> tuple[str, ...]:
        return self.cart_pole.action_names

    def reset(self, key: Key[Array, ""]) -> tuple[Float[Array, "2"], CartPoleState]:
        start_key, noise_key = jax.random.split(key)
        _, state = self.cart_pole.reset(start_key)
        return self.begin(state, jax.random.normal(noise_key, (2,)))

    def step(
        self, key: Key[Array, ""], state: CartPoleState, action: Action
    ) -> tuple[Float[Array, "2"], CartPoleState, Float[Array, ""], Bool[Array, ""]]:
        self.check_action(action)
        return self.transition(state, action, jax.random.normal(key, (2,)))

    def begin(
        self, state: CartPoleState, normal: Float[Array, "2"]
    ) -> tuple[Float[Array, "2"], CartPoleState]:
        """The start of an episode in `state`."""
        return self.observe(state, normal), state

    def transition(
        self, state: CartPoleState, action: Action, normal: Float[Array, "2"]
    ) -> tuple[Float[Array, "2"], CartPoleState, Float[Array, ""], Bool[Array, ""]]:
        """The step whose noise, if there is any, comes from two standard `normal` numbers."""
        state, terminated = self.cart_pole.transition(state, action)
        reward = jnp.full_like(state.position, self.reward_bound)
        return self.observe(state, normal), state, reward, terminated

    @abc.abstractmethod
    def observe(self, state: CartPoleState, normal: Float[Array, "2"]) -> Float[Array, "2"]:
        """What is seen of `state`."""

    def describe_state(self, state: CartPoleState) -> str:
        return f"cart {float(state.position):+.2f}, pole {math.degrees(float(state.angle)):+.1f}°"

    def draw(self, axes: "Axes", episode: "Episode") -> None:
        from asmpg.environments.drawing import draw_cart_pole

        draw_cart_pole(axes, self.cart_pole, episode)


class PositionOnlyCartPole(CartPoleTask):
    """Balance a pole seeing the position of the cart and the angle of the pole."""

    max_steps: int = eqx.field(static=True)
    difficulty: Difficulty = eqx.field(static=True)
    cart_pole: VelocityOnlyCartPole

    def __init__(self, difficulty: Difficulty, *, max_steps: int | None = None):
        self.difficulty = check_difficulty(difficulty)
        self.max_steps = _time_limit(difficulty, max_steps)
        self.cart_pole = VelocityOnlyCartPole()

    @property
    def observation_space(self) -> Box:
        return _positions(self.cart_pole)

    def observe(self, state: CartPoleState, normal: Float[Array, "2"]) -> Float[Array, "2"]:
        del normal
        return jnp.stack([state.position, state.angle])


class VelocityOnlyCartpole(CartPoleTask):
    """Balance a pole seeing the velocities of cart and pole, and the positions they start from.

    As in POPGym, the first observation is that of the positions. (The paper's VelocityOnlyCartPole
    shows velocities there too, and pays 1 a step.)
    """

    max_steps: int = eqx.field(static=True)
    difficulty: Difficulty = eqx.field(static=True)
    cart_pole: VelocityOnlyCartPole

    def __init__(self, difficulty: Difficulty, *, max_steps: int | None = None):
        self.difficulty = check_difficulty(difficulty)
        self.max_steps = _time_limit(difficulty, max_steps)
        self.cart_pole = VelocityOnlyCartPole()

    @property
    def observation_space(self) -> Box:
        return self.cart_pole.observation_space

    def begin(
        self, state: CartPoleState, normal: Float[Array, "2"]
    ) -> tuple[Float[Array, "2"], CartPoleState]:
        del normal
        return jnp.stack([state.position, state.angle]), state

    def observe(self, state: CartPoleState, normal: Float[Array, "2"]) -> Float[Array, "2"]:
        del normal
        return jnp.stack([state.velocity, state.angular_velocity])


class NoisyPositionOnlyCartPole(CartPoleTask):
    """Balance a pole seeing the position of the cart and the angle of the pole, with noise.

    Gaussian noise of standard deviation `noise` is added to both, then they are clipped at twice
    the limits that end an episode.
    """

    max_steps: int = eqx.field(static=True)
    difficulty: Difficulty = eqx.field(static=True)
    noise: float
    cart_pole: VelocityOnlyCartPole

    def __init__(self, difficulty: Difficulty, *, noise: float | None = None, max_steps: int = 200):
        """`noise` is in metres for the position and in radians for the angle."""
        self.difficulty = check_difficulty(difficulty)
        given = {"Easy": 0.1, "Medium": 0.2, "Hard": 0.3}[difficulty] if noise is None else noise
        self.noise = check_number("noise", given, low=0, high=100)
        self.max_steps = check_integer("max_steps", max_steps, low=1)
        self.cart_pole = VelocityOnlyCartPole()

    @property
    def observation_space(self) -> Box:
        return _positions(self.cart_pole)

    def observe(self, state: CartPoleState, normal: Float[Array, "2"]) -> Float[Array, "2"]:
        space = self.observation_space
        seen = jnp.stack([state.position, state.angle]) + self.noise * normal
        return jnp.clip(seen, jnp.asarray(space.low), jnp.asarray(space.high))


def _time_limit(difficulty: Difficulty, max_steps: int | None) -> int:
    default = {"Easy": 200, "Medium": 400, "Hard": 600}[difficulty]
    return check_integer("max_steps", default if max_steps is None else max_steps, low=1)


def _positions(cart_pole: VelocityOnlyCartPole) -> Box:
    high = (2 * cart_pole.position_limit, 2 * cart_pole.angle_limit)
    return Box((-high[0], -high[1]), high)
