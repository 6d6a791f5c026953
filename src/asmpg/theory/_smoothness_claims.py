"""Smoothness, the softmax kernels' constants, and how bounds scale."""

import dataclasses
import math
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from asmpg.environments import NMDP
from asmpg.exact import history_value
from asmpg.theory._climb import climb, curvature, random_starts, spectral_norm
from asmpg.theory._constants import KernelBounds, joint_softmax_bounds, likely_bound
from asmpg.theory._processes import KernelFamily
from asmpg.theory._row import Row


class _Attack(eqx.Module):
    """Everything an adversary may choose: policy, direction, and the process itself."""

    parameters: Float[Array | np.ndarray, "*starts d"]
    direction: Float[Array | np.ndarray, "*starts d"]
    start: Float[Array | np.ndarray, "*starts O"]
    transitions: tuple[Float[Array | np.ndarray, "..."], ...]
    rewards: tuple[Float[Array | np.ndarray, "..."], ...]


@dataclasses.dataclass(frozen=True)
class _Value:
    """`J` of a policy in the process of an attack."""

    family: KernelFamily

    def __call__(
        self,
        parameters: Float[Array, " d"],
        attack: _Attack,
        discount: Float[Array, ""],
        reward_bound: Float[Array, ""],
    ) -> Float[Array, ""]:
        nmdp = NMDP(
            jax.nn.softmax(attack.start),
            tuple(jax.nn.softmax(logits) for logits in attack.transitions),
            tuple(reward_bound * jnp.tanh(rewards) for rewards in attack.rewards),
        )
        return history_value(nmdp, self.family.policy(parameters).tabulate(), discount=discount)


@dataclasses.dataclass(frozen=True)
class _Curvature:
    """The second derivative of `J` along the direction of an attack."""

    value: _Value

    def __call__(
        self, attack: _Attack, discount: Float[Array, ""], reward_bound: Float[Array, ""]
    ) -> Float[Array, ""]:
        return curvature(
            lambda parameters: self.value(parameters, attack, discount, reward_bound),
            jnp.asarray(attack.parameters),
            jnp.asarray(attack.direction),
        )


def smoothness(
    family: KernelFamily,
    *,
    horizon: int,
    discount: float,
    reward_bound: float,
    beta: float,
    statement: str,
    steps: int,
    starts: int,
) -> Row:
    """`|grad^2 J|_2 <= beta`, by gradient ascent on policy, direction, transitions and rewards."""
    shape = NMDP.random(
        0,
        num_observations=family.num_observations,
        num_actions=family.num_actions,
        horizon=horizon,
    )
    vector = np.zeros(family.num_parameters)
    example = _Attack(vector, vector, shape.start, shape.transitions, shape.rewards)
    value = _Value(family)
    numbers = (jnp.asarray(discount, float), jnp.asarray(reward_bound, float))
    values, attacks = climb(
        _Curvature(value),
        random_starts(example, starts=starts, seed=horizon),
        steps=steps,
        given=tuple(jnp.asarray(np.full(starts, number)) for number in numbers),
    )
    best = jax.tree.map(lambda leaf: np.asarray(leaf)[values.argmax()], attacks)
    setting = "episodic" if discount == 1 else "discounted"
    return Row(
        f"{setting} J is beta-smooth, {family.title}",
        statement,
        f"largest |grad^2 J| found over policies and processes, H = {horizon}",
        spectral_norm(value, np.asarray(best.parameters), best, *numbers),
        beta,
    )


_STATEMENT = {
    "joint": "Lemma on softmax ASM policies",
    "tabular": "remark after Assumption 1; derived here",
}
#: A supremum that is approached at infinity is met up to rounding.
_ROUNDING = 1 + 1e-12


@dataclasses.dataclass(frozen=True)
class _LogKernel:
    """`log pi` of the first outcome on the first input."""

    family: KernelFamily

    def __call__(self, parameters: Float[Array, " d"]) -> Float[Array, ""]:
        tables = self.family.policy(parameters).tabulate()
        return tables.log_nu[0, 0, 0] + tables.log_phi[0, 0, 0, 0]


def softmax_claims(
    family: KernelFamily, *, steps: int, starts: int = 16, bounds: KernelBounds | None = None
) -> list[Row]:
    """`|grad log pi| <= G` and `|grad^2 log pi| <= M`, both by gradient ascent on `theta`.

    All rows and outcomes of a table are alike, so one of them is enough.
    """
    bounds = bounds or family.bounds
    log_pi = _LogKernel(family)

    def score(parameters: Float[Array, " d"]) -> Float[Array, ""]:
        return jnp.linalg.norm(jax.grad(log_pi)(parameters))

    def bend(both: Float[Array, "2 d"]) -> Float[Array, ""]:
        return -curvature(log_pi, both[0], both[1])

    size = family.num_parameters
    scores, _ = climb(score, random_starts(np.zeros(size), starts=starts, seed=0), steps=steps)
    bends, points = climb(
        bend, random_starts(np.zeros((2, size)), starts=starts, seed=1), steps=steps
    )
    found = spectral_norm(log_pi, np.asarray(points)[bends.argmax(), 0])
    return [
        Row(
            f"score of a {family.title} <= G",
            _STATEMENT[family.kind],
            "largest |grad log pi| found",
            float(scores.max()),
            bounds.score * _ROUNDING,
        ),
        Row(
            f"Hessian of a {family.title} <= M",
            _STATEMENT[family.kind],
            "largest |grad^2 log pi| found",
            found,
            bounds.hessian,
            note="the supremum is 1/2",
        ),
    ]


#: `r_max`, horizon or discount, and `G, M` to a constant.
Constant = Callable[[float, float, KernelBounds], float]


def horizon_exponent(
    beta: Constant,
    noise: Constant,
    *,
    claim: str,
    statement: str,
    exponent: float,
    sizes: tuple[float, float],
    horizon: Callable[[float], float],
) -> Row:
    """The exponent of the leading term for fixed `Delta_1`, between two large horizons.

    `sizes` are what `beta` and `noise` take, the horizon or the discount; `horizon` turns them
    into the length that counts.
    """
    bounds = joint_softmax_bounds()
    terms = [
        # With K this large only the term in 1 / sqrt K is left.
        likely_bound(beta(1.0, size, bounds), noise(1.0, size, bounds), 1.0, 10**60, delta=0.1)
        for size in sizes
    ]
    slope = math.log(terms[1] / terms[0]) / math.log(horizon(sizes[1]) / horizon(sizes[0]))
    return Row(
        claim,
        statement,
        f"distance of the exponent from {exponent:g}: exponent {slope:.4f}",
        abs(slope - exponent),
        0.01,
        kind="identity",
        note="for fixed Delta_1; Delta_1 may itself grow with the horizon",
    )
