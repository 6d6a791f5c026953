"""The yardsticks of VelocityOnlyCartPole: linear rules found by search, played from many starts.

An episode can pay no more than `1 + discount + ... + discount^(max_steps - 1)`. A rule that never
fails reaches this ceiling, and nothing that sees more can pass it.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from asmpg.envs import VelocityOnlyCartPole
from asmpg.exact._cart_pole_rules import (
    IntegratingRule,
    Rule,
    search_state_rule,
    search_velocity_rule,
)
from asmpg.exact._simulation import UniformAct, play, simulate
from asmpg.exact._yardsticks import Yardstick, Yardsticks


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

    The rule that remembers is looked for, with the weights of the one that sees the full state,
    only if a memoryless rule fails now and then; so is the latter.
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
    played = simulate(environment, UniformAct(2), episodes, key, discount)
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
