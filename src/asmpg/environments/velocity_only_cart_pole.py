"""VelocityOnlyCartPole: balance a pole seeing velocities, not positions.

Source: the classic CartPole of Barto, Sutton and Anderson (1983) with Gymnasium's constants; hiding
the positions follows POPGym (Morad et al., 2023). Unit rewards, 200 steps and velocities at reset
too are the paper's description (POPGym itself scales the rewards and shows positions at reset).

Latent state: cart position `p` and velocity `v`, pole angle `th` and angular velocity `om`; the
agent sees `(v, om)`. With force `F = -10` (left) or `+10` (right), explicit Euler of step `tau`:

```
tmp   = (F + m l om^2 sin th) / M
th_dd = (g sin th - cos th tmp) / (l (4/3 - m cos^2 th / M))
p_dd  = tmp - m l th_dd cos th / M
```

Each step pays 1, the last one included. The episode ends when `|p| > 2.4` or `|th|` exceeds 12
degrees.
"""

import math
from typing import TYPE_CHECKING, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from asmpg._support.checks import check_integer, check_number
from asmpg.environments._environment import Action, Environment, PaperSizes
from asmpg.environments._spaces import Box, Discrete

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from asmpg.environments._episode import Episode

LEFT, RIGHT = range(2)


class CartPoleState(NamedTuple):
    """The velocities are observed; position and angle are not."""

    position: Float[Array, ""]
    velocity: Float[Array, ""]
    angle: Float[Array, ""]
    angular_velocity: Float[Array, ""]


class VelocityOnlyCartPole(Environment[CartPoleState]):
    """CartPole that shows only the cart's velocity and the pole's angular velocity."""

    gymnasium_id = "asmpg/VelocityOnlyCartPole-v0"
    paper = PaperSizes(num_states=4, hidden=128)

    max_steps: int = eqx.field(static=True)
    gravity: float
    cart_mass: float
    pole_mass: float
    half_length: float
    force: float
    time_step: float
    position_limit: float
    angle_limit: float
    start_range: float

    def __init__(
        self,
        *,
        max_steps: int = 200,
        gravity: float = 9.8,
        cart_mass: float = 1.0,
        pole_mass: float = 0.1,
        half_length: float = 0.5,
        force: float = 10.0,
        time_step: float = 0.02,
        position_limit: float = 2.4,
        angle_limit: float = 12 * 2 * math.pi / 360,
        start_range: float = 0.05,
    ):
        """The four components start uniformly in `[-start_range, start_range]`."""
        self.max_steps = check_integer("max_steps", max_steps, low=1)
        self.gravity = check_number("gravity", gravity, low=0, high=1e3)
        self.cart_mass = check_number("cart_mass", cart_mass, low=1e-3, high=1e3)
        self.pole_mass = check_number("pole_mass", pole_mass, low=1e-6, high=1e3)
        self.half_length = check_number("half_length", half_length, low=1e-3, high=1e3)
        self.force = check_number("force", force, low=0, high=1e4)
        self.time_step = check_number("time_step", time_step, low=1e-5, high=0.2)
        self.position_limit = check_number("position_limit", position_limit, low=1e-3, high=1e3)
        self.angle_limit = check_number("angle_limit", angle_limit, low=1e-3, high=math.pi / 2)
        most = min(position_limit, angle_limit)
        self.start_range = check_number("start_range", start_range, low=0, high=most)

    def reset(self, key: Key[Array, ""]) -> tuple[Float[Array, "2"], CartPoleState]:
        start = jax.random.uniform(key, (4,), minval=-self.start_range, maxval=self.start_range)
        state = CartPoleState(*start)
        return _velocities(state), state

    def step(
        self, key: Key[Array, ""], state: CartPoleState, action: Action
    ) -> tuple[Float[Array, "2"], CartPoleState, Float[Array, ""], Bool[Array, ""]]:
        del key
        self.check_action(action)
        state, terminated = self.transition(state, action)
        return _velocities(state), state, jnp.ones_like(state.position), terminated

    def transition(
        self, state: CartPoleState, action: Action
    ) -> tuple[CartPoleState, Bool[Array, ""]]:
        """One Euler step, and whether a limit was crossed."""
        position, velocity, angle, angular_velocity = state
        force = jnp.where(jnp.asarray(action) == RIGHT, self.force, -self.force)
        force = force.astype(position.dtype)
        cosine, sine = jnp.cos(angle), jnp.sin(angle)
        mass, moment = self.cart_mass + self.pole_mass, self.pole_mass * self.half_length
        push = (force + moment * angular_velocity**2 * sine) / mass
        angular_acceleration = (self.gravity * sine - cosine * push) / (
            self.half_length * (4.0 / 3.0 - self.pole_mass * cosine**2 / mass)
        )
        acceleration = push - moment * angular_acceleration * cosine / mass
        state = CartPoleState(
            position + self.time_step * velocity,
            velocity + self.time_step * acceleration,
            angle + self.time_step * angular_velocity,
            angular_velocity + self.time_step * angular_acceleration,
        )
        lost = jnp.abs(state.position) > self.position_limit
        return state, lost | (jnp.abs(state.angle) > self.angle_limit)

    @property
    def observation_space(self) -> Box:
        """Velocities no episode can leave.

        A step from one position inside the limits to another bounds the velocity it was made
        with by `2 limit / time_step`; at most two more accelerations come after that.
        """
        mass, moment = self.cart_mass + self.pole_mass, self.pole_mass * self.half_length
        angular_velocity = 2 * self.angle_limit / self.time_step + 2 * self.start_range
        # One Euler step can add to the angular velocity that feeds the next: take twice the bound.
        push = (self.force + moment * (2 * angular_velocity) ** 2) / mass
        leverage = self.half_length * (4.0 / 3.0 - self.pole_mass / mass)
        angular_acceleration = (self.gravity + push) / leverage
        acceleration = push + moment * angular_acceleration / mass
        velocity = 2 * self.position_limit / self.time_step + 2 * self.start_range
        high = (
            velocity + 2 * self.time_step * acceleration,
            angular_velocity + 2 * self.time_step * angular_acceleration,
        )
        return Box((-high[0], -high[1]), high)

    @property
    def action_space(self) -> Discrete:
        return Discrete(2)

    @property
    def reward_bound(self) -> float:
        return 1.0

    @property
    def observation_names(self) -> tuple[str, ...]:
        """The cart's velocity and the pole's."""
        return ("cart", "pole")

    @property
    def action_names(self) -> tuple[str, ...]:
        return ("left", "right")

    def describe_state(self, state: CartPoleState) -> str:
        return (
            f"cart {float(state.position):+.2f} moving {float(state.velocity):+.2f}, "
            f"pole {math.degrees(float(state.angle)):+.1f}° "
            f"turning {math.degrees(float(state.angular_velocity)):+.0f}°/s"
        )

    def draw(self, axes: "Axes", episode: "Episode") -> None:
        from asmpg.environments.drawing import draw_cart_pole

        draw_cart_pole(axes, self, episode)


def _velocities(state: CartPoleState) -> Float[Array, "2"]:
    return jnp.stack([state.velocity, state.angular_velocity])
