"""How much each option matters, and the picture of it."""

import math

import numpy as np
import pytest

from asmpg.sweeps import Trial, TrialResult, explained, sensitivities
from asmpg.sweeps._figure import draw_sensitivity
from asmpg.sweeps._sweep_file import parse_sweep
from sweeps import SWEEP

TEXT = SWEEP + "[options.episodes_per_update]\nlow = 2\nhigh = 4\n"


@pytest.fixture(scope="module")
def sweep():
    return parse_sweep(TEXT, name="my.toml")


@pytest.fixture(scope="module")
def results(sweep):
    """Sixty trials whose score is a bump over the learning rate, with noise; the last two fail."""
    generator = np.random.default_rng(0)
    found = []
    for number in range(60):
        options = {name: each.draw(generator) for name, each in sweep.dimensions.items()}
        bump = -((math.log10(options["learning_rate"]) + 2) ** 2)
        scores = {250: bump + 0.05 * generator.standard_normal(), 500: 7.0}
        failure = "it diverged" if number >= 58 else None
        found.append(TrialResult(Trial(number, 0, options), {} if failure else scores, {}, failure))
    return found


def test_the_option_that_matters_comes_first(sweep, results):
    first, *others = sensitivities(sweep, results)
    assert first.name == "learning_rate"
    assert first.importance > 0.7
    assert all(each.importance < 0.15 for each in others)
    assert len(first.scores) == 58
    middles = [own.quartiles[1] for own in first.bins]
    assert np.argmax(middles) == 2
    assert [own.centre for own in first.bins] == sorted(own.centre for own in first.bins)


def test_bins_are_single_values_where_there_are_few(sweep, results):
    found = {each.name: [own.centre for own in each.bins] for each in sensitivities(sweep, results)}
    assert found["num_states"] == [2, 3]
    assert found["episodes_per_update"] == [2, 3, 4]


@pytest.mark.parametrize(
    ("scores", "groups", "share"),
    [
        ([1.0, 1.0, 2.0, 2.0], [[0, 1], [2, 3]], 1.0),
        ([1.0, 2.0, 1.0, 2.0], [[0, 1], [2, 3]], 0.0),
        # Within: 1 over 4 - 2; in all 10 over 4 - 1.
        ([0.0, 1.0, 3.0, 4.0], [[0, 1], [2, 3]], 1 - 0.5 / (10 / 3)),
        ([1.0, 2.0], [[0], [1]], None),
        ([1.0, 2.0, 3.0], [[0, 1, 2]], None),
        ([1.0, 1.0, 1.0], [[0, 1], [2]], None),
        ([], [], None),
    ],
)
def test_the_share_that_groups_explain(scores, groups, share):
    found = explained(np.asarray(scores, float), groups)
    assert found == (None if share is None else pytest.approx(share))


def test_the_figure_has_every_option_and_every_failure(sweep, results, tmp_path):
    drawn = draw_sensitivity(
        sweep, sensitivities(sweep, results), results, results[0], tmp_path / "figures"
    )
    text = drawn.paths[-1].read_text()
    assert all(f"<!-- {name} (" in text for name in sweep.dimensions)
    assert drawn.narrow.exists()
    assert "250 steps" in drawn.caption
