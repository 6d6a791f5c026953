"""HealthcareTreatment as a chain on a grid of (health, toxicity, resistance).

Health is cut into cells with Gauss-Legendre nodes `q` in each; resistance `z` has a uniform grid,
toxicity `x` one that is uniform in the logarithm. Noise enters health alone, so with the mean
`m = h + b (1 - z) - kappa x - delta` the value to come is

```
W(m, x', z') = sum_q w_q N(q; m, sigma) V(q, x', z')
```

which is smooth in all three arguments even where `V` has kinks or, on the edge of a cell, jumps.
It is tabulated on a uniform grid of `m` and read off by Lagrange interpolation through six
points in each direction. Expected rewards are known in closed form.
"""

import dataclasses
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.stats import norm
from jaxtyping import Array, Float, Int

from asmpg._support.checks import check_integer
from asmpg.environments.healthcare_treatment import FAILURE, RECOVERY, HealthcareTreatment

#: Less noise needs more cells than are worth their time.
LEAST_NOISE = 0.02
_POINTS = 6
_SPAN = RECOVERY - FAILURE


@dataclasses.dataclass(frozen=True)
class GridSize:
    """`cells` of health with `nodes` each, and points of toxicity and resistance."""

    cells: int
    nodes: int
    toxicity: int
    resistance: int

    def __post_init__(self):
        for name, low in {
            "cells": 1,
            "nodes": 1,
            "toxicity": _POINTS,
            "resistance": _POINTS,
        }.items():
            check_integer(name, getattr(self, name), low=low)


class HealthcareChain(eqx.Module):
    """One step of HealthcareTreatment on the grid, as arrays.

    Dimensions: actions A, toxicity X, resistance Z, cells C, nodes K, means M, points P. Values of
    the grid are arrays `"X Z C K"`.
    """

    health: Float[Array, "C K"]
    toxicity: Float[Array, " X"]
    resistance: Float[Array, " Z"]
    reward: Float[Array, "A X Z C K"]
    kernel: Float[Array, "M C K"]
    next_toxicity: Float[Array, "A X X"]
    next_resistance: Float[Array, "A Z Z"]
    first: Int[Array, "A X Z K"]
    weight: Float[Array, "A X Z K P"]
    start_reward: Float[Array, " A"]
    start_kernel: Float[Array, "A X Z C K"]

    def action_values(
        self, value: Float[Array, "X Z C K"], discount: Float[Array, ""] | float
    ) -> Float[Array, "A X Z C K"]:
        """`Q(a, h, x, z) = E[r] + discount W(m, x', z')` at every point of the grid."""
        means = jnp.einsum("xzck,mck->xzm", value, self.kernel)
        means = jnp.einsum("axu,uzm->axzm", self.next_toxicity, means)
        means = jnp.einsum("azv,axvm->axzm", self.next_resistance, means)
        # From cell to cell, m moves by one point of its grid: what all cells read is one window.
        cells, points = self.health.shape[0], self.weight.shape[-1]

        def window(row: Float[Array, " M"], first: Int[Array, ""]) -> Float[Array, " CP"]:
            return jax.lax.dynamic_slice(row, (first,), (cells + points - 1,))

        read = jax.vmap(window, (None, 0))
        for _ in range(3):
            read = jax.vmap(read)
        windows = read(means, self.first)
        ahead = sum(
            self.weight[..., point, None] * windows[..., point : point + cells]
            for point in range(points)
        )
        return self.reward + discount * jnp.swapaxes(jnp.asarray(ahead), -1, -2)

    def start_action_values(
        self, value: Float[Array, "X Z C K"], discount: Float[Array, ""] | float
    ) -> Float[Array, " A"]:
        """`Q` where episodes start, which need not be a point of the grid."""
        return self.start_reward + discount * jnp.einsum("xzck,axzck->a", value, self.start_kernel)


def check_noise(environment: HealthcareTreatment) -> None:
    """Raise a `ValueError` if health moves too little at random for a grid."""
    if environment.noise < LEAST_NOISE:
        raise ValueError(
            f"noise must be at least {LEAST_NOISE} to compute yardsticks on a grid of health, "
            f"got {environment.noise:g}"
        )


def healthcare_chain(environment: HealthcareTreatment, size: GridSize) -> HealthcareChain:
    """Lay `environment` out on a grid."""
    check_noise(environment)
    benefit, cost, toxicity_added, resistance_added = (
        np.asarray(dose)[:, None]
        for dose in (
            environment.benefit,
            environment.cost,
            environment.toxicity_added,
            environment.resistance_added,
        )
    )
    # Nine standard deviations beyond the thresholds, nothing is left to come.
    reach = _SPAN + 9 * environment.noise
    axis = _toxicity_axis(environment, reach)

    def next_toxicity(toxicity: np.ndarray) -> np.ndarray:
        return np.minimum(axis.most, environment.toxicity_decay * toxicity + toxicity_added)

    def next_resistance(resistance: np.ndarray) -> np.ndarray:
        return np.minimum(1.0, environment.resistance_decay * resistance + resistance_added)

    def drift(toxicity: np.ndarray, resistance: np.ndarray) -> np.ndarray:
        harm = environment.toxicity_harm * toxicity + environment.deterioration
        return benefit[..., None] * (1 - resistance) - harm[:, None]

    def reward(mean: np.ndarray) -> np.ndarray:
        expected = _expected_outcome(mean, environment.noise, environment.terminal_reward)
        return expected - cost.reshape(-1, *[1] * (mean.ndim - 1))

    toxicity = axis.points(size.toxicity)
    resistance = np.linspace(0, 1, size.resistance)
    width = _SPAN / size.cells
    fraction, share = np.polynomial.legendre.leggauss(size.nodes)
    fraction, share = (fraction + 1) / 2, share / 2 * width
    health = FAILURE + (np.arange(size.cells)[:, None] + fraction) * width

    shift = drift(toxicity, resistance)
    position = np.clip(shift, -reach, reach)[..., None] / width + fraction
    first = np.floor(position).astype(int) - (_POINTS // 2 - 1)
    lowest, highest = first.min(), first.max() + size.cells + _POINTS - 2
    means = FAILURE + np.arange(lowest, highest + 1) * width

    def kernel(mean: np.ndarray) -> np.ndarray:
        scaled = (health - mean[:, None, None]) / environment.noise
        return share * np.exp(-(scaled**2) / 2) / (environment.noise * np.sqrt(2 * np.pi))

    _, start = environment.reset(jax.random.key(0))
    start_health, start_toxicity, start_resistance = (np.asarray([float(part)]) for part in start)
    start_mean = start_health + drift(start_toxicity, start_resistance)[:, 0, 0]
    start_kernel = np.einsum(
        "ax,az,ack->axzck",
        _interpolation(axis.to_unit(next_toxicity(start_toxicity)[:, 0]), size.toxicity),
        _interpolation(next_resistance(start_resistance)[:, 0], size.resistance),
        kernel(start_mean),
    )
    return HealthcareChain(
        health=jnp.asarray(health, float),
        toxicity=jnp.asarray(toxicity, float),
        resistance=jnp.asarray(resistance, float),
        reward=jnp.asarray(reward(shift[..., None, None] + health), float),
        kernel=jnp.asarray(kernel(means), float),
        next_toxicity=jnp.asarray(
            _interpolation(axis.to_unit(next_toxicity(toxicity)), size.toxicity), float
        ),
        next_resistance=jnp.asarray(
            _interpolation(next_resistance(resistance), size.resistance), float
        ),
        first=jnp.asarray(first - lowest, jnp.int32),
        weight=jnp.asarray(_lagrange(position - first), float),
        start_reward=jnp.asarray(reward(start_mean), float),
        start_kernel=jnp.asarray(start_kernel, float),
    )


class _LogarithmicAxis(NamedTuple):
    """`[0, most]`, nearly even up to `unit` and wider and wider beyond."""

    most: float
    unit: float

    def to_unit(self, value: np.ndarray) -> np.ndarray:
        """From `[0, most]` to `[0, 1]`."""
        return np.log1p(value / self.unit) / np.log1p(self.most / self.unit)

    def points(self, size: int) -> np.ndarray:
        """Points that `to_unit` spaces evenly."""
        return self.unit * np.expm1(np.linspace(0, 1, size) * np.log1p(self.most / self.unit))


def _toxicity_axis(environment: HealthcareTreatment, reach: float) -> _LogarithmicAxis:
    """Toxicity up to where nobody gets or nobody lives; its unit moves health as noise does."""
    decays = environment.toxicity_decay ** np.arange(environment.max_steps)
    most = float(max(environment.toxicity_added) * decays.sum()) or 1.0
    harm = environment.toxicity_harm
    if harm == 0:
        return _LogarithmicAxis(most, most)
    return _LogarithmicAxis(
        min(most, (reach + max(environment.benefit)) / harm), environment.noise / harm
    )


def _expected_outcome(mean: np.ndarray, noise: float, terminal_reward: float) -> np.ndarray:
    """The mean of clipped health, and what ending pays.

    With `h'` normal around `m`, `alpha` and `beta` the thresholds in standard deviations from it:
    `E[clip(h')] = lo P(fail) + hi P(recover) + m P(neither) + sigma (phi(alpha) - phi(beta))`.
    """
    with jax.enable_x64(True):
        alpha, beta = (FAILURE - mean) / noise, (RECOVERY - mean) / noise
        failed, recovered = np.asarray(norm.cdf(alpha)), np.asarray(norm.cdf(-beta))
        between = noise * np.asarray(norm.pdf(alpha) - norm.pdf(beta))
    clipped = FAILURE * failed + RECOVERY * recovered + mean * (1 - failed - recovered) + between
    return clipped + terminal_reward * (recovered - failed)


def _interpolation(at: Float[np.ndarray, "*shape"], size: int) -> Float[np.ndarray, "*shape size"]:
    """The matrix from values on a uniform grid of `[0, 1]` to values `at` points in it."""
    position = at * (size - 1)
    first = np.clip(np.floor(position).astype(int) - (_POINTS // 2 - 1), 0, size - _POINTS)
    columns = np.eye(size)[first[..., None] + np.arange(_POINTS)]
    return np.einsum("...p,...pn->...n", _lagrange(position - first), columns)


def _lagrange(position: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape 6"]:
    """The weights of values at `0, ..., 5` in the polynomial through them."""
    node, same = np.arange(_POINTS), np.eye(_POINTS, dtype=bool)
    factor = (position[..., None, None] - node) / (node[:, None] - node + same)
    return np.prod(np.where(same, 1.0, factor), axis=-1)
