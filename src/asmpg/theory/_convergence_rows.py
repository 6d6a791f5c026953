"""The rows on convergence: which runs, with which constants."""

import dataclasses
import functools
from collections.abc import Iterator

from asmpg.environments import NMDP
from asmpg.theory._constants import (
    decreasing_bound,
    decreasing_step_size,
    discounted_beta,
    discounted_noise,
    episodic_beta,
    episodic_noise,
    expected_bound,
    expected_step_size,
    joint_softmax_bounds,
    likely_bound,
    likely_step_size,
    summable_bound,
)
from asmpg.theory._convergence_claims import (
    Experiment,
    almost_surely,
    in_expectation,
    rate,
    with_decreasing_steps,
    with_high_probability,
)
from asmpg.theory._row import Effort, Row, tightest
from asmpg.theory._runs import Laboratory
from asmpg.theory._smoothness_claims import horizon_exponent

_DELTA = 0.1
#: Short-sighted, so that the constants are small enough for the runs to get somewhere.
_DISCOUNT = 0.2
EPISODIC_THEOREM = "Theorem on finite-time convergence"
DISCOUNTED_THEOREM = "Theorem on discounted convergence"


def experiment(
    seed: int, *, horizon: int, discount: float, updates: tuple[int, ...], runs: int
) -> Experiment:
    """Runs of a joint softmax on the random process of this seed, with the paper's constants."""
    nmdp = NMDP.random(seed, horizon=horizon)
    bounds = joint_softmax_bounds()
    if discount == 1:
        arguments = (nmdp.reward_bound, horizon, bounds)
        beta, noise, theorem = (
            episodic_beta(*arguments),
            episodic_noise(*arguments),
            EPISODIC_THEOREM,
        )
    else:
        arguments = (nmdp.reward_bound, discount, bounds)
        beta, noise = discounted_beta(*arguments), discounted_noise(*arguments)
        theorem = DISCOUNTED_THEOREM
    laboratory = Laboratory.joint(nmdp, discount=discount, seed=seed)
    return Experiment(laboratory, beta, noise, theorem, updates, runs)


def convergence_rows(effort: Effort) -> Iterator[Row]:
    """Parts (a), (b) and (c) for episodic and discounted processes, and the rates."""
    for discount in (1.0, _DISCOUNT):
        several = [
            experiment(seed, horizon=2, discount=discount, updates=effort.updates, runs=effort.runs)
            for seed in effort.run_seeds
        ]
        yield tightest(
            in_expectation(each, each.averages(expected_step_size), expected_bound)
            for each in several
        )
        yield tightest(
            with_high_probability(
                each,
                each.averages(likely_step_size),
                functools.partial(likely_bound, delta=_DELTA),
                delta=_DELTA,
            )
            for each in several
        )
        yield tightest(
            with_decreasing_steps(
                each,
                functools.partial(decreasing_bound, delta=_DELTA),
                delta=_DELTA,
                step_size=decreasing_step_size,
            )
            for each in several
        )
        both = [almost_surely(each, summable_bound, scale=2.0) for each in several]
        yield from (tightest(rows) for rows in zip(*both, strict=True))
        # The constants of one step are small enough for the runs to get somewhere.
        horizon = 1 if discount == 1 else 2
        far = experiment(
            effort.run_seeds[0],
            horizon=horizon,
            discount=discount,
            updates=effort.rate_updates,
            runs=effort.runs,
        )
        averages = far.averages(expected_step_size)
        yield rate(far, averages)
        row = in_expectation(far, averages, expected_bound)
        yield dataclasses.replace(row, claim=f"{row.claim}, H = {horizon}, large K")
    yield horizon_exponent(
        lambda reward, horizon, bounds: episodic_beta(reward, int(horizon), bounds),
        lambda reward, horizon, bounds: episodic_noise(reward, int(horizon), bounds),
        claim="the leading term grows as H^3.5",
        statement="after the Theorem on finite-time convergence",
        exponent=3.5,
        sizes=(1e3, 1e4),
        horizon=lambda horizon: horizon,
    )
    yield horizon_exponent(
        discounted_beta,
        discounted_noise,
        claim="the leading term grows as (1 - gamma)^-3.5",
        statement="Section on discounted processes",
        exponent=3.5,
        sizes=(1 - 1e-3, 1 - 1e-4),
        horizon=lambda discount: 1 / (1 - discount),
    )
