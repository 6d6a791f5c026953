"""HealthcareTreatment: dose a patient whose toxicity and resistance cannot be seen.

Source: the paper's appendix. The start, the two thresholds and the terminal rewards of 50 are the
paper's; all other constants are calibrated (the paper gives none), so that a rhythm of doses and
rests is needed: the best memoryless policy gives away half of the range.

Latent state: health `h` (observed), toxicity `x` and resistance `z` (hidden). With dose `a`, its
benefit `b`, toxicity added `i`, resistance added `j`, cost `c`, and `eps` standard normal:

```
h' = clip(h + b[a] (1 - z) - kappa x - delta + sigma eps, -1, 2)
x' = d_x x + i[a]
z' = min(1, d_z z + j[a])
r  = h' - c[a] + 50 [h' >= 2] - 50 [h' <= -1]
```

The episode ends at recovery, `h' >= 2`, or failure, `h' <= -1`. Toxicity and resistance depend on
past actions alone, so a memory can reconstruct them.
"""

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

NONE, MILD, AGGRESSIVE = range(3)
RECOVERY, FAILURE = 2.0, -1.0


class PatientState(NamedTuple):
    """Health is observed; toxicity and resistance are not."""

    health: Float[Array, ""]
    toxicity: Float[Array, ""]
    resistance: Float[Array, ""]


def _doses(name: str, values: tuple[float, float, float]) -> tuple[float, float, float]:
    if len(values) != 3:
        raise ValueError(f"{name} must have three numbers (none, mild, aggressive), got {values!r}")
    none, mild, aggressive = (check_number(f"{name}[{i}]", v, low=0) for i, v in enumerate(values))
    return none, mild, aggressive


class HealthcareTreatment(Environment[PatientState]):
    """A patient to be cured by none, mild and aggressive doses, seeing health only."""

    gymnasium_id = "asmpg/HealthcareTreatment-v0"
    paper = PaperSizes(num_states=3, hidden=64)

    max_steps: int = eqx.field(static=True)
    benefit: tuple[float, float, float]
    cost: tuple[float, float, float]
    toxicity_added: tuple[float, float, float]
    toxicity_decay: float
    toxicity_harm: float
    resistance_added: tuple[float, float, float]
    resistance_decay: float
    deterioration: float
    noise: float
    terminal_reward: float

    def __init__(
        self,
        *,
        max_steps: int = 200,
        benefit: tuple[float, float, float] = (0.0, 0.12, 0.6),
        cost: tuple[float, float, float] = (0.0, 1.0, 3.0),
        toxicity_added: tuple[float, float, float] = (0.0, 0.3, 1.0),
        toxicity_decay: float = 0.95,
        toxicity_harm: float = 0.016,
        resistance_added: tuple[float, float, float] = (0.0, 0.0, 0.5),
        resistance_decay: float = 0.5,
        deterioration: float = 0.08,
        noise: float = 0.1,
        terminal_reward: float = 50.0,
    ):
        """Triples are for the doses none, mild, aggressive; the rest as in the equations above."""
        self.max_steps = check_integer("max_steps", max_steps, low=1)
        self.benefit = _doses("benefit", benefit)
        self.cost = _doses("cost", cost)
        self.toxicity_added = _doses("toxicity_added", toxicity_added)
        self.toxicity_decay = check_number("toxicity_decay", toxicity_decay, low=0, high=1)
        self.toxicity_harm = check_number("toxicity_harm", toxicity_harm, low=0)
        self.resistance_added = _doses("resistance_added", resistance_added)
        self.resistance_decay = check_number("resistance_decay", resistance_decay, low=0, high=1)
        self.deterioration = check_number("deterioration", deterioration, low=0)
        self.noise = check_number("noise", noise, low=0)
        self.terminal_reward = check_number("terminal_reward", terminal_reward, low=0)

    def reset(self, key: Key[Array, ""]) -> tuple[Float[Array, "1"], PatientState]:
        del key
        state = PatientState(jnp.asarray(0.5), jnp.asarray(0.0), jnp.asarray(0.0))
        return state.health[None], state

    def step(
        self, key: Key[Array, ""], state: PatientState, action: Action
    ) -> tuple[Float[Array, "1"], PatientState, Float[Array, ""], Bool[Array, ""]]:
        self.check_action(action)
        normal = jax.random.normal(key, dtype=state.health.dtype)
        state, reward, terminated = self.transition(state, action, normal)
        return state.health[None], state, reward, terminated

    def transition(
        self, state: PatientState, action: Action, normal: Float[Array, ""] | float
    ) -> tuple[PatientState, Float[Array, ""], Bool[Array, ""]]:
        """The step that the standard normal number `normal` gives."""
        benefit, cost, toxicity_added, resistance_added = (
            jnp.asarray(dose, state.health.dtype)[action]
            for dose in (self.benefit, self.cost, self.toxicity_added, self.resistance_added)
        )
        health = jnp.clip(
            state.health
            + benefit * (1 - state.resistance)
            - self.toxicity_harm * state.toxicity
            - self.deterioration
            + self.noise * normal,
            FAILURE,
            RECOVERY,
        )
        toxicity = self.toxicity_decay * state.toxicity + toxicity_added
        resistance = jnp.minimum(1.0, self.resistance_decay * state.resistance + resistance_added)
        recovered, failed = health >= RECOVERY, health <= FAILURE
        outcome = recovered.astype(health.dtype) - failed.astype(health.dtype)
        reward = health - cost + self.terminal_reward * outcome
        return PatientState(health, toxicity, resistance), reward, recovered | failed

    @property
    def observation_space(self) -> Box:
        return Box((FAILURE,), (RECOVERY,))

    @property
    def action_space(self) -> Discrete:
        return Discrete(3)

    @property
    def reward_bound(self) -> float:
        """The worst step: failing after the costliest dose; or the best: recovering for free."""
        worst = -FAILURE + max(self.cost) + self.terminal_reward
        return max(worst, RECOVERY - min(self.cost) + self.terminal_reward)

    @property
    def observation_names(self) -> tuple[str, ...]:
        return ("health",)

    @property
    def action_names(self) -> tuple[str, ...]:
        return ("none", "mild", "aggressive")

    def describe_state(self, state: PatientState) -> str:
        return (
            f"health {float(state.health):+.2f}, toxicity {float(state.toxicity):.2f}, "
            f"resistance {float(state.resistance):.2f}"
        )

    def draw(self, axes: "Axes", episode: "Episode") -> None:
        from asmpg.environments.drawing import draw_patient

        draw_patient(axes, self, episode)
