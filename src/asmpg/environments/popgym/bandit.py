"""POPGym's MultiarmedBandit: find out which arm wins most often.

Source: POPGym 1.0.7 (Morad et al., 2023, https://github.com/proroklab/popgym), step by step.

|       | Easy | Medium | Hard |
| ----- | ---- | ------ | ---- |
| arms  | 10   | 20     | 30   |
| steps | 200  | 400    | 600  |
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from asmpg._support.checks import check_integer
from asmpg.environments._environment import Action
from asmpg.environments._spaces import Discrete
from asmpg.environments.popgym._task import Difficulty, POPGymTask, check_difficulty, pay


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
