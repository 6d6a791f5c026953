"""Linear rules for VelocityOnlyCartPole, and a search for good ones."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from asmpg.envs import VelocityOnlyCartPole
from asmpg.envs.velocity_only_cart_pole import CartPoleState
from asmpg.exact._simulation import play

_ANGLES = 64
_ROUNDS, _CANDIDATES = 6, 32
_EPISODES = 512


class VelocityRule(eqx.Module):
    """Memoryless: right iff `w . (v, om) > 0`."""

    weight: Float[Array, "2"]

    def __call__(
        self,
        key: Key[Array, ""],
        step: Int[Array, ""],
        observation: Float[Array, "2"],
        state: Any,
        carry: Any,
    ) -> tuple[Int[Array, ""], Any]:
        """Look at the velocities; this is an `Act`."""
        del key, step, state
        return _push(self.weight @ observation > 0), carry


class IntegratingRule(eqx.Module):
    """From the history: right iff `w . (p, v, th, om) > 0`, with `p` and `th` integrated from 0.

    The memory, `(p, th)`, starts at 0 and grows by `time_step (v, om)`.
    """

    weight: Float[Array, "4"]
    time_step: float

    def __call__(
        self,
        key: Key[Array, ""],
        step: Int[Array, ""],
        observation: Float[Array, "2"],
        state: Any,
        carry: Float[Array, "2"],
    ) -> tuple[Int[Array, ""], Float[Array, "2"]]:
        """Look at the velocities and at what they add up to; this is an `Act`."""
        del key, step, state
        seen = jnp.stack([carry, observation], axis=1).reshape(4)
        return _push(self.weight @ seen > 0), carry + self.time_step * observation


class StateRule(eqx.Module):
    """With the full state: right iff `w . (p, v, th, om) > 0`."""

    weight: Float[Array, "4"]

    def __call__(
        self,
        key: Key[Array, ""],
        step: Int[Array, ""],
        observation: Float[Array, "2"],
        state: CartPoleState,
        carry: Any,
    ) -> tuple[Int[Array, ""], Any]:
        """Look at the state; this is an `Act`."""
        del key, step, observation
        return _push(self.weight @ jnp.stack(state) > 0), carry


Rule = VelocityRule | IntegratingRule | StateRule


def _push(right: Bool[Array, ""]) -> Int[Array, ""]:
    return right.astype(jnp.int32)


def search_velocity_rule(
    environment: VelocityOnlyCartPole, discount: float, key: Key[Array, ""]
) -> VelocityRule:
    """Try the directions of `w` all around, then closely around the best.

    All rules meet the same starts. Of several that pay the same, the middle one is taken.
    """

    def best(angles: Float[np.ndarray, " N"]) -> float:
        weights = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        paid = np.asarray(
            [_paid(environment, VelocityRule(_array(w)), discount, key) for w in weights]
        )
        ties = np.flatnonzero(paid == paid.max())
        return float(angles[ties[len(ties) // 2]])

    spacing = 2 * np.pi / _ANGLES
    angle = best(np.arange(_ANGLES) * spacing)
    angle = best(angle + np.linspace(-2, 2, _ANGLES // 2 + 1) * spacing)
    return VelocityRule(_array(np.asarray([np.cos(angle), np.sin(angle)])))


def search_state_rule(
    environment: VelocityOnlyCartPole, discount: float, key: Key[Array, ""], start: VelocityRule
) -> StateRule:
    """Climb from the memoryless rule `start` by random changes of `w`, smaller every round."""
    play_key, change_key = jax.random.split(key)
    shape = (_ROUNDS, _CANDIDATES, 4)
    changes = np.asarray(jax.random.normal(change_key, shape), np.float64)
    weight = np.asarray([0.0, start.weight[0], 0.0, start.weight[1]])
    most = _paid(environment, StateRule(_array(weight)), discount, play_key)
    for number, round_changes in enumerate(changes):
        centre = weight
        for change in round_changes:
            candidate = centre + change / 2**number
            candidate /= np.linalg.norm(candidate)
            paid = _paid(environment, StateRule(_array(candidate)), discount, play_key)
            if paid > most:
                weight, most = candidate, paid
    return StateRule(_array(weight))


def _paid(
    environment: VelocityOnlyCartPole, rule: Rule, discount: float, key: Key[Array, ""]
) -> float:
    outcomes = play(environment, rule, _EPISODES, key, discount)
    return float(np.asarray(outcomes.discounted, np.float64).mean())


def _array(weight: Float[np.ndarray, " N"]) -> Float[Array, " N"]:
    return jnp.asarray(weight, float)
