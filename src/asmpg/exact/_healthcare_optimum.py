"""The best treatment of HealthcareTreatment with all of the state in view."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, UInt8

from asmpg.environments.healthcare_treatment import HealthcareTreatment, PatientState
from asmpg.exact._healthcare_chain import GridSize, HealthcareChain, healthcare_chain


class GreedyDoses(eqx.Module):
    """At each step, the dose that is best at the point of the grid nearest to the state."""

    dose: UInt8[Array, "T X Z H"]
    toxicity: Float[Array, " X"]
    resistance: Float[Array, " Z"]
    health: Float[Array, " H"]

    def __call__(
        self,
        key: Key[Array, ""],
        step: Int[Array, ""],
        observation: Array,
        state: PatientState,
        carry: None,
    ) -> tuple[Int[Array, ""], None]:
        """Look the dose up; this is an `Act`."""
        del key, observation
        point = (
            _nearest(self.toxicity, state.toxicity),
            _nearest(self.resistance, state.resistance),
            _nearest(self.health, state.health),
        )
        return self.dose[step, *point].astype(jnp.int32), carry


def healthcare_optimum(
    environment: HealthcareTreatment, discount: float, size: GridSize
) -> tuple[float, GreedyDoses]:
    """Dynamic programming on the grid: the value of the start, and the doses that earn it.

    `V_t = max_a Q_t(a, .)`, from the last step back to the first.
    """
    with jax.enable_x64(True):
        chain = healthcare_chain(environment, size)
        weight = jnp.asarray(discount, float)
        value, dose = _optimum(chain, weight, environment.max_steps)
    grids = (chain.toxicity, chain.resistance, chain.health.reshape(-1))
    greedy = GreedyDoses(dose, *(grid.astype(jnp.float32) for grid in grids))
    return float(value), greedy


@eqx.filter_jit
def _optimum(
    chain: HealthcareChain, discount: Float[Array, ""], max_steps: int
) -> tuple[Float[Array, ""], UInt8[Array, "T X Z H"]]:
    def back(
        value: Float[Array, "X Z C K"], _: None
    ) -> tuple[Float[Array, "X Z C K"], tuple[Float[Array, ""], UInt8[Array, "X Z H"]]]:
        action_values = chain.action_values(value, discount)
        start = chain.start_action_values(value, discount).max()
        dose = action_values.argmax(axis=0).astype(jnp.uint8)
        return action_values.max(axis=0), (start, dose.reshape(*dose.shape[:2], -1))

    last = jnp.zeros_like(chain.reward[0])
    _, (start, dose) = jax.lax.scan(back, last, length=max_steps, reverse=True)
    return start[0], dose


def _nearest(grid: Float[Array, " N"], value: Float[Array, ""]) -> Int[Array, ""]:
    return jnp.searchsorted((grid[1:] + grid[:-1]) / 2, value)
