"""`asmpg check`: does it fit, what does it cost, is memory needed?"""

import json

import numpy as np
import pytest
from gymnasium import spaces

import asmpg
from asmpg.analysis.check import CheckReport, Comparison, RandomPlay
from asmpg.cli import main
from host_environments import MazeInParts, NumPyCheeseMaze, RandomWalk, WalkInParts


def test_a_gymnasium_environment():
    report = asmpg.check(RandomWalk, seconds=0)
    assert report.fits
    assert report.stepped == "stepped on the host by Gymnasium"
    low, high = report.play.seen[1]
    assert (low, high) == (0, 7)
    assert report.play.mean_length < 7
    assert report.play.terminated > report.play.truncated > 0
    assert report.play.steps_per_second > 0
    assert report.observation_scale[1] == 7
    assert "observation_scale=" in str(report)
    assert json.loads(json.dumps(report.to_dict()))["fits"] is True


def test_parts_are_told_by_their_names():
    report = str(asmpg.check(MazeInParts, seconds=0))
    assert "one of 14 symbols, light[0]=0 shown=0 to light[0]=1 shown=6: policies" in report
    report = asmpg.check(WalkInParts, seconds=0)
    assert report.components == ("place[0]", "rest[0][0,0]")
    assert "× rest[0][0,0] in [0, 7]" in str(report)


def test_a_long_observation_scale_is_summarised():
    play = RandomPlay(100, 1.0, ((0.0, 10.0),) * 2835, (0.0, 1.0), 5.0, 20, 0)
    report = CheckReport("Grid", play=play)
    assert len(report.observation_scale) == 2835
    assert max(map(len, str(report).splitlines())) < 400
    assert "2,835 numbers from 10 to 10" in str(report)


def test_the_warnings_of_gymnasiums_own_checker_are_reported():
    class Careless(NumPyCheeseMaze):
        def reset(self, *, seed=None, options=None):
            observation, _ = super().reset()
            return observation, {}

    warnings = asmpg.check(Careless, seconds=0).warnings
    assert any("seed" in warning for warning in warnings)


def test_what_does_not_fit_is_reported_not_raised(capsys):
    class Continuous(NumPyCheeseMaze):
        action_space = spaces.Box(-1, np.inf, (2,))

    report = asmpg.check(Continuous)
    assert not report.fits
    assert str(report).startswith("Continuous does not fit: actions must have finite bounds, got")
    with pytest.raises(SystemExit) as stop:
        main(["check", "CliffWalking-v9"])
    assert stop.value.code == 2
    main(["check", "Pendulum-v1", "--seconds", "0"])
    assert "a real vector in [-2, 2]" in capsys.readouterr().out


def test_one_of_ours_by_the_command_line(capsys):
    main(["check", "CheeseMaze", "--seconds", "0", "--json"])
    report = json.loads(capsys.readouterr().out)
    assert report["stepped"] == "compiled"
    assert report["play"]["seen"] == 7
    assert report["comparison"] is None


@pytest.mark.long
@pytest.mark.usefixtures("as_user")  # The checks of types take more time than all the rest.
def test_the_comparison_trains_both_to_the_same_number_of_steps():
    found = asmpg.check(RandomWalk, seconds=0.5, num_states=2).comparison
    assert len(found.with_memory) == len(found.without_memory) == 4
    assert np.isfinite([*found.with_memory, *found.without_memory]).all()
    assert found.steps > 0


@pytest.mark.parametrize(
    ("with_memory", "without_memory", "verdict"),
    [
        ((5.0, 5.1, 4.9, 5.0), (3.0, 3.1, 2.9, 3.0), "memory helps"),
        ((3.0, 3.1, 2.9, 3.0), (5.0, 5.1, 4.9, 5.0), "without it the return is higher"),
        ((3.0, 5.0, 1.0, 4.0), (4.0, 2.0, 3.0, 4.0), "no difference yet"),
        ((1.0, 1.0, 1.0, 1.0), (1.0, 1.0, 1.0, 1.0), "neither has learned"),
    ],
)
def test_the_verdict_says_no_more_than_the_interval(with_memory, without_memory, verdict):
    found = Comparison(1000, 8, with_memory, without_memory, start=1.0)
    assert verdict in found.verdict
    low, high = found.interval
    assert low <= found.difference <= high


def test_the_interval_is_welchs():
    found = Comparison(1, 8, (1.0, 2.0, 3.0, 4.0), (2.0, 2.0, 3.0, 3.0), start=0.0)
    # Computed by hand: variances 5/3 and 1/3, standard error sqrt(1/2), 4.15 degrees of freedom.
    low, high = found.interval
    assert found.difference == 0
    assert high == pytest.approx(-low)
    assert high == pytest.approx(2.737 * np.sqrt(0.5), abs=0.01)
