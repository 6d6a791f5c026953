"""All claims, in the order of the paper."""

import functools
import itertools
from collections.abc import Callable, Iterator

import jax

from asmpg.environments import NMDP
from asmpg.environments.tiger import Tiger
from asmpg.theory import _gaps
from asmpg.theory._constants import (
    discounted_beta,
    discounted_noise,
    episodic_beta,
    episodic_noise,
    factored_softmax_bounds,
    truncation_bias,
)
from asmpg.theory._convergence_claims import DISCOUNTED_THEOREM, EPISODIC_THEOREM, convergence_rows
from asmpg.theory._estimate_claims import estimate_bound, truncation
from asmpg.theory._gradient_claims import (
    baseline_lemma,
    gradient_theorem,
    q_weights,
    return_weights,
)
from asmpg.theory._ideal_state_claims import beliefs, cart_pole_integrator, histories, random_model
from asmpg.theory._processes import KernelFamily
from asmpg.theory._row import Effort, Row
from asmpg.theory._smoothness_claims import smoothness, softmax_claims

_DISCOUNT = 0.5


def verify(effort: Effort) -> Iterator[Row]:
    """Check one claim after the other, in float64, and then show the gaps."""
    rows = itertools.chain(
        _gradient_rows(effort),
        _softmax_rows(effort),
        _smoothness_rows(effort),
        convergence_rows(effort),
        _ideal_state_rows(effort),
        _gap_rows(),
    )
    while True:
        # Only while a row is computed: the caller's precision is the caller's business.
        with jax.enable_x64(True):
            row = next(rows, None)
        if row is None:
            return
        yield row


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
                EPISODIC_THEOREM,
            ),
            (
                effort.discounted_horizon,
                _DISCOUNT,
                discounted_beta(*discounted),
                discounted_noise(*discounted),
                "Lemma on smoothness, discounted",
                DISCOUNTED_THEOREM,
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
