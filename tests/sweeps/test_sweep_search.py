"""Which trials are run, how far, together with which, and what is left of it after a kill."""

import csv
import itertools
import json
import math
from pathlib import Path

import pytest

import asmpg
from asmpg.analysis.figures import Picture
from asmpg.sweeps import SweepFolder
from asmpg.sweeps._optuna import ask
from asmpg.sweeps._sweep_file import parse_sweep
from sweeps import SWEEP, MakingUp, made_up


@pytest.fixture(autouse=True)
def _made_up(monkeypatch):
    made_up(monkeypatch)
    nothing = Picture("", "", "", (), Path())
    monkeypatch.setattr("asmpg.sweeps._report.draw_sensitivity", lambda *_: nothing)
    monkeypatch.setattr("asmpg.sweeps._report.figures_section", lambda _: "")


def score(options, share):
    """More states and learning rates near 0.01 are better."""
    return share * (options["num_states"] - abs(math.log10(options["learning_rate"]) + 2))


def run(tmp_path, text=SWEEP, score=score, out="out"):
    """Run a sweep with made-up scores; what it found, and who did it."""
    (tmp_path / "my.toml").write_text(text)
    executor = MakingUp(score)
    found = asmpg.sweep(tmp_path / "my.toml", out=tmp_path / out, executor=executor, quiet=True)
    return found, executor


def test_trials_of_one_structure_run_abreast_and_the_best_half_goes_on(tmp_path):
    found, executor = run(tmp_path)
    options = [each.trial.options for each in found.results]
    first = [trials for trials, until in executor.submitted if until == 250]
    assert sorted(itertools.chain(*first)) == list(range(8))
    assert all(len(trials) <= 3 for trials in first)
    assert all(len({options[trial]["num_states"] for trial in trials}) == 1 for trials in first)
    ranked = sorted(range(8), key=lambda trial: -score(options[trial], 1.0))
    for until, number in ((500, 4), (1000, 2)):
        ran = [trials for trials, end in executor.submitted if end == until]
        assert sorted(itertools.chain(*ran)) == sorted(ranked[:number])
    assert found.best.trial.number == ranked[0]
    assert found.best.score == pytest.approx(score(options[ranked[0]], 1.0) + 0.005)
    assert [found.statuses.count(kind) for kind in ("finished", "stopped", "failed")] == [2, 6, 0]


def test_what_is_finished_is_never_run_again(tmp_path):
    found, _ = run(tmp_path)
    again, executor = run(tmp_path)
    assert executor.submitted == []
    assert [each.scores for each in again.results] == [each.scores for each in found.results]


@pytest.mark.parametrize("jobs", [1, 4])
def test_a_killed_sweep_makes_the_same_choices_when_it_is_resumed(tmp_path, monkeypatch, jobs):
    whole, unbroken = run(tmp_path, out="whole")
    counter = itertools.count(1)
    submit = MakingUp.submit

    def killed(self, *arguments):
        if next(counter) > jobs:
            raise SystemExit("killed")
        return submit(self, *arguments)

    monkeypatch.setattr(MakingUp, "submit", killed)
    with pytest.raises(SystemExit):
        run(tmp_path)
    monkeypatch.setattr(MakingUp, "submit", submit)
    found, executor = run(tmp_path)
    assert len(executor.submitted) == len(unbroken.submitted) - jobs
    tables = [(tmp_path / out / "tables" / "trials.csv").read_text() for out in ("whole", "out")]
    assert tables[0] == tables[1]
    assert found.best.trial == whole.best.trial


def test_more_trials_may_be_asked_for_later_but_not_others(tmp_path):
    text = SWEEP.replace("rungs = [250, 500]\n", "")
    found, _ = run(tmp_path, text)
    more, executor = run(tmp_path, text.replace("trials = 8", "trials = 10"))
    assert [each.trial for each in more.results[:8]] == [each.trial for each in found.results]
    assert sorted(itertools.chain(*(trials for trials, _ in executor.submitted)))[-2:] == [8, 9]
    with pytest.raises(ValueError, match="out holds another sweep: steps is 1000 there and 500"):
        run(tmp_path, text.replace("steps = 1_000", "steps = 500"))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("")
    with pytest.raises(ValueError, match="full is neither"):
        run(tmp_path, out="full")


def test_a_grid_has_every_combination(tmp_path):
    text = SWEEP.replace("trials = 8\nrungs = [250, 500]", 'how = "grid"')
    text = text.replace('scale = "log"', 'scale = "log"\npoints = 3')
    found, _ = run(tmp_path, text)
    tried = {tuple(each.trial.options.values()) for each in found.results}
    assert tried == {*itertools.product((0.001, 0.01, 0.1), (2, 3))}
    assert found.best.trial.options == {"learning_rate": 0.01, "num_states": 3}
    [importance] = [each.importance for each in found.sensitivities if each.name == "num_states"]
    # By hand: the squares between and within the two groups of three trials.
    scores = {each.trial.number: each.score for each in found.results}
    assert sorted(scores.values()) == pytest.approx([1.005, 1.005, 2.005, 2.005, 2.005, 3.005])
    assert importance == pytest.approx(1 - (4 / 3 / 4) / ((17 / 6) / 5))


def test_trials_that_diverge_lose_and_are_no_error(tmp_path):
    def some(options, share):
        return None if options["learning_rate"] > 0.01 else score(options, share)

    found, _ = run(tmp_path, score=some)
    wrong = [each for each in found.results if each.trial.options["learning_rate"] > 0.01]
    assert wrong
    assert all(each.failure == "it diverged" and not each.scores for each in wrong)
    assert found.statuses.count("failed") == len(wrong)
    assert found.best.trial.options["learning_rate"] <= 0.01
    with open(tmp_path / "out" / "tables" / "trials.csv") as file:
        rows = list(csv.DictReader(file))
    assert [row["failure"] for row in rows].count("it diverged") == len(wrong)
    _, executor = run(tmp_path, score=some)
    assert executor.submitted == []


def test_if_all_diverge_that_is_an_error(tmp_path):
    with pytest.raises(asmpg.TrainingError, match="no trial with a score yet: it diverged"):
        run(tmp_path, score=lambda *_: None)


def test_options_that_do_not_go_together_fail_alone(tmp_path):
    text = SWEEP.replace("trials = 8\nrungs = [250, 500]", 'how = "grid"')
    both = "[options.window]\nvalues = [0, 1]\n[options.time_indexed]\nvalues = [false, true]\n"
    found, executor = run(
        tmp_path, text.split("[options.learning_rate]")[0] + both, score=lambda _, share: share
    )
    [failed] = [each for each in found.results if each.failure]
    assert failed.trial.options == {"window": 1, "time_indexed": True}
    assert failed.failure == "window must be 0 for time_indexed=True, got 1"
    assert sorted(trials for trials, _ in executor.submitted) == [[0], [1], [2]]


@pytest.mark.parametrize(("objective", "expected"), [("final", 0.0), ("best", 2.0), ("area", 1.0)])
def test_objectives(tmp_path, objective, expected):
    """A curve that rises to 2 in the middle, and falls to 0 again."""
    text = SWEEP.replace("trials = 8\nrungs = [250, 500]", f'trials = 1\nobjective = "{objective}"')
    found, _ = run(tmp_path, text, score=lambda _, share: 2 - 4 * abs(share - 0.5))
    assert found.best.score == pytest.approx(expected + 0.005)


def test_several_environments_are_averaged_in_their_ranges(tmp_path):
    text = SWEEP.replace('["CheeseMaze"]', '["CheeseMaze", "Tiger"]').replace(
        "[options]", "[ranges]\nCheeseMaze = [0.0, 4.0]\nTiger = [-1.0, 1.0]\n\n[options]"
    )
    text = text.replace("trials = 8\nrungs = [250, 500]", "trials = 1")
    found, executor = run(tmp_path, text, score=lambda *_: 1.0)
    assert len(executor.submitted) == 2
    assert found.best.score == pytest.approx((1.005 / 4 + 2.005 / 2) / 2)


def test_a_damaged_plan_is_named(tmp_path):
    run(tmp_path)
    plan = tmp_path / "out" / "plan.json"
    content = json.loads(plan.read_text())
    content["jobs"] = [{"environment": "CheeseMaze", "trials": ["x"], "until": 250}]
    plan.write_text(json.dumps(content))
    with pytest.raises(
        asmpg.CheckpointError, match=r"plan.json is damaged.* a trial must be a int"
    ):
        SweepFolder(tmp_path / "out")


@pytest.fixture
def told(monkeypatch):
    """The trials that each study of Optuna was told of before it was asked."""
    optuna = pytest.importorskip("optuna")
    create_study, told = optuna.create_study, []

    def watched(**options):
        study = create_study(**options)
        told.append(study)
        return study

    monkeypatch.setattr(optuna, "create_study", watched)
    return lambda: [[each for each in study.trials if each.state.is_finished()] for study in told]


def test_optuna_is_asked_in_batches_and_told_what_became_of_them(tmp_path, told):
    """With 12 trials told, more than it draws at random, the last batch is its estimator's."""

    def some(options, share):
        return None if options["learning_rate"] > 0.05 else score(options, share)

    text = SWEEP.replace("trials = 8", 'how = "optuna"\ntrials = 14\nbatch = 6')
    found, _ = run(tmp_path, text, some)
    assert [each.trial.batch for each in found.results] == [0] * 6 + [1] * 6 + [2] * 2
    assert [len(trials) for trials in told()] == [0, 6, 12]
    for each, trial in zip(found.results, told()[-1], strict=False):
        options = {**trial.params, "num_states": (2, 3)[trial.params["num_states"]]}
        assert options == each.trial.options
        assert trial.intermediate_values == dict(each.scores)
        finished = each.failure is None and each.steps == 1000
        assert (trial.state.name, trial.value) == (
            ("COMPLETE", each.score) if finished else ("PRUNED", None)
        )
    assert {each.steps for each in found.results} == {0, 250, 500, 1000}
    assert any(each.failure for each in found.results)
    run(tmp_path, text, some)
    assert len(told()) == 3, "nothing is asked for twice"
    sweep = parse_sweep(text, name="my.toml")
    asked = ask(sweep, found.results[:12], count=2, batch=2)
    assert asked == [each.trial.options for each in found.results[12:]], "it repeats itself"


def test_optuna_is_not_needed_otherwise():
    assert parse_sweep(SWEEP, name="my.toml", check=True).trials == 8
