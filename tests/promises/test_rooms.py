"""Rooms use only rooms above them, through what those export; nothing is imported lazily unsaid."""

import textwrap
from pathlib import Path

import pytest

import asmpg
from imports import Package, within

#: From the top down: a room may use those before it. The package itself uses all of them.
ROOMS = (
    "_support",
    "_gymnasium_ids",
    "environments",
    "interop",
    "policies",
    "experience",
    "gradients",
    "methods",
    "exact",
    "theory",
    "runs",
    "agents",
    "training",
    "distillation",
    "studies",
    "analysis",
    "sweeps",
    "commands",
    "cli",
    "__main__",
)

#: Who may import what inside a function, and why not at the top.
LAZY = {
    ("asmpg", "matplotlib"): "takes half a second, and only drawing needs it",
    ("asmpg.exact", "scipy"): "takes a quarter of a second, and training does not need it",
    ("asmpg.analysis.machine_page", "PIL"): "comes with matplotlib, and only drawing needs it",
    ("asmpg", "gymnasium"): "only those who play its environments need it",
    ("asmpg.environments", "asmpg.environments.drawing"): "an environment draws when asked to",
    ("asmpg.interop", "asmpg.interop.adapters"): "imports gymnasium",
    ("asmpg.interop", "asmpg.interop.host"): "imports gymnasium",
    ("asmpg.methods", "asmpg.training"): "`Method.learn(...)` is short for `asmpg.learn(...)`",
    ("asmpg._support.remote", "submitit"): "an extra",
    ("asmpg.studies.executors", "submitit"): "an extra",
    ("asmpg.studies.worker", "asmpg"): "a worker chooses its device before jax is imported",
    ("asmpg.studies.worker", "jax"): "a worker chooses its device before jax is imported",
    ("asmpg.training", "tensorboardX"): "an extra",
}


def violations(package, rooms, lazy):
    """What breaks the rules, a line each."""
    rank = {f"{package.name}.{room}": number for number, room in enumerate(rooms)}
    rank[package.name] = len(rooms)

    def room(module):
        return ".".join(module.split(".")[:2])

    found = [
        f"{module} is in no room" for module in sorted(package.modules) if room(module) not in rank
    ]
    for each in package.imports:
        own = each.target in package.modules
        allowed = [
            (source, target)
            for source, target in lazy
            if within(each.source, source) and within(each.target, target)
        ]
        if each.when == "call" and not allowed:
            found.append(f"{each} inside a function, undeclared")
        if not own or room(each.source) == room(each.target):
            continue
        if any(part.startswith("_") for part in each.target.split(".")[2:]):
            found.append(f"{each}, which is private to its room")
        later = rank.get(room(each.target), 0) > rank.get(room(each.source), len(rooms))
        if each.when == "load" and later:
            found.append(f"{each}, a room further down")
    found += [f"cycle: {' -> '.join(cycle)}" for cycle in package.cycles()]
    for source, target in lazy:
        if not any(
            each.when == "call" and within(each.source, source) and within(each.target, target)
            for each in package.imports
        ):
            found.append(f"no function of {source} imports {target}: take it off the list")
    return found


def test_every_room_keeps_to_the_rules():
    package = Package.read(Path(asmpg.__file__).parent)
    assert len(package.modules) > 100
    broken = violations(package, ROOMS, LAZY)
    assert not broken, "\n".join(broken)


@pytest.fixture
def found(tmp_path):
    """The violations in a package `house` of the rooms `low` and `high` with these files."""

    def found(files, lazy=None):
        for name, text in {"__init__.py": "", "low/__init__.py": "", **files}.items():
            file = tmp_path / "house" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(textwrap.dedent(text))
        return violations(Package.read(tmp_path / "house"), ("low", "high"), lazy or {})

    return found


def test_rooms_in_order_are_fine(found):
    files = {
        "__init__.py": "from house.high import f\nfrom house.low import g",
        "low/__init__.py": "from house.low._g import g",
        "low/_g.py": "import sys\nfrom . import _h\nfrom house.low._h import h",
        "low/_h.py": "",
        "high/__init__.py": "from house.low import g",
    }
    assert found(files) == []


@pytest.mark.parametrize(
    "line",
    [
        "import house.high",
        "from house import high",
        "from house.high import f",
        "from ..high import f",
    ],
)
def test_a_room_that_uses_one_further_down_is_found(found, line):
    assert found({"high/__init__.py": "f = 1", "low/a.py": line}) == [
        "house.low.a:1 imports house.high, a room further down"
    ]


def test_a_room_that_uses_the_package_itself_is_found(found):
    assert found({"low/a.py": "from house import version"}) == [
        "house.low.a:1 imports house, a room further down"
    ]


def test_types_of_a_room_further_down_may_be_named(found):
    text = """
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            from house.high import F
    """
    assert found({"high/__init__.py": "", "low/a.py": text}) == []


@pytest.mark.parametrize("line", ["from house.low._g import g", "import house.low._g"])
def test_a_private_module_of_another_room_is_found(found, line):
    assert found({"low/_g.py": "g = 1", "high/__init__.py": line}) == [
        "house.high:1 imports house.low._g, which is private to its room"
    ]


def test_a_module_outside_the_rooms_is_found(found):
    assert found({"attic.py": ""}) == ["house.attic is in no room"]


@pytest.mark.parametrize(
    ("files", "cycle"),
    [
        (
            {"low/a.py": "import house.low.b", "low/b.py": "if True:\n    from house.low import a"},
            "house.low.a -> house.low.b -> house.low.a",
        ),
        (
            {"low/__init__.py": "from house.low.a import f", "low/a.py": "from house.low import f"},
            "house.low -> house.low.a -> house.low",
        ),
        (
            {
                "low/one/__init__.py": "from house.low.two.b import f",
                "low/one/a.py": "",
                "low/two/__init__.py": "",
                "low/two/b.py": "from house.low.one.a import f",
            },
            "house.low.one -> house.low.two.b -> house.low.one",
        ),
    ],
    ids=["modules", "a package and its module", "by way of a parent"],
)
def test_a_cycle_is_found(found, files, cycle):
    assert found(files) == [f"cycle: {cycle}"]


LAZY_TEXT = """
    class A:
        def draw(self):
            if self:
                import matplotlib.figure
"""


def test_an_undeclared_lazy_import_is_found(found):
    assert found({"low/a.py": LAZY_TEXT}) == [
        "house.low.a:5 imports matplotlib.figure inside a function, undeclared"
    ]
    assert found({"low/a.py": LAZY_TEXT}, {("house.low", "matplotlib"): "slow"}) == []


def test_a_declaration_nobody_needs_is_found(found):
    assert found({}, {("house.low", "matplotlib"): "slow"}) == [
        "no function of house.low imports matplotlib: take it off the list"
    ]
