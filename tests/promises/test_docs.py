"""Every Python block of the README and the docs runs, and every command is understood."""

import re
import shlex
from pathlib import Path

import pytest

import asmpg
from asmpg._support.command_line import read_command
from asmpg.cli import COMMANDS
from asmpg.exact import best_stochastic_memoryless

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
#: What is quickly compiled, trained and searched.
SMALL = 'critic="memory", num_states=4, epochs=1, minibatches=1'
SHORTER = {
    r"\b(steps|step|checkpoint_every)=\d+_000\b": r"\1=500",
    r'ASMPPO\((num_states=8|critic="memory"|(?=\)))': f"ASMPPO({SMALL}",
    r"ASMPPO\((?=table_learning_rate)": f"ASMPPO({SMALL}, ",
    r'RunConfig\("CheeseMaze"': f"\\g<0>, method_options=dict({SMALL})",
    r"GRUPPO\(\)": 'GRUPPO(critic="memory", width=8, epochs=1, minibatches=1)',
    r"num_states=\d, rounds=2, epochs=5, episodes=100": (
        "num_states=4, rounds=2, epochs=1, episodes=10, sequences=4, sequence_steps=16,"
        'window=0, method_options={"critic": "memory"}'
    ),
    r"(best_controller\(.*)\)": r"\1, restarts=1, iterations=20)",
}


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
@pytest.mark.usefixtures("as_user")
def test_the_blocks_of_a_page_run_in_their_order(page, tmp_path, monkeypatch):
    """With little to compile, few steps and a short search: what they reach is tested elsewhere."""

    def search(model, **options):
        return best_stochastic_memoryless(model, **options | {"restarts": 1})

    if page.name == "minigrid.md":
        pytest.importorskip("minigrid")
    monkeypatch.setattr("asmpg.exact._yardsticks.best_stochastic_memoryless", search)
    monkeypatch.chdir(tmp_path)
    names = {}
    for number, block in enumerate(blocks(page, "python")):
        for pattern, shorter in SHORTER.items():
            block = re.sub(pattern, shorter, block)
        exec(compile(block, f"{page.name}, block {number}", "exec"), names)


@pytest.mark.parametrize(
    ("page", "measure", "least"),
    [
        ("docs/index.md", "exact_reward_per_step", 0.2),
        ("docs/your-environment.md", "undiscounted_return", 0.9),
    ],
)
@pytest.mark.usefixtures("as_user")
@pytest.mark.long
@pytest.mark.long_running
def test_what_a_reader_trains_first_is_learned_whatever_the_seed(page, measure, least):
    block = _first_training(ROOT / page)
    several = re.sub(r"(\.learn\(.*steps=[\d_]+)\)", r"\1, seeds=2, verbose=0)", block)
    names = {}
    exec(compile(several, page, "exec"), names)
    last = {row["seed"]: row[measure] for row in names["agent"].result.rows}
    assert len(last) == 2
    assert min(last.values()) >= least, last


def test_the_readme_trains_what_the_quick_start_trains():
    lines = [_first_training(ROOT / page).splitlines() for page in ("README.md", "docs/index.md")]
    first, second = ([line for line in block if ".learn(" in line] for block in lines)
    assert first == second


def _first_training(page):
    return next(block for block in blocks(page, "python") if ".learn(" in block)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_commands_of_a_page_are_understood(page):
    for block in blocks(page, "sh"):
        for line in block.splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] == ["asmpg"]:
                read_command(COMMANDS, words[1:], prog="asmpg", description="")


def test_there_are_blocks():
    assert sum(len(blocks(page, "python")) for page in PAGES) >= 15
    assert sum("asmpg " in block for page in PAGES for block in blocks(page, "sh")) >= 3


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text()
    for page in PAGES[1:]:
        place = page.relative_to(ROOT / "docs")
        entry = place if place.parent == Path() else f"{place.parent}/"
        assert re.search(rf": {re.escape(str(entry))}$", navigation, re.MULTILINE), place


def test_local_links_lead_somewhere():
    for path in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", path.read_text()):
            if "://" not in target:
                assert (path.parent / target).exists(), f"{path.name}: {target}"
                # What is built from docs/ cannot see what lies beside it.
                inside = (path.parent / target).resolve().is_relative_to(ROOT / "docs")
                assert inside or path.name == "README.md", f"{path.name}: {target}"


def test_the_changelog_begins_with_this_version():
    assert re.findall("^## (.*)", (ROOT / "CHANGELOG.md").read_text(), re.M)[0] == asmpg.__version__
