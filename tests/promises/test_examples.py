"""The examples run, with smaller budgets."""

import importlib.util
import re
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
#: Arguments that make each short, and a word of what it prints.
SHORT = {
    "train_and_watch": (
        ["--steps", "2000", "--num-states", "2"],
        "What it remembers, and what it does then",
    ),
    "picture_of_a_memory": (
        ["--steps", "2000", "--num-states", "2", "--seeds", "1", "--out", "memory.png"],
        "and goes, on seeing",
    ),
    "custom_environment": (["--steps", "1000"], "Mean return of 100 episodes"),
    "own_kernel": (["--steps", "1000"], "without memory it is 0"),
    "own_executor": (["--steps", "2000"], "report.html"),
    "compare_methods": (["--steps", "1000", "--seeds", "2", "--out", "curves.png"], "curves.png"),
    "gallery_of_machines": (
        ["--steps", "2000", "--seeds", "1", "--names", "TMaze", "--out", "."],
        "Last saw",
    ),
    "minigrid_memory": (
        ["--steps", "1000", "--seeds", "1", "--num-states", "4"],
        "agent states are used",
    ),
    "popgym_recall": (
        ["--steps", "1000", "--seeds", "1", "--num-states", "4"],
        "and goes, on seeing",
    ),
}
#: What an example needs beside the package.
NEEDS = {"minigrid_memory": "minigrid", "popgym_recall": "popgym"}


#: What they do is done by the pages of the docs as well, or by tests of its own.
_LONG = tuple(name for name in SHORT if name not in ("train_and_watch", "own_kernel"))


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] * (name in _LONG)) for name in SHORT]
)
def test_an_example_runs(name, tmp_path, monkeypatch, capsys):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    monkeypatch.chdir(tmp_path)
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    arguments, printed = SHORT[name]
    module.main(arguments)
    assert printed in capsys.readouterr().out
    if name == "compare_methods":
        assert (tmp_path / "curves.png").stat().st_size > 10_000


def test_every_example_is_tested():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*SHORT}


def test_the_wrapper_on_the_page_is_that_of_the_example():
    page = (EXAMPLES.parent / "docs" / "minigrid.md").read_text()
    example = (EXAMPLES / "minigrid_memory.py").read_text()
    (wrapper,) = re.findall(r"SIDES = .*?spaces\.Discrete\(3\)\)\n", example, re.DOTALL)
    assert wrapper in page
