"""Policies of HealthcareTreatment on the grid: the optimum, and tables of doses by health.

The optimum looks at all of the state, by dynamic programming. Tables are memoryless; they are
evaluated without sampling, and improved by the exact gradient.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, Key, UInt8

from asmpg.environments.healthcare_treatment import (
    FAILURE,
    RECOVERY,
    HealthcareTreatment,
    PatientState,
)
from asmpg.exact._healthcare_chain import GridSize, HealthcareChain, check_noise, healthcare_chain

_SEARCH_RATE = 0.1
#: A short memory lets logits of doses that should vanish keep falling.
_SEARCH_ADAM_B2 = 0.9


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


class HealthTable(eqx.Module):
    """Dose `a` with probability `probability[bin of health, a]`, bins of equal width."""

    probability: Float[Array, "bins A"]

    def __call__(
        self,
        key: Key[Array, ""],
        step: Int[Array, ""],
        observation: Float[Array, "1"],
        state: object,
        carry: None,
    ) -> tuple[Int[Array, ""], None]:
        del step, state
        row = self.probability[health_bin(observation[0], self.probability.shape[0])]
        return jax.random.categorical(key, jnp.log(row)), carry


def health_bin(health: Float[Array, ""], bins: int) -> Int[Array, ""]:
    """Which of `bins` equal parts of the range `health` is in."""
    position = (health - FAILURE) / (RECOVERY - FAILURE) * bins
    return jnp.clip(jnp.floor(position).astype(jnp.int32), 0, bins - 1)


def cells_for(environment: HealthcareTreatment, bins: int) -> int:
    """Cells for `bins`: whole parts of a bin, at most about half a standard deviation wide."""
    check_noise(environment)
    width = (RECOVERY - FAILURE) / bins
    return bins * max(1, int(np.ceil(width / (environment.noise / 2) - 1e-9)))


def evaluate_table(
    environment: HealthcareTreatment,
    table: Float[np.ndarray, "bins A"],
    discount: float,
    *,
    nodes: int = 3,
    toxicity: int = 41,
    resistance: int = 25,
) -> float:
    """The value of a `HealthTable`, without sampling."""
    cells = cells_for(environment, table.shape[0])
    with jax.enable_x64(True):
        chain = healthcare_chain(environment, GridSize(cells, nodes, toxicity, resistance))
        start = _start_bin(environment, table.shape[0])
        policy = jnp.asarray(table, float)
        weight = jnp.asarray(discount, float)
        return float(_value(policy, chain, weight, start, environment.max_steps))


def search_table(
    environment: HealthcareTreatment,
    discount: float,
    logits: Float[np.ndarray, "bins A"],
    *,
    iterations: int,
    nodes: int = 2,
    toxicity: int = 13,
    resistance: int = 9,
) -> Float[np.ndarray, "bins A"]:
    """Climb from the table `softmax(logits)` by Adam on the exact gradient of a coarse chain."""
    cells = cells_for(environment, logits.shape[0])
    chain = healthcare_chain(environment, GridSize(cells, nodes, toxicity, resistance))
    start = _start_bin(environment, logits.shape[0])
    first, weight = jnp.asarray(logits, float), jnp.asarray(discount, float)
    found = _climb(first, chain, weight, start, environment.max_steps, iterations)
    return _rounded(np.asarray(jax.nn.softmax(found), float))


def striped(table: Float[np.ndarray, "bins A"], stripes: int) -> Float[np.ndarray, "cells A"]:
    """A deterministic table that mixes doses as `table` does, in `stripes` stripes a bin.

    Health is noisy at a coarser scale than the stripes, so that the noise randomises a
    deterministic rule. By error diffusion: each stripe takes the dose most in arrears.
    """
    arrears = np.zeros(table.shape[1])
    choices = []
    for row in np.repeat(table, stripes, axis=0):
        arrears += row
        choices.append(np.argmax(arrears))
        arrears[choices[-1]] -= 1
    return np.eye(table.shape[1])[choices]


def _start_bin(environment: HealthcareTreatment, bins: int) -> int:
    _, start = environment.reset(jax.random.key(0))
    return int(health_bin(start.health, bins))


def _rounded(table: Float[np.ndarray, "bins A"]) -> Float[np.ndarray, "bins A"]:
    """Four decimals, as they are shipped, with rows that sum to one."""
    table = np.round(table, 4)
    best = table.argmax(axis=1)
    rows = np.arange(table.shape[0])
    table[rows, best] += 1 - table.sum(axis=1)
    return np.round(table, 4)


@eqx.filter_jit
def _value(
    policy: Float[Array, "bins A"],
    chain: HealthcareChain,
    discount: Float[Array, ""],
    start: int,
    max_steps: int,
) -> Float[Array, ""]:
    """`V_t = sum_a pi(a | h) Q_t(a, .)`, back from the last step to the first."""
    of_cell = jnp.repeat(policy, chain.health.shape[0] // policy.shape[0], axis=0)

    @jax.checkpoint
    def back(value: Float[Array, "X Z C K"], _: None) -> tuple[Float[Array, "X Z C K"], None]:
        action_values = chain.action_values(value, discount)
        return jnp.einsum("ca,axzck->xzck", of_cell, action_values), None

    last = jnp.zeros_like(chain.reward[0])
    value, _ = jax.lax.scan(back, last, length=max_steps - 1)
    return policy[start] @ chain.start_action_values(value, discount)


@eqx.filter_jit
def _climb(
    logits: Float[Array, "bins A"],
    chain: HealthcareChain,
    discount: Float[Array, ""],
    start: int,
    max_steps: int,
    iterations: int,
) -> Float[Array, "bins A"]:
    rate = optax.cosine_decay_schedule(_SEARCH_RATE, iterations)
    optimiser = optax.adam(rate, b2=_SEARCH_ADAM_B2)

    def loss(logits: Float[Array, "bins A"]) -> Float[Array, ""]:
        return -_value(jax.nn.softmax(logits), chain, discount, start, max_steps)

    def ascend(
        loop: tuple[Float[Array, "bins A"], optax.OptState], _: None
    ) -> tuple[tuple[Float[Array, "bins A"], optax.OptState], None]:
        logits, memory = loop
        update, memory = optimiser.update(jax.grad(loss)(logits), memory)
        return (logits + jnp.asarray(update), memory), None

    (logits, _), _ = jax.lax.scan(ascend, (logits, optimiser.init(logits)), length=iterations)
    return logits
