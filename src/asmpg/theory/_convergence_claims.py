"""The Theorem "Finite-time convergence", part by part, on real runs."""

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from jaxtyping import Float

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
from asmpg.theory._row import Curve, Effort, Row, tightest
from asmpg.theory._runs import Laboratory
from asmpg.theory._smoothness_claims import horizon_exponent

_DELTA = 0.1
#: Short-sighted, so that the constants are small enough for the runs to get somewhere.
_DISCOUNT = 0.2
EPISODIC_THEOREM = "Theorem on finite-time convergence"
DISCOUNTED_THEOREM = "Theorem on discounted convergence"
#: `beta, C, Delta_1, K` to a number.
Formula = Callable[[float, float, float, int], float]


@dataclasses.dataclass(frozen=True)
class Experiment:
    """A laboratory, its constants, and how much to run.

    `theorem` names the statement: that for episodic or that for discounted processes.
    """

    laboratory: Laboratory
    beta: float
    noise: float
    theorem: str
    updates: tuple[int, ...]
    runs: int

    @property
    def setting(self) -> str:
        return self.laboratory.method.objective

    def averages(self, step_size: Formula) -> Float[np.ndarray, "K N"]:
        """`1/K sum_k |grad J(theta_k)|^2` for each `K`, with the constant step size of that `K`."""
        rows = []
        for updates in self.updates:
            scale = step_size(self.beta, self.noise, self.laboratory.gap, updates)
            runs = self.laboratory.start(runs=self.runs)
            runs = self.laboratory.advance(runs, updates=updates, scale=scale)
            rows.append(np.asarray(runs.squared) / updates)
        return np.stack(rows)

    def bounds(self, formula: Formula) -> list[float]:
        """The right-hand side for each `K`."""
        gap = self.laboratory.gap
        return [formula(self.beta, self.noise, gap, updates) for updates in self.updates]


def in_expectation(
    experiment: Experiment, averages: Float[np.ndarray, "K N"], bound: Formula
) -> Row:
    """Part (a): the mean over runs, and three standard errors, are below the bound for all `K`."""
    errors = 3 * averages.std(axis=1, ddof=1) / math.sqrt(averages.shape[1])
    return _nearest(
        experiment,
        "(a): average |grad J|^2 in expectation",
        "(a)",
        "mean over runs + 3 standard errors",
        averages.mean(axis=1) + errors,
        experiment.bounds(bound),
    )


def with_high_probability(
    experiment: Experiment, averages: Float[np.ndarray, "K N"], bound: Formula, *, delta: float
) -> Row:
    """Part (b)(i): the `1 - delta` quantile over runs is below the bound for every `K`."""
    return _nearest(
        experiment,
        f"(b)(i): average |grad J|^2 with probability {1 - delta:g}",
        "(b)(i)",
        f"{1 - delta:g} quantile over runs",
        np.quantile(averages, 1 - delta, axis=1, method="higher"),
        experiment.bounds(bound),
    )


def with_decreasing_steps(
    experiment: Experiment,
    bound: Formula,
    *,
    delta: float,
    step_size: Callable[[float, int], float],
) -> Row:
    """Part (b)(ii): step sizes `1 / (beta sqrt k)`; the same runs serve every `K`."""
    laboratory = experiment.laboratory
    runs = laboratory.start(runs=experiment.runs)
    quantiles = []
    for updates in experiment.updates:
        runs = laboratory.advance(
            runs, updates=updates, scale=step_size(experiment.beta, 1), power=0.5
        )
        averages = np.asarray(runs.squared) / updates
        quantiles.append(np.quantile(averages, 1 - delta, method="higher"))
    return _nearest(
        experiment,
        f"(b)(ii): decreasing steps, with probability {1 - delta:g}",
        "(b)(ii)",
        f"{1 - delta:g} quantile over runs",
        np.array(quantiles),
        experiment.bounds(bound),
    )


def rate(
    experiment: Experiment, averages: Float[np.ndarray, "K N"], *, exponent: float = -0.5
) -> Row:
    """The average falls as `K^-1/2`: the slope between the two largest `K`, on log scales.

    The bound falls like that from the start. Real averages stay flat until the runs have moved,
    then fall; the tolerance is 0.15.
    """
    mean = averages.mean(axis=1)
    first, last = experiment.updates[-2:]
    slope = math.log(mean[-1] / mean[-2]) / math.log(last / first)
    return Row(
        f"{experiment.setting} rate O(1 / sqrt K)",
        f"{experiment.theorem} (a)",
        f"distance of the slope from {exponent:g}, K from {first} to {last}: slope {slope:.3f}",
        abs(slope - exponent),
        0.15,
        kind="identity",
    )


def almost_surely(
    experiment: Experiment,
    bound: Callable[[float, float, float, float], float],
    *,
    scale: float,
    power: float = 0.75,
) -> list[Row]:
    """Part (c): steps `scale k^-3/4`, whose sum is infinite and whose squares are summable.

    No finite run shows a limit. What can be measured: the sum behind the proof is bounded, and the
    gradients at the end, root mean square over runs, are below those of the first tenth.
    """
    laboratory = experiment.laboratory
    updates = experiment.updates[-1]
    early = laboratory.advance(
        laboratory.start(runs=experiment.runs), updates=updates // 10, scale=scale, power=power
    )
    late = laboratory.advance(early, updates=updates, scale=scale, power=power)
    steps = scale * np.arange(1, updates + 1) ** -power
    weighted = np.asarray(late.weighted)
    first = np.mean(early.squared) / (updates // 10)
    limit = bound(experiment.beta, experiment.noise, laboratory.gap, float(np.square(steps).sum()))
    return [
        Row(
            f"{experiment.setting} (c): sum of alpha_k |grad J|^2 is finite",
            f"{experiment.theorem} (c), proof",
            f"mean over runs + 3 standard errors, K = {updates}",
            float(weighted.mean() + 3 * weighted.std(ddof=1) / math.sqrt(len(weighted))),
            limit,
        ),
        Row(
            f"{experiment.setting} (c): decreasing steps drive the gradient down",
            f"{experiment.theorem} (c)",
            f"|grad J| at K = {updates} over that up to {updates // 10}, root mean squares",
            float(np.sqrt(np.mean(late.last) / first)),
            0.9,
            kind="trend",
        ),
        Row(
            f"{experiment.setting} estimates of real runs <= C / 2",
            f"{experiment.theorem}, proof",
            f"largest |g-hat_k| of {experiment.runs} runs, K = {updates}",
            float(np.asarray(late.largest).max()),
            experiment.noise / 2,
        ),
    ]


def _nearest(
    experiment: Experiment,
    title: str,
    part: str,
    what: str,
    measured: Float[np.ndarray, " K"],
    bounds: Sequence[float],
) -> Row:
    """One row for all `K`: the one where the bound is nearest."""
    nearest = int(np.argmax(measured / bounds))
    return Row(
        f"{experiment.setting} {title}",
        f"{experiment.theorem} {part}",
        f"{what}, nearest at K = {experiment.updates[nearest]}",
        float(measured[nearest]),
        float(bounds[nearest]),
        curve=Curve(
            experiment.updates, tuple(map(float, measured)), tuple(float(b) for b in bounds)
        ),
    )


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
