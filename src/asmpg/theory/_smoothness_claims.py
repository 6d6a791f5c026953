"""How curved the objective can be."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from asmpg.envs import NMDP
from asmpg.exact import history_value
from asmpg.theory._climb import climb, curvature, random_starts, spectral_norm
from asmpg.theory._kernel_family import KernelFamily
from asmpg.theory._row import Row


class _Attack(eqx.Module):
    """Everything an adversary may choose: policy, direction, and the process itself."""

    parameters: Float[Array | np.ndarray, "*starts d"]
    direction: Float[Array | np.ndarray, "*starts d"]
    start: Float[Array | np.ndarray, "*starts O"]
    laws: tuple[Float[Array | np.ndarray, "..."], ...]
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
            tuple(jax.nn.softmax(law) for law in attack.laws),
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
    """`|grad^2 J|_2 <= beta`, by gradient ascent on policy, direction, laws and rewards."""
    shape = NMDP.random(
        0,
        num_observations=family.num_observations,
        num_actions=family.num_actions,
        horizon=horizon,
    )
    vector = np.zeros(family.num_parameters)
    example = _Attack(vector, vector, shape.start, shape.laws, shape.rewards)
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
