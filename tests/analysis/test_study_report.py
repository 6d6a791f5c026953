"""What is made of the runs: tables, figures, and a report that works in a browser."""

import csv
import dataclasses
import json
import math
import re
import shutil

import numpy as np
import pytest

from asmpg import cli
from asmpg.analysis import collect, summarise, write_tables
from asmpg.analysis.figures import draw_figures, styles
from asmpg.analysis.report import answer, page
from asmpg.analysis.report._machines import machine_section, median_machines
from asmpg.exact import Yardstick, Yardsticks
from asmpg.studies import StudyFolder
from asmpg.training import train
from browser import CHROMIUM, browse
from studies import ENVIRONMENTS, make_up, prepare, spread_out, study

FIGURES = (
    "learning_curves",
    "best_checkpoints",
    "interquartile_means",
    "probability_of_improvement",
    "steps_to_95",
    "memory",
)


#: An entry whose label has to be escaped.
LABELLED = {"asmpg": {"label": "<b>ASMPG</b> & 'co'"}, "ais-kl": {}, "mine": {"method": "asmpg"}}


@pytest.fixture(scope="module", autouse=True)
def _yardsticks():
    """Random scores 0, the optimum 1, whatever the criterion."""
    values = Yardsticks(*(Yardstick(value, value, value) for value in (0.0, 0.3, 0.4, 1.0, 1.2)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("asmpg.exact.yardsticks", lambda *_, **__: values, raising=False)
        yield


def rows(path):
    with open(path, encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def folder(tmp_path):
    return make_up(prepare(tmp_path / "study", study()), spread_out)


@pytest.fixture
def results(folder):
    return collect(folder)


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    """A study whose report has been written."""
    path = tmp_path_factory.mktemp("reported") / "study"
    folder = make_up(prepare(path, study(entries=LABELLED)), spread_out)
    cli.main(["report", str(folder.path)])
    return folder


def test_results_are_those_of_the_runs(results):
    assert results.missing == ()
    curves = results.curves["CheeseMaze", "ais-kl"]
    assert curves.scores.shape == (4, 11)
    np.testing.assert_allclose(curves.final, [0.5, 0.51, 0.52, 0.53])
    np.testing.assert_allclose(results.normalised("CheeseMaze", curves.best), curves.final)


def test_tables_say_what_the_runs_say(results, tmp_path):
    write_tables(results, summarise(results), tmp_path)
    by_seed = rows(tmp_path / "results.csv")
    assert len(by_seed) == 3 * 3 * 4
    first = by_seed[0]
    assert (first["environment"], first["entry"], first["seed"]) == ("CheeseMaze", "asmpg", "1952")
    assert float(first["final"]) == 0.9
    # 0.9 t + 0.00 reaches 0.9 at the last evaluation, 0.95 never.
    assert (first["steps_to_90"], first["steps_to_95"]) == ("1000", "inf")
    summary = {(row["environment"], row["entry"]): row for row in rows(tmp_path / "summary.csv")}
    row = summary["HealthcareTreatment", "asmpg"]
    # Of 0.90, 0.91, 0.92, 0.93 the first and the last are dropped.
    assert float(row["final_iqm"]) == pytest.approx(0.915)
    assert 0.90 <= float(row["final_iqm_low"]) < 0.915 < float(row["final_iqm_high"]) <= 0.93
    assert float(row["final_worst"]) == 0.9
    assert row["score"] == "undiscounted_return"
    assert (row["steps_to_90_median"], row["steps_to_90_seeds"]) == ("1000", "4")
    assert (row["steps_to_95_worst"], row["steps_to_95_seeds"]) == ("inf", "0")
    pairs = {
        (row["environment"], row["ours"], row["theirs"], row["measure"]): row
        for row in rows(tmp_path / "comparisons.csv")
    }
    assert len(pairs) == (3 + 1) * 3 * 3
    pair = pairs["all", "asmpg", "mine", "final"]
    assert (pair["probability_of_improvement"], pair["iqm_difference"]) == ("1", "")
    assert float(pairs["CheeseMaze", "ais-kl", "mine", "best"]["iqm_difference"]) == pytest.approx(
        0.3
    )
    overall = {(row["entry"], row["measure"]): row for row in rows(tmp_path / "overall.csv")}
    assert float(overall["asmpg", "final"]["normalised_iqm"]) == pytest.approx(0.915)
    curves = rows(tmp_path / "curves.csv")
    assert len(curves) == 3 * 3 * 11
    assert float(curves[10]["standard_error"]) == pytest.approx(0.0129099 / 2, rel=1e-5)


def test_steps_are_those_that_were_taken(tmp_path):
    folder = make_up(prepare(tmp_path / "study", study()), spread_out, overshoot=24)
    results = collect(folder)
    assert results.missing == ()
    assert results.curves["CheeseMaze", "asmpg"].steps[[0, 1, -1]].tolist() == [0, 124, 1024]
    write_tables(results, summarise(results), tmp_path)
    first = rows(tmp_path / "results.csv")[0]
    assert (first["steps"], first["steps_to_90"]) == ("1024", "1024")
    assert rows(tmp_path / "curves.csv")[1]["steps"] == "124"
    # The budget is what was asked for.
    assert rows(tmp_path / "summary.csv")[0]["steps"] == "1000"


def test_the_best_are_those_measured_again(tmp_path):
    folder = make_up(prepare(tmp_path / "study", study()), spread_out)
    path = folder.best_path(folder.study.jobs()[0])
    path.write_text(
        json.dumps([e | {"reward_per_step": 0.5} for e in json.loads(path.read_text())])
    )
    results = collect(folder)
    write_tables(results, summarise(results), tmp_path)
    first = rows(tmp_path / "results.csv")[0]
    assert (first["final"], first["best"], first["best_episodes"]) == ("0.9", "0.5", "1000")
    assert rows(tmp_path / "summary.csv")[0]["best_iqm"] == "0.5"


def test_exact_scores_are_taken_where_asked_for(tmp_path):
    folder = prepare(tmp_path, study(scores="exact", environments=["CheeseMaze"]))
    make_up(folder, spread_out)
    for entry, exact in (("asmpg", "7.5"), ("ais-kl", "nan")):
        path = tmp_path / "runs" / "CheeseMaze" / entry / "metrics.csv"
        table = rows(path)
        lines = [",".join(table[0])]
        lines += [",".join((row | {"exact_reward_per_step": exact}).values()) for row in table]
        path.write_text("\n".join(lines) + "\n")
    results = collect(StudyFolder(tmp_path))
    assert results.curves["CheeseMaze", "asmpg"].best[0] == 0.9
    assert (results.curves["CheeseMaze", "asmpg"].scores == 7.5).all()
    assert results.curves["CheeseMaze", "ais-kl"].final.max() == 0.53


def test_seeds_of_several_jobs_come_together(results, tmp_path):
    divided = make_up(prepare(tmp_path / "divided", study(seeds_per_job=3)), spread_out)
    for key, curves in collect(divided).curves.items():
        assert curves.seeds == results.curves[key].seeds
        np.testing.assert_array_equal(curves.scores, results.curves[key].scores)


def test_yardsticks_are_computed_once(folder, monkeypatch):
    collect(folder)
    monkeypatch.setattr("asmpg.exact.yardsticks", lambda *_, **__: pytest.fail("computed again"))
    assert collect(folder).yardsticks["CheeseMaze"]["history_optimal"].value == 1.0


def test_the_answer_is_in_words(results):
    found = answer(results, summarise(results))
    assert found.overall[0].startswith("ASMPG: 0.915 [")
    assert found.environments["CheeseMaze"].startswith("ASMPG with reward per step 0.915 [0.9")
    assert "; 92\N{NO-BREAK SPACE}% of the way" in found.environments["CheeseMaze"]
    assert found.environments["CheeseMaze"].endswith("all others end lower")
    assert found.against["mine"].startswith(
        "higher in CheeseMaze, HealthcareTreatment and VelocityOnlyCartPole; probability of"
    )


def test_what_cannot_be_told_apart_is_not_told_apart(tmp_path):
    noise = np.random.default_rng(0)
    folder = make_up(prepare(tmp_path, study()), lambda *_: float(noise.normal()))
    found = answer(results := collect(folder), summarise(results))
    assert any("indistinguishable from" in sentence for sentence in found.environments.values())
    assert any("open in" in sentence for sentence in found.against.values())


def test_every_method_has_one_look_and_no_two_are_alike_in_grey():
    names = ["asmpg", "ais-kl", "ais-mmd", "ais-kl-fixed", "ais-mmd-fixed", "a", "b", "c"]
    looks = styles(names)
    assert styles([*names[:3], "b"])["asmpg"] == looks["asmpg"]
    for part in ("colour", "marker", "hatch"):
        assert len({getattr(look, part) for look in looks.values()}) == len(names)


@pytest.mark.long
def test_figures_are_drawn_and_repeat_themselves(reported, tmp_path):
    results = collect(reported)
    pictures = draw_figures(results, summarise(results), tmp_path)
    assert tuple(picture.name for picture in pictures) == FIGURES
    for picture in pictures:
        png, svg = picture.paths
        assert png.read_bytes().startswith(b"\x89PNG")
        assert "<svg" in svg.read_text()
        assert svg.read_bytes() == (reported.path / "figures" / svg.name).read_bytes()


def test_figures_of_results_without_yardsticks_or_rivals(tmp_path, monkeypatch):
    def unknown(*_, **__):
        raise ValueError("no solver")

    monkeypatch.setattr("asmpg.exact.yardsticks", unknown)
    alone = study(entries={"asmpg": {}}, environments=["CheeseMaze"], seeds=1)
    folder = make_up(prepare(tmp_path / "study", alone), spread_out)
    results = collect(folder)
    summary = summarise(results)
    pictures = draw_figures(results, summary, tmp_path / "figures")
    assert tuple(picture.name for picture in pictures) == (*FIGURES[:3], "memory")
    assert math.isclose(summary.cells["CheeseMaze", "asmpg"].final.value, 0.9)
    text = page(folder, results, summary, pictures)
    assert "asmpg with reward per step 0.9 [0.9, 0.9]." in text
    assert "ends higher" not in text


def test_missing_runs_are_named_and_left_out(folder, results):
    (folder.run_path(folder.study.jobs()[1]) / "metrics.csv").write_text("damaged\n")
    path = folder.run_path(folder.study.jobs()[2]) / "metrics.csv"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    found = collect(folder)
    assert found.missing == ("CheeseMaze/ais-kl", "CheeseMaze/mine")
    assert ("CheeseMaze", "ais-kl") not in found.curves
    assert len(found.curves["CheeseMaze", "mine"].seeds) == 3
    summary = summarise(found)
    assert ("ais-kl", "final") not in summary.overall
    assert "2 of 9 runs are missing or unfinished" in page(folder, found, summary, [])


def test_the_report_needs_nothing_but_itself(reported):
    text = (reported.path / "report.html").read_text()
    assert (
        text.index("Who wins where") < text.index("Learning curves") < text.index("Configurations")
    )
    assert not re.search(r"""(src|href)=["'](?!data:)""", text)
    assert "http" not in re.sub(r"base64,[\w+/=]+", "", text)
    assert "asmpg study study.toml --out=runs/made-up" in text
    assert "learning_rate" in text
    assert str(reported.path) not in text


def test_a_folder_without_whole_runs_is_a_failure(tmp_path, capsys):
    prepare(tmp_path, study())
    with pytest.raises(SystemExit) as stopped:
        cli.main(["report", str(tmp_path)])
    assert stopped.value.code == 1
    assert "no complete run yet" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stopped:
        cli.main(["report", str(tmp_path / "nowhere")])
    assert stopped.value.code == 2
    assert "is not the folder of a study" in capsys.readouterr().err


#: Looks at the page as a reader would, and tells what it saw.
TRY = """onload = () => {
  const column = (n) => [...document.querySelectorAll("#summary tbody tr")].map(
    (row) => row.cells[n].textContent);
  const click = (n) => document.querySelectorAll("#summary th button")[n].click();
  const seen = {wide: document.documentElement.scrollWidth <= innerWidth, orders: []};
  for (const n of [5, 5, 1]) { click(n); seen.orders.push(column(n)); }
  seen.sorted = document.querySelectorAll("#summary th")[1].getAttribute("aria-sort");
  seen.images = [...document.images].map((image) => image.naturalWidth);
  seen.label = column(1)[0];
  tell(seen);
}"""


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium in the path to open the report with")
@pytest.mark.parametrize("width", [None, 390], ids=["desktop", "phone"])
def test_the_report_works_in_a_browser(reported, tmp_path, width):
    report = (reported.path / "report.html").read_text()
    seen = browse(report, TRY, tmp_path, width)
    assert seen["errors"] == []
    assert seen["width"] == (width or 1280)
    assert seen["wide"], "the page is wider than its window"
    assert len(seen["images"]) == len(FIGURES)
    assert all(size > 100 for size in seen["images"])
    up, down, names = seen["orders"]
    values = [float(cell.split()[0]) for cell in up]
    assert values == sorted(values)
    assert [float(cell.split()[0]) for cell in down] == values[::-1]
    assert values[0] < values[-1]
    assert seen["sorted"] == "ascending"
    assert len(names) == 3 * len(ENVIRONMENTS)
    assert {"<b>ASMPG</b> & 'co'", "ais-kl", "mine"} == set(names)
    assert names[0] == names[1] == names[2]


def test_published_values_are_in_a_table_with_their_source(tmp_path):
    tables = {
        "gru": {"label": "GRU & others", "values": {"CheeseMaze": 0.5}, "source": "A <paper>"},
        "best": {"values": {"CheeseMaze": 0.625, "HealthcareTreatment": -1.25}},
    }
    folder = make_up(prepare(tmp_path / "study", study(published=tables)), spread_out)
    results = collect(folder)
    summary = summarise(results)
    write_tables(results, summary, tmp_path / "tables")
    found = rows(tmp_path / "tables" / "published.csv")
    assert [(each["environment"], each["published"], each["value"]) for each in found] == [
        ("CheeseMaze", "gru", "0.5"),
        ("CheeseMaze", "best", "0.625"),
        ("HealthcareTreatment", "best", "-1.25"),
    ]
    assert (found[0]["label"], found[0]["source"]) == ("GRU & others", "A <paper>")
    shown = page(folder, results, summary, [])
    part = shown[shown.index("Published values") : shown.index("id='configurations'")]
    assert "GRU &amp; others" in part
    assert "A &lt;paper&gt;" in part
    assert re.findall(r'data-key="([-.0-9]+|Infinity)"', part) == [
        *("0.5", "0.625"),
        *("Infinity", "-1.25"),
    ]


def test_without_published_values_there_is_no_such_table(folder, results, tmp_path):
    write_tables(results, summarise(results), tmp_path / "tables")
    assert not (tmp_path / "tables" / "published.csv").exists()
    assert "Published" not in page(folder, results, summarise(results), [])


def test_the_page_says_where_there_are_fewer_steps(tmp_path):
    fewer = study(environment_steps={"CheeseMaze": 300, "VelocityOnlyCartPole": 2_000})
    folder = make_up(prepare(tmp_path / "study", fewer), spread_out)
    results = collect(folder)
    assert results.curves["CheeseMaze", "asmpg"].targets[-1] == 300
    shown = page(folder, results, summarise(results), [])
    assert "1,000 steps · 300 steps in 1 environment ·" in shown


def test_the_report_shows_the_machine_of_the_median_seed(tmp_path):
    """Three seeds are trained a little; the machine is that of the one in the middle."""
    small = study(
        environments=["CheeseMaze"],
        entries={"gru": {"method": "gru-ppo"}, "mine": {"method": "asmpg"}},
        seeds=3,
        steps=500,
        evaluate_every=500,
        environment_options={"CheeseMaze": {"max_steps": 20}},
    )
    folder = make_up(prepare(tmp_path, small), lambda *given: float(given[2]))
    results = collect(folder)
    assert median_machines(folder, results) == []
    job = folder.study.jobs()[1]
    shutil.rmtree(folder.run_path(job))
    config = dataclasses.replace(job.config, method_options={"policy": "tabular", "num_states": 2})
    train(config, folder.run_path(job), verbose=0)
    (found,) = median_machines(folder, results)
    assert (found.environment, found.seed) == ("CheeseMaze", folder.study.seeds[1])
    assert found.machine.deterministic
    text = machine_section([found])
    assert 'class="machine"' in text
    assert "minimised" in text
