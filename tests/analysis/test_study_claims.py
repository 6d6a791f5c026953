"""Claims of a study: where they hold, by one measure for all methods, on which seeds."""

import csv
import dataclasses

import numpy as np
import pytest

from asmpg.analysis import collect, environments_where, judge, summarise, write_tables
from asmpg.analysis.figures import draw_figures, figures
from asmpg.analysis.report import page
from asmpg.analysis.statistics import mean_over_steps
from studies import make_up, prepare, study

THEIRS = ["ais-kl", "mine"]
CLAIMS = {
    "first": {"label": "ours & theirs", "ours": "asmpg", "theirs": THEIRS},
    "turned": {"ours": "mine", "theirs": ["asmpg"]},
}


def claiming(**changes):
    seeds = {"seeds": [1, 2, 3, 4], "selection_seeds": [1, 2]}
    environments = {"environments": ["CheeseMaze", "HealthcareTreatment"]}
    return study(**({"claims": CLAIMS} | seeds | environments | changes))


def score(environment, entry, place, share):
    """In CheeseMaze ours ends highest and is lowest before; the third and fourth seed fail."""
    if environment == "HealthcareTreatment":
        return {"asmpg": 0.5, "ais-kl": 0.1, "mine": 0.3}[entry] + 0.01 * place
    if entry != "asmpg":
        return 0.4 + 0.01 * place
    ends = 0.9 if place < 2 else 0.2
    return (ends if share == 1 else 0.0) + 0.01 * place


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_up(prepare(tmp_path_factory.mktemp("claims") / "study", claiming()), score)


@pytest.fixture(scope="module")
def results(folder):
    return collect(folder)


def test_verdicts_by_environment_measure_and_seeds(results):
    found = {(v.claim.name, v.environment, v.measure, v.seeds): v.verdict for v in judge(results)}
    # Two claims, two environments, three measures, three groups of seeds.
    assert len(found) == 2 * 2 * 3 * 3
    last = [found["first", "CheeseMaze", "final", group] for group in ("selection", "confirmation")]
    assert last == ["holds", "fails"]
    assert found["first", "CheeseMaze", "final", "all"] == "open"
    assert found["first", "CheeseMaze", "area", "all"] == "fails"
    assert found["turned", "CheeseMaze", "area", "all"] == "holds"
    for measure in ("final", "best", "area"):
        assert found["first", "HealthcareTreatment", measure, "all"] == "holds"
        assert found["turned", "HealthcareTreatment", measure, "all"] == "fails"


def test_numbers_behind_a_verdict(results):
    claim = results.study.claims[0]
    verdicts = judge(results)
    verdict = next(v for v in verdicts if v.environment == "HealthcareTreatment")
    # The middle two of four seeds; the highest of theirs is what ours is compared with.
    assert verdict.ours.value == pytest.approx(0.515)
    assert (verdict.closest, verdict.number) == ("mine", 4)
    assert verdict.difference.value == pytest.approx(0.2)
    assert verdict.highest_mean
    assert verdict.highest_median
    assert environments_where(verdicts, claim, "final") == ["HealthcareTreatment"]
    both = ["CheeseMaze", "HealthcareTreatment"]
    assert environments_where(verdicts, claim, "final", "selection") == both


def test_a_claim_is_judged_on_the_seeds_that_all_of_its_entries_have(results):
    """Ours fails in the last two seeds, which one of theirs does not have."""
    place = ("CheeseMaze", "mine")
    whole = results.curves[place]
    parts = {name: getattr(whole, name)[:2] for name in ("seeds", "own", "best", "best_steps")}
    curves = {**results.curves, place: dataclasses.replace(whole, **parts, memory={})}
    found = {
        (v.claim.name, v.environment, v.measure, v.seeds): v
        for v in judge(type(results)(**{**vars(results), "curves": curves}))
    }
    last = found["first", "CheeseMaze", "final", "all"]
    assert (last.verdict, last.number) == ("holds", 2)
    assert last.ours == found["first", "CheeseMaze", "final", "selection"].ours
    assert ("first", "CheeseMaze", "final", "confirmation") not in found


def test_without_selection_seeds_all_seeds_are_judged_together(tmp_path):
    folder = make_up(prepare(tmp_path, claiming(selection_seeds=[])), score)
    assert {verdict.seeds for verdict in judge(collect(folder))} == {"all"}


def test_a_single_seed_decides_nothing(tmp_path):
    folder = make_up(prepare(tmp_path, claiming(seeds=[1])), score)
    verdicts = judge(collect(folder))
    assert {verdict.verdict for verdict in verdicts} == {"open"}
    assert {verdict.seeds for verdict in verdicts} == {"all", "selection"}


def test_claims_without_results_of_all_entries_are_left_out(folder, results):
    part = {key: curves for key, curves in results.curves.items() if key[1] != "ais-kl"}
    verdicts = judge(type(results)(**{**vars(results), "curves": part}))
    assert {verdict.claim.name for verdict in verdicts} == {"turned"}


def test_tables_figure_and_page(folder, results, tmp_path):
    summary = summarise(results)
    write_tables(results, summary, tmp_path)
    with open(tmp_path / "claims.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 36
    assert {row["verdict"] for row in rows} == {"holds", "fails", "open"}
    with open(tmp_path / "summary.csv", newline="") as file:
        first = next(csv.DictReader(file))
    # Zero and its hundredths up to the last tenth, then a straight line.
    assert float(first["area_iqm"]) == pytest.approx(0.015 + 0.05 * (0.9 + 0.2) / 2)
    pictures = draw_figures(results, summary, tmp_path)
    assert pictures[0].name == "claims"
    html = page(folder, results, summary, pictures)
    assert "ours &amp; theirs" in html
    assert "id='claims-section'" in html


def test_curves_are_drawn_for_the_first_claim(tmp_path):
    claims = {"first": {"ours": "ais-kl", "theirs": ["asmpg"]}}
    folder = make_up(prepare(tmp_path, claiming(claims=claims)), score)
    found = collect(folder)
    drawn = {each.name: each for each in figures(found, summarise(found))}
    texts = drawn["learning_curves"].draw(3).axes[-1].get_legend().get_texts()
    labels = [text.get_text() for text in texts]
    assert [label.split(" (")[0] for label in labels[:2]] == ["ASMPG", "ais-kl"]
    assert not any(label.startswith("mine") for label in labels)


def test_the_pairs_that_are_needed_are_compared(results):
    summary = summarise(results)
    for environment in results.environments:
        summary.winner(environment)
    assert summary.comparison("CheeseMaze", "mine", "asmpg", "area").difference.value > 0


@pytest.mark.parametrize(
    ("claims", "message"),
    [
        ({"a": {"ours": "who", "theirs": THEIRS}}, "claims.a.ours must be one of asmpg, ais-kl"),
        ({"a": {"ours": "mine"}}, "claims.a.theirs must be a list of entries, got None"),
        ({"a": {"ours": "mine", "theirs": ["mine"]}}, "claims.a.theirs must be one of asmpg, ais"),
        ({"a": {"ours": "mine", "wins": 1}}, "claims.a.wins is not known; accepted: label, ours"),
    ],
)
@pytest.mark.usefixtures("as_user")
def test_wrong_claims_are_named(claims, message):
    with pytest.raises(ValueError, match=message):
        claiming(claims=claims)


def test_a_part_of_a_study_keeps_the_claims_of_its_entries():
    part = claiming().restricted(entries=["asmpg", "mine"])
    assert [claim.name for claim in part.claims] == ["turned"]


def test_the_area_is_that_under_straight_lines():
    steps, scores = np.array([0, 100, 400]), np.array([0.0, 1.0, 0.5])
    assert mean_over_steps(steps, scores) == pytest.approx((50 + 225) / 400)
    assert mean_over_steps(steps[:1], scores[2:]) == 0.5
