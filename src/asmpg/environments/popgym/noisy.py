"""POPGym's NoisyPositionOnlyCartPole and MultiarmedBandit: what is seen is noisy.

Source: POPGym 1.0.7 (Morad et al., 2023, https://github.com/proroklab/popgym), step by step.

| task                      | Easy        | Medium      | Hard        | steps         |
| ------------------------- | ----------- | ----------- | ----------- | ------------- |
| NoisyPositionOnlyCartPole | noise 0.1   | noise 0.2   | noise 0.3   | 200 at most   |
| MultiarmedBandit          | 10 arms     | 20 arms     | 30 arms     | 200, 400, 600 |

Rewards are scaled by the time limit, so that the return is 1 at most. Only the fall of the pole or
the loss of the cart terminates an episode; the time limit truncates it.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from asmpg._support.checks import check_integer, check_number
from asmpg.environments._environment import Action
from asmpg.environments._spaces import Box, Discrete
from asmpg.environments.popgym._task import Difficulty, POPGymTask, check_difficulty, pay
from asmpg.environments.velocity_only_cart_pole import CartPoleState, VelocityOnlyCartPole


class NoisyPositionOnlyCartPole(POPGymTask[CartPoleState]):
    """Balance a pole seeing the position of the cart and the angle of the pole, with noise.

    Gaussian noise of standard deviation `noise` is added to both, then they are clipped at twice
    the limits that end an episode. Each step pays `1 / max_steps`, the last one included. The
    dynamics are those of CartPole in Gymnasium.
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
        high = (2 * self.cart_pole.position_limit, 2 * self.cart_pole.angle_limit)
        return Box((-high[0], -high[1]), high)

    @property
    def action_space(self) -> Discrete:
        return Discrete(2)

    @property
    def reward_bound(self) -> float:
        return 1 / self.max_steps

    @property
    def observation_names(self) -> tuple[str, ...]:
        """The cart's position and the pole's angle."""
        return ("cart", "pole")

    @property
    def action_names(self) -> tuple[str, ...]:
        return self.cart_pole.action_names

    def reset(self, key: Key[Array, ""]) -> tuple[Float[Array, "2"], CartPoleState]:
        start_key, noise_key = jax.random.split(key)
        _, state = self.cart_pole.reset(start_key)
        return self.observe(state, jax.random.normal(noise_key, (2,))), state

    def step(
        self, key: Key[Array, ""], state: CartPoleState, action: Action
    ) -> tuple[Float[Array, "2"], CartPoleState, Float[Array, ""], Bool[Array, ""]]:
        self.check_action(action)
        return self.transition(state, action, jax.random.normal(key, (2,)))

    def observe(self, state: CartPoleState, normal: Float[Array, "2"]) -> Float[Array, "2"]:
        """Position and angle with the noise of two standard `normal` numbers."""
        space = self.observation_space
        seen = jnp.stack([state.position, state.angle]) + self.noise * normal
        return jnp.clip(seen, jnp.asarray(space.low), jnp.asarray(space.high))

    def transition(
        self, state: CartPoleState, action: Action, normal: Float[Array, "2"]
    ) -> tuple[Float[Array, "2"], CartPoleState, Float[Array, ""], Bool[Array, ""]]:
        """The step whose noise comes from two standard `normal` numbers."""
        state, terminated = self.cart_pole.transition(state, action)
        reward = jnp.full_like(state.position, self.reward_bound)
        return self.observe(state, normal), state, reward, terminated

    def describe_state(self, state: CartPoleState) -> str:
        return f"cart {float(state.position):+.2f}, pole {math.degrees(float(state.angle)):+.1f}°"


class MultiarmedBandit(POPGymTask[Float[Array, " arms"]]):
    """Find out within an episode which arm wins most often, and pull it.

    The probability that an arm wins is drawn uniformly from `[0, 1]` for each episode. The
    observation is 1 if the last pull won, which pays `1 / max_steps`, else 0, which pays
    `-1 / max_steps`; the first one is 0. Which arm was pulled is not shown: POPGym adds the last
    action to its observations, and here memories see it anyway. By chance, 0; knowing the best arm,
    `(arms - 1) / (arms + 1)`.
    """

    max_steps: int = eqx.field(static=True)
    difficulty: Difficulty = eqx.field(static=True)
    arms: int = eqx.field(static=True)

    def __init__(
        self, difficulty: Difficulty, *, arms: int | None = None, max_steps: int | None = None
    ):
        """An episode has always `max_steps` steps."""
        self.difficulty = check_difficulty(difficulty)
        sizes = {"Easy": (10, 200), "Medium": (20, 400), "Hard": (30, 600)}[difficulty]
        self.arms = check_integer("arms", sizes[0] if arms is None else arms, low=1, high=1_000)
        steps = sizes[1] if max_steps is None else max_steps
        self.max_steps = check_integer("max_steps", steps, low=1)

    @property
    def observation_space(self) -> Discrete:
        return Discrete(2)

    @property
    def action_space(self) -> Discrete:
        return Discrete(self.arms)

    @property
    def observation_names(self) -> tuple[str, ...]:
        return ("lost", "won")

    @property
    def action_names(self) -> tuple[str, ...]:
        return tuple(f"arm {arm}" for arm in range(self.arms))

    @property
    def reward_bound(self) -> float:
        return 1 / self.max_steps

    def reset(self, key: Key[Array, ""]) -> tuple[Int[Array, ""], Float[Array, " arms"]]:
        return jnp.zeros((), jnp.int32), jax.random.uniform(key, (self.arms,))

    def step(
        self, key: Key[Array, ""], state: Float[Array, " arms"], action: Action
    ) -> tuple[Int[Array, ""], Float[Array, " arms"], Float[Array, ""], Bool[Array, ""]]:
        self.check_action(action)
        return self.transition(state, action, jax.random.uniform(key))

    def transition(
        self, state: Float[Array, " arms"], action: Action, uniform: Float[Array, ""]
    ) -> tuple[Int[Array, ""], Float[Array, " arms"], Float[Array, ""], Bool[Array, ""]]:
        """The pull that wins if `uniform`, a number in `[0, 1)`, is below the arm's probability."""
        won = uniform < state[action]
        return won.astype(jnp.int32), state, pay(won, self.reward_bound), jnp.zeros((), bool)

    def describe_state(self, state: Float[Array, " arms"]) -> str:
        best = int(jnp.argmax(state))
        return f"arm {best} is the best, it wins {float(state[best]):.0%} of the time"
