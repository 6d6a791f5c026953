"""VelocityOnlyCartPole: what rules of several kinds are worth, by simulation."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from asmpg.environments.velocity_only_cart_pole import CartPoleState, VelocityOnlyCartPole
from asmpg.exact._simulation import UniformAct, play, simulate
from asmpg.exact._yardsticks import Yardstick, Yardsticks

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


class _Played(NamedTuple):
    """A rule, what each episode paid by one criterion, and whether none failed."""

    rule: Rule
    paid: Float[np.ndarray, " N"]
    never_failed: bool


def cart_pole_yardsticks(
    environment: VelocityOnlyCartPole,
    *,
    discount: float = 0.99,
    key: Key[Array, ""] | None = None,
    episodes: int = 100_000,
) -> Yardsticks:
    """What policies of several kinds are worth in `environment`.

    Memoryless rules that never fail are optimal. Otherwise a rule on the full state is
    searched for, and its weights are used for the rule that integrates velocities too.
    """
    search_key, play_key = jax.random.split(jax.random.key(0) if key is None else key)
    discounts = (discount, 1.0)

    def played(rule: Rule, gamma: float, carry: Any = None) -> _Played:
        outcomes = play(environment, rule, episodes, play_key, gamma, carry=carry)
        never_failed = bool((outcomes.length == environment.max_steps).all())
        return _Played(rule, np.asarray(outcomes.discounted, np.float64), never_failed)

    velocity_rules = [search_velocity_rule(environment, gamma, search_key) for gamma in discounts]
    memoryless = [played(*each) for each in zip(velocity_rules, discounts, strict=True)]
    history = full_state = memoryless
    if not all(each.never_failed for each in memoryless):
        state_rules = [
            search_state_rule(environment, gamma, search_key, rule)
            for gamma, rule in zip(discounts, velocity_rules, strict=True)
        ]
        history = [
            _better(each, played(_integrating(environment, rule.weight), gamma, jnp.zeros(2)))
            for each, rule, gamma in zip(memoryless, state_rules, discounts, strict=True)
        ]
        full_state = [
            _better(each, played(rule, gamma))
            for each, rule, gamma in zip(history, state_rules, discounts, strict=True)
        ]
    return Yardsticks(
        random=_random(environment, discount, play_key, episodes),
        memoryless_deterministic=_yardstick(environment, memoryless, discounts),
        memoryless=_yardstick(environment, memoryless, discounts),
        history_optimal=_yardstick(environment, history, discounts),
        full_state=_yardstick(environment, full_state, discounts),
    )


def _integrating(environment: VelocityOnlyCartPole, weight: Float[Array, "4"]) -> IntegratingRule:
    return IntegratingRule(weight, environment.time_step)


def _better(first: _Played, second: _Played) -> _Played:
    return second if second.paid.mean() > first.paid.mean() else first


def _random(
    environment: VelocityOnlyCartPole, discount: float, key: Key[Array, ""], episodes: int
) -> Yardstick:
    played = simulate(environment, UniformAct(environment.action_space), episodes, key, discount)
    return Yardstick(
        played.discounted.mean,
        played.undiscounted.mean,
        kind="simulation",
        standard_error=(played.discounted.standard_error, played.undiscounted.standard_error),
        note=f"{episodes} episodes",
    )


def _yardstick(
    environment: VelocityOnlyCartPole, played: list[_Played], discounts: tuple[float, float]
) -> Yardstick:
    """The ceiling if it was reached in every episode, else the means."""
    rules = dict.fromkeys(_words(each.rule) for each in played)
    note = f"{played[0].paid.size} episodes of {' and '.join(rules)}"
    if all(each.never_failed for each in played):
        ceiling, steps = (
            float(np.sum(gamma ** np.arange(environment.max_steps))) for gamma in discounts
        )
        return Yardstick(ceiling, steps, note=f"the ceiling, reached in all of {note}")
    error = [float(each.paid.std(ddof=1) / np.sqrt(each.paid.size)) for each in played]
    return Yardstick(
        float(played[0].paid.mean()),
        float(played[1].paid.mean()),
        kind="search",
        standard_error=(error[0], error[1]),
        note=note,
    )


def _words(rule: Rule) -> str:
    return f"{type(rule).__name__}({', '.join(f'{weight:.3f}' for weight in rule.weight.tolist())})"
