"""The yardsticks of HealthcareTreatment, computed on a grid and checked by simulation.

Toxicity and resistance follow from past doses, so the best use of a history is the optimum with
full state. Noise in health randomises a rule with fine stripes, so deterministic memoryless rules
come arbitrarily close to the best stochastic one.
"""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from asmpg.environments.healthcare_treatment import HealthcareTreatment
from asmpg.exact._healthcare_chain import GridSize
from asmpg.exact._healthcare_policies import (
    HealthTable,
    cells_for,
    evaluate_table,
    healthcare_optimum,
    search_table,
    striped,
)
from asmpg.exact._simulation import Act, simulate
from asmpg.exact._yardsticks import Yardstick, Yardsticks


@dataclasses.dataclass(frozen=True)
class HealthcareEffort:
    """How much work goes into the yardsticks.

    The optimum has a grid of `toxicity` and `resistance` points, with `nodes` of health in a cell
    of at most a bin. Half its resolution evaluates tables of `bins` bins, found by `climbs` climbs
    of `iterations` for each criterion, and shows how accurate the optimum is. Simulated checks
    play `episodes`.
    """

    nodes: int = 3
    toxicity: int = 81
    resistance: int = 49
    bins: int = 61
    climbs: int = 3
    iterations: int = 200
    stripes: int = 10
    episodes: int = 200_000

    @property
    def half_resolution(self) -> dict[str, int]:
        return {"toxicity": self.toxicity // 2 + 1, "resistance": self.resistance // 2 + 1}


@dataclasses.dataclass(frozen=True)
class ValuedTable:
    """A memoryless policy, `pi(dose | bin of health)`, and what it is worth."""

    value: float
    probability: Float[np.ndarray, "bins A"]


@dataclasses.dataclass(frozen=True)
class HealthcareSolution:
    """The yardsticks, and the stochastic tables found: discounted, undiscounted."""

    yardsticks: Yardsticks
    tables: tuple[ValuedTable, ValuedTable]


def healthcare_yardsticks(
    environment: HealthcareTreatment,
    *,
    discount: float = 0.99,
    key: Key[Array, ""] | None = None,
    effort: HealthcareEffort | None = None,
) -> Yardsticks:
    """What policies of several kinds are worth in `environment`; takes minutes."""
    return solve_healthcare(environment, discount=discount, key=key, effort=effort).yardsticks


def solve_healthcare(
    environment: HealthcareTreatment,
    *,
    discount: float = 0.99,
    key: Key[Array, ""] | None = None,
    effort: HealthcareEffort | None = None,
) -> HealthcareSolution:
    """The yardsticks, and the tables to check them by."""
    effort = effort or HealthcareEffort()
    discounts = (discount, 1.0)
    search_key, check_key = jax.random.split(jax.random.key(0) if key is None else key)

    def check(*acts: Act) -> str:
        estimates = [
            simulate(environment, act, effort.episodes, check_key, gamma).discounted
            for act, gamma in zip(acts, discounts, strict=True)
        ]
        return "simulated " + " and ".join(
            f"{estimate.mean:.2f} ± {estimate.standard_error:.2f}" for estimate in estimates
        )

    value = functools.partial(evaluate_table, environment, **effort.half_resolution)
    uniform = np.full((effort.bins, 3), 1 / 3)
    random = Yardstick(value(uniform, discount), value(uniform, 1.0), kind="grid")

    tables = _search(environment, discounts, search_key, effort)
    stripes = tuple(striped(table.probability, effort.stripes) for table in tables)
    of_stripes = value(stripes[0], discount, nodes=1), value(stripes[1], 1.0, nodes=1)
    deterministic = Yardstick(
        *of_stripes,
        kind="search",
        note=f"the stochastic tables as {effort.stripes} stripes a bin, which noise randomises; "
        + check(*(HealthTable(jnp.asarray(stripe)) for stripe in stripes)),
    )
    memoryless = Yardstick(
        *(max(table.value, other) for table, other in zip(tables, of_stripes, strict=True)),
        kind="search",
        note=f"the best of {2 * effort.climbs} climbs over tables of {effort.bins} bins, or their "
        "stripes; tables "
        + check(*(HealthTable(jnp.asarray(table.probability)) for table in tables)),
    )

    cells = cells_for(environment, effort.bins)
    fine = GridSize(cells, effort.nodes, effort.toxicity, effort.resistance)
    coarse = GridSize(cells, effort.nodes - 1, **effort.half_resolution)
    (first, first_doses), (second, second_doses) = (
        healthcare_optimum(environment, gamma, fine) for gamma in discounts
    )
    full_state = Yardstick(
        first,
        second,
        kind="grid",
        note="dynamic programming; half the resolution gives "
        + " and ".join(f"{healthcare_optimum(environment, g, coarse)[0]:.3f}" for g in discounts)
        + f"; its doses {check(first_doses, second_doses)}",
    )
    history_optimal = dataclasses.replace(
        full_state, note="past doses tell toxicity and resistance: as with the full state"
    )
    yardsticks = Yardsticks(random, deterministic, memoryless, history_optimal, full_state)
    return HealthcareSolution(yardsticks, tables)


def _search(
    environment: HealthcareTreatment,
    discounts: tuple[float, float],
    key: Key[Array, ""],
    effort: HealthcareEffort,
) -> tuple[ValuedTable, ValuedTable]:
    """Climb from the uniform table and others near it; each criterion takes the best of all."""
    shape = (effort.climbs - 1, effort.bins, 3)
    starts = [np.zeros(shape[1:]), *np.asarray(0.3 * jax.random.normal(key, shape), float)]
    found = [
        search_table(environment, gamma, start, iterations=effort.iterations)
        for gamma in discounts
        for start in starts
    ]

    def best(gamma: float) -> ValuedTable:
        valued = [
            ValuedTable(evaluate_table(environment, table, gamma, **effort.half_resolution), table)
            for table in found
        ]
        return max(valued, key=lambda table: table.value)

    return best(discounts[0]), best(discounts[1])
