"""The statistics of studies, against closed forms and numbers of an independent implementation.

`X` and `Y` were given to SciPy: `trim_mean`, `mannwhitneyu`, and `bootstrap` with 200,000
percentile resamples; what it gave is written down here.
"""

import math

import numpy as np
import pytest

from asmpg.analysis.statistics import (
    Interval,
    difference_interval,
    improvement_interval,
    interquartile_mean,
    interquartile_mean_interval,
    probability_of_improvement,
    steps_to,
    stratified_bootstrap,
)

X = np.array([0.12, 0.5, 0.31, 0.94, 0.27, 0.66, 0.08, 0.71, 0.45, 0.39])
Y = np.array([0.2, 0.31, 0.05, 0.6, 0.33, 0.27, 0.5, 0.11, 0.09])
#: The ends of an interval come from a few thousand resamples of ten numbers.
TOLERANCE = 0.02


def test_the_interquartile_mean_drops_a_quarter_at_either_end():
    assert interquartile_mean(np.array([100.0, 3, 2, -50])) == 2.5
    assert interquartile_mean(np.array([1.0, 2, 9])) == 4
    assert interquartile_mean(np.arange(10.0)) == pytest.approx(4.5)
    assert interquartile_mean(X) == pytest.approx(0.43)
    assert interquartile_mean(Y) == pytest.approx(0.244)
    np.testing.assert_allclose(interquartile_mean(np.stack([X, X + 1])), [0.43, 1.43])


def test_probability_of_improvement_counts_ties_half():
    assert probability_of_improvement(np.array([1.0]), np.array([1.0])) == 0.5
    assert probability_of_improvement(np.array([2.0, 3]), np.array([1.0, 0])) == 1
    assert probability_of_improvement(np.array([0.0, 2]), np.array([1.0, 2])) == 3 / 8
    assert probability_of_improvement(X, Y) == pytest.approx(62.5 / 90)
    assert probability_of_improvement(Y, X) == pytest.approx(1 - 62.5 / 90)


@pytest.mark.parametrize(
    ("interval", "expected"),
    [
        (lambda n: interquartile_mean_interval([X], resamples=n), (0.43, 0.25, 0.62333)),
        (lambda n: interquartile_mean_interval([X, Y], resamples=n), (0.33182, 0.22182, 0.45636)),
        (lambda n: difference_interval(X, Y, resamples=n), (0.186, -0.06333, 0.408)),
        (lambda n: improvement_interval([X], [Y], resamples=n), (0.69444, 0.43889, 0.91111)),
    ],
)
def test_intervals_are_those_of_an_independent_implementation(interval, expected):
    np.testing.assert_allclose(interval(20_000), expected, atol=TOLERANCE / 2)
    np.testing.assert_allclose(interval(2000), expected, atol=TOLERANCE)


def test_the_bootstrap_of_a_mean_is_as_wide_as_theory_says():
    values = np.random.default_rng(0).normal(size=400)
    interval = stratified_bootstrap([values], lambda drawn: drawn[0].mean(axis=-1))
    assert interval.value == pytest.approx(values.mean())
    wide = 2 * 1.96 * values.std() / math.sqrt(400)
    # Each end is a quantile of 2,000 resamples: within five in a hundred of the width.
    assert interval.high - interval.low == pytest.approx(wide, rel=0.05)


def test_strata_are_resampled_on_their_own():
    """Without spread inside environments there is none in the average over them."""
    assert interquartile_mean_interval([np.zeros(5), np.ones(5)]) == Interval(0.5, 0.5, 0.5)
    apart = [np.zeros(4), np.full(4, 100.0)]
    better = [stratum + 1 for stratum in apart]
    assert improvement_interval(better, apart) == Interval(1.0, 1.0, 1.0)
    half = improvement_interval([np.ones(3), np.zeros(3)], [np.zeros(3), np.ones(3)])
    assert half == Interval(0.5, 0.5, 0.5)


def test_the_same_call_gives_the_same_interval():
    assert interquartile_mean_interval([X]) == interquartile_mean_interval([X])
    assert interquartile_mean_interval([X]) != interquartile_mean_interval([X], seed=1)


def test_a_wider_level_gives_a_wider_interval():
    narrow, wide = (interquartile_mean_interval([X], level=level) for level in (0.5, 0.99))
    assert wide.low < narrow.low < narrow.value < narrow.high < wide.high


def test_steps_to_a_threshold_that_is_kept():
    steps = np.array([0, 10, 20, 30, 40])
    scores = np.array([0.0, 0.9, 0.4, 0.8, 0.9])
    assert steps_to(steps, scores, 0.8) == 30
    assert steps_to(steps, scores, 0.8, keep=False) == 10
    assert steps_to(steps, scores, 0.0) == 0
    assert steps_to(steps, scores, 0.91) == math.inf
    assert steps_to(steps[:3], scores[:3], 0.5) == math.inf


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: interquartile_mean_interval([]), "strata must have at least one value"),
        (lambda: interquartile_mean_interval([X], level=2), "level must be a number in"),
        (lambda: interquartile_mean_interval([X], resamples=0), "resamples must be an integer"),
        (lambda: improvement_interval([X], [X, Y]), "theirs must have as many environments"),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
