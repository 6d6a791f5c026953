"""All claims, in the order of the paper."""

import dataclasses
import functools
from collections.abc import Callable, Iterator

import jax

from asmpg.envs import NMDP, Tiger
from asmpg.theory import _gaps
from asmpg.theory._constants import (
    discounted_beta,
    discounted_noise,
    episodic_beta,
    episodic_noise,
    factored_softmax_bounds,
    joint_softmax_bounds,
    truncation_bias,
)
from asmpg.theory._convergence_claims import (
    Experiment,
    almost_surely,
    in_expectation,
    rate,
    with_decreasing_steps,
    with_high_probability,
)
from asmpg.theory._estimate_claims import estimate_bound, truncation
from asmpg.theory._gradient_claims import (
    baseline_lemma,
    gradient_theorem,
    q_weights,
    return_weights,
)
from asmpg.theory._ideal_state_claims import (
    beliefs,
    cart_pole_integrator,
    histories,
    random_model,
)
from asmpg.theory._kernel_family import KernelFamily
from asmpg.theory._rates import (
    decreasing_bound,
    decreasing_step_size,
    expected_bound,
    expected_step_size,
    likely_bound,
    likely_step_size,
    summable_bound,
)
from asmpg.theory._row import Row, tightest
from asmpg.theory._runs import Laboratory
from asmpg.theory._scaling_claims import horizon_exponent
from asmpg.theory._smoothness_claims import smoothness
from asmpg.theory._softmax_claims import softmax_claims

_DELTA = 0.1
#: The discount where gradients are compared, and a shorter-sighted one where runs must get far.
_DISCOUNT, _RUN_DISCOUNT = 0.5, 0.2
_EPISODIC = "Theorem on finite-time convergence"
_DISCOUNTED = "Theorem on discounted convergence"


@dataclasses.dataclass(frozen=True)
class Effort:
    """How much to run.

    - `seeds`: of the random processes for identities, and `run_seeds` of those for runs;
    - `horizon`, `discounted_horizon`, `climb_steps`, `starts`: for the searches;
    - `updates`, `runs`: of the training runs; `rate_updates`: where the slope is taken.
    """

    seeds: tuple[int, ...]
    run_seeds: tuple[int, ...]
    horizon: int
    discounted_horizon: int
    climb_steps: int
    starts: int
    updates: tuple[int, ...]
    rate_updates: tuple[int, ...]
    runs: int


QUICK = Effort(
    seeds=(0, 1),
    run_seeds=(1,),
    horizon=2,
    discounted_horizon=2,
    climb_steps=200,
    starts=8,
    updates=(10, 100, 1000),
    rate_updates=(2000, 10_000),
    runs=20,
)
FULL = Effort(
    seeds=(0, 1, 2, 3, 4),
    run_seeds=(1, 2),
    horizon=3,
    discounted_horizon=4,
    climb_steps=500,
    starts=16,
    updates=(10, 30, 100, 300, 1000, 3000, 10_000),
    rate_updates=(1000, 10_000, 50_000),
    runs=100,
)


def verify(effort: Effort) -> Iterator[Row]:
    """Check one claim after the other, in float64, and then show the gaps."""
    with jax.enable_x64(True):
        yield from _gradient_rows(effort)
        yield from _softmax_rows(effort)
        yield from _smoothness_rows(effort)
        yield from _convergence_rows(effort)
        yield from _ideal_state_rows(effort)
        yield from _gap_rows()


def _gradient_rows(effort: Effort) -> Iterator[Row]:
    nmdps = [NMDP.random(seed, horizon=3) for seed in effort.seeds]
    forms = {"return": return_weights, "Q": q_weights}
    for number, (setting, discount) in enumerate(
        {"episodic": 1.0, "discounted": _DISCOUNT}.items(), start=1
    ):
        for form, weights in forms.items():
            yield gradient_theorem(
                nmdps,
                claim=f"{setting} policy gradient, {form} form",
                statement=f"Theorem {number}",
                discount=discount,
                weights=weights,
            )
    yield baseline_lemma(nmdps)


def _softmax_rows(effort: Effort) -> Iterator[Row]:
    for family in _families(observations=1):
        yield from softmax_claims(family, steps=effort.climb_steps)


def _smoothness_rows(effort: Effort) -> Iterator[Row]:
    for family in _families(observations=2):
        episodic = (1.0, effort.horizon, family.bounds)
        discounted = (1.0, _DISCOUNT, family.bounds)
        for horizon, discount, beta, noise, lemma, theorem in (
            (
                effort.horizon,
                1.0,
                episodic_beta(*episodic),
                episodic_noise(*episodic),
                "Lemma on smoothness, episodic",
                _EPISODIC,
            ),
            (
                effort.discounted_horizon,
                _DISCOUNT,
                discounted_beta(*discounted),
                discounted_noise(*discounted),
                "Lemma on smoothness, discounted",
                _DISCOUNTED,
            ),
        ):
            yield smoothness(
                family,
                horizon=horizon,
                discount=discount,
                reward_bound=1.0,
                beta=beta,
                statement=lemma,
                steps=effort.climb_steps,
                starts=effort.starts,
            )
            yield estimate_bound(
                family,
                horizon=horizon,
                discount=discount,
                reward_bound=1.0,
                noise=noise,
                statement=f"{theorem}, proof",
                steps=effort.climb_steps,
            )
    joint, cut = _families(observations=2)[0], effort.discounted_horizon - 1
    yield truncation(
        [NMDP.random(seed, horizon=effort.discounted_horizon) for seed in effort.seeds],
        joint,
        steps=cut,
        discount=_DISCOUNT,
        bias=truncation_bias(1.0, _DISCOUNT, joint.bounds, cut),
    )


def experiment(
    seed: int, *, horizon: int, discount: float, updates: tuple[int, ...], runs: int
) -> Experiment:
    """Runs of a joint softmax on the random process of this seed, with the paper's constants."""
    nmdp = NMDP.random(seed, horizon=horizon)
    bounds = joint_softmax_bounds()
    if discount == 1:
        arguments = (nmdp.reward_bound, horizon, bounds)
        beta, noise, theorem = episodic_beta(*arguments), episodic_noise(*arguments), _EPISODIC
    else:
        arguments = (nmdp.reward_bound, discount, bounds)
        beta, noise = discounted_beta(*arguments), discounted_noise(*arguments)
        theorem = _DISCOUNTED
    laboratory = Laboratory.joint(nmdp, discount=discount, seed=seed)
    return Experiment(laboratory, beta, noise, theorem, updates, runs)


def _convergence_rows(effort: Effort) -> Iterator[Row]:
    for discount in (1.0, _RUN_DISCOUNT):
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


def _ideal_state_rows(effort: Effort) -> Iterator[Row]:
    models = [*(random_model(seed) for seed in effort.seeds), Tiger().model]
    yield from beliefs(models, horizon=3)
    yield histories([NMDP.random(seed, horizon=3) for seed in effort.seeds])
    yield cart_pole_integrator(seeds=range(2))


def _gap_rows() -> Iterator[Row]:
    gaps: list[Callable[[], Row]] = [
        _gaps.steps_that_look,
        _gaps.no_stationary_point,
        functools.partial(_gaps.networks, bound=factored_softmax_bounds().score),
        _gaps.truncation_in_the_experiments,
        functools.partial(_gaps.unknown_start, seeds=range(2)),
        _gaps.joint_kernels_do_not_factor,
        functools.partial(_gaps.rewards_of_a_pomdp, Tiger().model, horizon=2),
    ]
    for gap in gaps:
        yield gap()


def _families(*, observations: int) -> list[KernelFamily]:
    return [KernelFamily("joint", 2, 2, observations), KernelFamily("tabular", 2, 2, observations)]
