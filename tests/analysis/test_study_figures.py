"""Figures and report as a reader sees them: nothing cut off, and the right words for one."""

import pytest

from asmpg.analysis import collect, summarise
from asmpg.analysis.figures import draw_figures, figures
from asmpg.analysis.report import answer, page
from asmpg.exact import Yardstick, Yardsticks
from quick import long
from studies import ENVIRONMENTS, make_up, prepare, spread_out, study

pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def _yardsticks(monkeypatch):
    """Random scores 0, the optimum 0.9, whatever the criterion."""
    values = Yardsticks(*(Yardstick(value, value, value) for value in (0.0, 0.3, 0.4, 0.9, 1.0)))
    monkeypatch.setattr("asmpg.exact.yardsticks", lambda *_, **__: values, raising=False)


@pytest.fixture(params=[1, 3], ids=["one environment", "three"])
def results(request, tmp_path):
    some = study(environments=list(ENVIRONMENTS[: request.param]))
    return collect(make_up(prepare(tmp_path / "study", some), spread_out, overshoot=24))


@pytest.fixture
def published(tmp_path):
    """Long names, and values of others in two of three environments."""
    names = [f"popgym-NoisyPositionOnlyCartPole{each}" for each in ("Easy", "Medium", "Hard")]
    tables = {
        "first": {"label": "GRU, published", "values": {names[0]: 0.4, names[1]: 2.5}},
        "second": {"values": {names[1]: -1.5}, "source": "somewhere"},
    }
    entries = {"asm-ppo": {}, "gru-ppo": {}}
    with_others = study(environments=names, entries=entries, published=tables)
    folder = prepare(tmp_path / "published", with_others)
    return collect(make_up(folder, lambda *_: 0.1))


@pytest.fixture
def single(tmp_path):
    """One environment, one method, one seed."""
    alone = study(environments=["CheeseMaze"], entries={"asmpg": {}}, seeds=1)
    return make_up(prepare(tmp_path / "single", alone), spread_out)


def words(figure):
    """Every text that is drawn in a figure, and the box it takes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.text import Text

    drawn = {}
    draw = Text.draw
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            Text, "draw", lambda text, *args: [drawn.update({text: 1}), draw(text, *args)]
        )
        FigureCanvasAgg(figure).draw()
    shown = [text for text in drawn if text.get_text() and text.get_visible()]
    return [(text.get_text(), text.get_window_extent()) for text in shown]


@pytest.mark.parametrize("columns", [3, long(1)], ids=["wide", "narrow"])
def test_no_word_is_cut_off_and_no_two_lie_on_each_other(results, columns):
    for each in figures(results, summarise(results)):
        figure = each.draw(columns)
        found = words(figure)
        width, height = figure.bbox.size
        for text, box in found:
            inside = box.x0 >= 0 and box.y0 >= 0 and box.x1 <= width and box.y1 <= height
            assert inside, f"{each.name}: {text!r} is cut off"
        for place, (text, box) in enumerate(found):
            for other, beside in found[place + 1 :]:
                apart = text == other or not box.overlaps(beside)
                assert apart, f"{each.name}: {text!r} and {other!r}"


@pytest.mark.parametrize("columns", [3, long(1)], ids=["wide", "narrow"])
def test_long_names_and_published_values_leave_room(published, columns):
    test_no_word_is_cut_off_and_no_two_lie_on_each_other(published, columns)


def test_published_values_are_lines_with_a_marker_and_a_name(published):
    drawn = {each.name: each for each in figures(published, summarise(published))}
    curves = drawn["learning_curves"]
    figure = curves.draw(3)
    for axes, values in zip(figure.axes, [{0.4}, {2.5, -1.5}, set()], strict=False):
        flat = {line.get_ydata()[0] for line in axes.lines if line.get_marker() in ("<", "D")}
        assert flat == values
        low, high = axes.get_ylim()
        assert all(low < value < high for value in values)
    told = [text for text, _ in words(figure)]
    assert told.count("GRU, published") == told.count("second") == 1
    assert "published values" in curves.caption


def test_without_published_values_nothing_is_said_of_them(results):
    curves = figures(results, summarise(results))[0]
    assert "published" not in curves.caption
    assert not any("published" in text for text, _ in words(curves.draw(3)))


def test_narrow_figures_have_their_panels_below_each_other(results):
    for each in figures(results, summarise(results)):
        assert each.draw(1).get_figwidth() < 6
        assert each.draw(3).get_figwidth() <= 14


def test_the_number_of_seeds_that_get_there_is_told(results):
    figure = {each.name: each for each in figures(results, summarise(results))}["steps_to_95"]
    told = [text for text, _ in words(figure.draw(3))]
    assert told.count("4 of 4") == told.count("0 of 4") / 2 == len(results.environments)
    assert told.count("seeds that\nreach it") == len(results.environments)
    assert "never" not in told


def test_one_environment_has_no_panel_for_all(results):
    several = len(results.environments) > 1
    drawn = {each.name: each.draw(3) for each in figures(results, summarise(results))}
    for name, title in (
        ("interquartile_means", "all, normalised"),
        ("probability_of_improvement", "mean of all"),
    ):
        titles = [axes.get_title(loc="left") for axes in drawn[name].axes]
        assert (title in titles) == several
    assert bool(answer(results, summarise(results)).overall) == several


def test_one_is_not_several(single, tmp_path):
    results = collect(single)
    summary = summarise(results)
    pictures = draw_figures(results, summary, tmp_path)
    text = page(single, results, summary, pictures)
    assert "1 environment · 1 method · 1 seed · 1,000 steps" in text
    assert "1 run: time on" in text
    legend = [each for each in figures(results, summary) if each.name == "learning_curves"]
    told = [text for text, _ in words(legend[0].draw(3))]
    assert "asmpg (1 seed)" in told
    assert "mean ± standard error" not in told


def test_the_report_has_a_narrow_figure_for_narrow_screens(single, tmp_path):
    results = collect(single)
    summary = summarise(results)
    pictures = draw_figures(results, summary, tmp_path)
    text = page(single, results, summary, pictures)
    assert text.count('<picture><source media="(max-width: 40rem)" srcset="data:image/svg') == len(
        pictures
    )
    # Pictures are never enlarged, and never wider than the screen.
    [rule] = [line for line in text.splitlines() if line.startswith("figure img")]
    assert "max-width: 100%" in rule
    assert " width: 100%" not in rule
    assert "min-width" not in rule
