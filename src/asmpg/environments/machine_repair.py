"""MachineRepair: keep a machine running whose wear cannot be seen.

Source: the paper's appendix, after Eckles (1968). The two conditions, the two actions, the hidden
wear and the unit repair cost are the paper's; all other constants are calibrated (the paper gives
none), so that memory pays: the best memoryless policy gives away a third of the range.

Latent state: condition `c` (healthy or degraded, observed) and wear `w = k / 10` (hidden).

| condition | action   | reward | next condition                        | next wear         |
| --------- | -------- | ------ | ------------------------------------- | ----------------- |
| healthy   | continue | +1     | degraded with `p(w) = 0.02 + 0.6 w^2` | `min(1, w + 0.1)` |
| degraded  | continue | -1     | degraded with `p(w) = 0.5 + 0.5 w`    | `min(1, w + 0.2)` |
| healthy   | repair   | -1     | healthy                               | `max(0, w - 0.4)` |
| degraded  | repair   | -1     | healthy with `q(w) = 0.9 - 0.7 w`     | the same, or `w`  |

A failed repair removes no wear: that clause is what makes memory matter. The machine starts new
and healthy and runs up to the time limit.
"""

from typing import TYPE_CHECKING

import equinox as eqx
import numpy as np
from jaxtyping import Array, Int

from asmpg._support.checks import check_integer, check_number
from asmpg.environments._environment import PaperSizes
from asmpg.environments._finite_environment import (
    AbstractFiniteEnvironment,
    SamplingTables,
    sampling_tables,
)
from asmpg.environments._finite_model import FiniteModel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from asmpg.environments._episode import Episode

HEALTHY, DEGRADED = range(2)
CONTINUE, REPAIR = range(2)
#: Wear is counted in tenths, 0 to 10.
MAX_WEAR = 10


def latent_state(condition: int, wear: int) -> int:
    """The index of (condition, wear in tenths)."""
    return condition * (MAX_WEAR + 1) + wear


def condition_and_wear(state: int) -> tuple[int, int]:
    """The inverse of `latent_state`."""
    return divmod(state, MAX_WEAR + 1)


class MachineRepair(AbstractFiniteEnvironment):
    """A machine with a visible condition and hidden wear; actions continue and repair."""

    gymnasium_id = "asmpg/MachineRepair-v0"
    paper = PaperSizes(num_states=8, hidden=64)

    max_steps: int = eqx.field(static=True)
    degrade_base: float = eqx.field(static=True)
    degrade_wear: float = eqx.field(static=True)
    stay_base: float = eqx.field(static=True)
    stay_wear: float = eqx.field(static=True)
    repair_base: float = eqx.field(static=True)
    repair_wear: float = eqx.field(static=True)
    wear_healthy: int = eqx.field(static=True)
    wear_degraded: int = eqx.field(static=True)
    wear_removed: int = eqx.field(static=True)
    healthy_reward: float = eqx.field(static=True)
    degraded_reward: float = eqx.field(static=True)
    repair_cost: float = eqx.field(static=True)
    model: FiniteModel = eqx.field(static=True)
    tables: SamplingTables

    def __init__(
        self,
        *,
        max_steps: int = 200,
        degrade_base: float = 0.02,
        degrade_wear: float = 0.6,
        stay_base: float = 0.5,
        stay_wear: float = 0.5,
        repair_base: float = 0.9,
        repair_wear: float = 0.7,
        wear_healthy: int = 1,
        wear_degraded: int = 2,
        wear_removed: int = 4,
        healthy_reward: float = 1.0,
        degraded_reward: float = -1.0,
        repair_cost: float = 1.0,
    ):
        """Probabilities are `base + wear * w` (squared for `degrade`, subtracted for `repair`).

        `wear_healthy` and `wear_degraded` are added by a step of operation, `wear_removed` is
        taken off by a successful repair, all in tenths.
        """
        self.max_steps = check_integer("max_steps", max_steps, low=1)
        self.degrade_base = check_number("degrade_base", degrade_base, low=0, high=1)
        self.degrade_wear = check_number("degrade_wear", degrade_wear, low=0, high=1 - degrade_base)
        self.stay_base = check_number("stay_base", stay_base, low=0, high=1)
        self.stay_wear = check_number("stay_wear", stay_wear, low=0, high=1 - stay_base)
        self.repair_base = check_number("repair_base", repair_base, low=0, high=1)
        self.repair_wear = check_number("repair_wear", repair_wear, low=0, high=repair_base)
        self.wear_healthy = check_integer("wear_healthy", wear_healthy, low=0, high=MAX_WEAR)
        self.wear_degraded = check_integer("wear_degraded", wear_degraded, low=0, high=MAX_WEAR)
        self.wear_removed = check_integer("wear_removed", wear_removed, low=0, high=MAX_WEAR)
        self.healthy_reward = check_number("healthy_reward", healthy_reward)
        self.degraded_reward = check_number("degraded_reward", degraded_reward)
        self.repair_cost = check_number("repair_cost", repair_cost)
        self.model = self._build_model()
        self.tables = sampling_tables(self.model)

    def _build_model(self) -> FiniteModel:
        shape = (2 * (MAX_WEAR + 1), 2, 2)
        successor, probability = np.zeros(shape, int), np.zeros(shape)
        reward = np.full(shape[:2], -self.repair_cost)
        for wear in range(MAX_WEAR + 1):
            w = wear / MAX_WEAR
            repaired = latent_state(HEALTHY, max(0, wear - self.wear_removed))
            # The first outcome is the one drawn when the uniform number is below its probability.
            running = {
                HEALTHY: (self.degrade_base + self.degrade_wear * w**2, self.wear_healthy),
                DEGRADED: (self.stay_base + self.stay_wear * w, self.wear_degraded),
            }
            for condition, (degraded, added) in running.items():
                state, worn = latent_state(condition, wear), min(MAX_WEAR, wear + added)
                successor[state, CONTINUE] = (
                    latent_state(DEGRADED, worn),
                    latent_state(HEALTHY, worn),
                )
                probability[state, CONTINUE] = degraded, 1 - degraded
            healthy, degraded = latent_state(HEALTHY, wear), latent_state(DEGRADED, wear)
            success = self.repair_base - self.repair_wear * w
            successor[healthy, REPAIR] = repaired, repaired
            probability[healthy, REPAIR] = 1.0, 0.0
            successor[degraded, REPAIR] = repaired, degraded
            probability[degraded, REPAIR] = success, 1 - success
            reward[healthy, CONTINUE] = self.healthy_reward
            reward[degraded, CONTINUE] = self.degraded_reward
        return FiniteModel(
            successor=successor,
            probability=probability,
            reward=reward,
            observation=np.repeat(np.eye(2), MAX_WEAR + 1, axis=0),
            start=np.eye(len(reward))[latent_state(HEALTHY, 0)],
        )

    @property
    def observation_names(self) -> tuple[str, ...]:
        return ("healthy", "degraded")

    @property
    def action_names(self) -> tuple[str, ...]:
        return ("continue", "repair")

    def describe_state(self, state: Int[Array | np.ndarray, ""]) -> str:
        condition, wear = condition_and_wear(int(state))
        return f"{('healthy', 'degraded')[condition]}, wear {wear / MAX_WEAR:.1f}"

    def draw(self, axes: "Axes", episode: "Episode") -> None:
        from asmpg.environments.drawing import draw_machine

        draw_machine(axes, self, episode)
