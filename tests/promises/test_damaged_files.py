"""Whatever is wrong with a file is said in one line that names it, and nothing else happens."""

import io
import json
import shutil
import zipfile

import numpy as np
import pytest

import asmpg
from asmpg._support.errors import CheckpointError
from asmpg.runs import RunFolder, load_meta
from asmpg.studies import StudyFolder, load_study
from fuzzing import edit_json, fuzz, make_targets
from quick import long
from studies import TINY

pytestmark = pytest.mark.usefixtures("as_user")
DEEP = "[" * 100_000


@pytest.fixture(scope="module")
def targets(tmp_path_factory):
    return make_targets(tmp_path_factory.mktemp("files"))


@pytest.fixture
def folder(targets, tmp_path):
    """A copy of a run, an agent and a study, to be damaged."""
    return shutil.copytree(targets[0].path.parents[1], tmp_path / "files")


@pytest.mark.parametrize("count", [500, long(2000)])
def test_mutations_are_refused_or_do_no_harm(targets, count):
    found = fuzz(targets, count)
    assert found["refused"] > count / 2
    assert found["harmless"] + found["read"] + found["unchanged"] < count / 2


def refused(read, path, reason):
    """`read` says in one line what is wrong with `path`."""
    with pytest.raises(CheckpointError, match=reason) as error:
        read()
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (DEEP.encode(), "nested more than 30 levels"),
        (b'{"config": ' + b"[" * 500 + b"]" * 500 + b"}", "nested more than 30 levels"),
        (b'{"config": "\xff"}', "not UTF-8 text from byte 12"),
        (b"[]", "must be a JSON object"),
        (b'{"config": 3}', "not iterable"),
        (b'{"made_with": 3}', "it has no 'config'"),
    ],
)
def test_a_damaged_config(folder, content, reason):
    path = folder / "run" / "config.json"
    path.write_bytes(content)
    refused(lambda: asmpg.load(folder / "run"), path, reason)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda text: text.replace(b"0.", b'"0.', 1), "line [0-9]+ is not a row"),
        (lambda text: text + b'"' + b"9" * 200_000 + b"\n", "line 12 is not a row"),
        (lambda text: text.replace(b"0.", b"\xfe.", 1), "not UTF-8 text"),
        (lambda text: text.replace(b"\n1952,", b"\n1952,\0", 1), "line 2 is not a row"),
    ],
    ids=["quote", "long", "encoding", "zero"],
)
def test_damaged_metrics(folder, damage, reason):
    path = folder / "run" / "metrics.csv"
    path.write_bytes(damage(path.read_bytes()))
    refused(lambda: RunFolder(folder / "run").rows(), path, reason)
    refused(lambda: asmpg.plot(folder / "run"), path, reason)


def _with_entry(path, name, data, kind=zipfile.ZIP_STORED):
    """Put `data` in the place of an entry of the archive `path`."""
    with zipfile.ZipFile(path) as archive:
        entries = {each: archive.read(each) for each in archive.namelist()}
    with zipfile.ZipFile(path, "w", kind) as archive:
        for each, content in (entries | {name: data}).items():
            archive.writestr(each, content)


def _array(content):
    written = io.BytesIO()
    np.save(written, np.frombuffer(content, np.uint8))
    return written.getvalue()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"evaluations": "five"}, "evaluations must be an integer of at least 0, got 'five'"),
        ({"evaluations": None}, "evaluations must be an integer of at least 0, got None"),
        ({"evaluations": 10**30}, "evaluations must be an integer in"),
        ({"best_evaluations": 0}, "best_evaluations must be"),
        ({"rows": 3}, "rows must be a checksum, got 3"),
        ({"speed": 3}, "speed"),
    ],
)
def test_wrong_metadata_of_a_checkpoint(folder, change, reason):
    run = RunFolder(folder / "run")
    path = run.checkpoint_path(1952, "last")
    meta = json.dumps(load_meta(path) | change).encode()
    _with_entry(path, "_meta.npy", _array(meta))
    refused(run.rows, path, reason)


def test_deep_metadata_of_a_checkpoint(folder):
    path = RunFolder(folder / "run").checkpoint_path(1952, "last")
    _with_entry(path, "_meta.npy", _array(DEEP.encode()))
    refused(lambda: load_meta(path), path, "no readable meta: it is nested more than 30")


def test_sizes_are_not_believed(folder):
    """Neither an array that is said to be huge nor one that would unpack to be."""
    path = folder / "agent.npz"
    whole = path.read_bytes()
    name = next(n for n in zipfile.ZipFile(path).namelist() if n != "_meta.npy")
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f4", "fortran_order": False, "shape": (10**15,)}
    )
    _with_entry(path, name, header.getvalue())
    refused(lambda: asmpg.load(path), path, r"shape \(1000000000000000,\) has 0 bytes")
    path.write_bytes(whole)
    _with_entry(path, name, bytes(10_000_000), zipfile.ZIP_DEFLATED)
    refused(lambda: asmpg.load(path), path, "is compressed")


def _nonsense(part):
    """Observations of parts that no environment has."""
    deep = part
    for _ in range(9):
        deep = {"reader": "CompositeReader", "keys": None, "parts": [deep]}
    yield deep
    for keys, parts in (
        (None, []),
        (None, 3),
        (None, [3]),
        (None, [part | {"n": 10**6}] * 2),
        (["a"], [part, part]),
        (["a", "a"], [part, part]),
        ([["a"]], [part]),
        ([True], [part]),
        ("a", [part]),
        (["a"], [{"reader": "CompositeReader"}]),
        (["a"], [part | {"reader": ["SymbolReader"]}]),
        (["a"], [part | {"more": 1}]),
    ):
        yield {"reader": "CompositeReader", "keys": keys, "parts": parts}


def test_an_agent_of_impossible_sizes(folder):
    path = folder / "agent.npz"
    meta = load_meta(path)
    whole = meta["interface"]["reader"]
    changes = ({"n": 10**30}, {"n": "many"}, {"reader": "SymbolsReader"}, {"start": None})
    for reader in [*(whole | change for change in changes), *_nonsense(whole)]:
        changed = meta | {"interface": meta["interface"] | {"reader": reader}}
        _with_entry(path, "_meta.npy", _array(json.dumps(changed).encode()))
        refused(lambda: asmpg.load(path), path, "is not an agent, or is damaged")


def test_an_agent_whose_arrays_are_too_few(folder):
    """Even sizes that are accepted elsewhere are held against what is in the file."""
    path = folder / "agent.npz"
    meta = load_meta(path)
    options = meta["config"]["method_options"] | {"num_states": 500}
    changed = meta | {"config": meta["config"] | {"method_options": options}}
    _with_entry(path, "_meta.npy", _array(json.dumps(changed).encode()))
    refused(
        lambda: asmpg.load(path), path, "its arrays are too small for 7003500 numbers in a table"
    )


def test_damaged_studies(folder, tmp_path):
    path = folder / "study" / "study.json"
    content = json.loads(path.read_text())
    for change in ({"study": 3}, {"source": 3}, {"study": {"environments": "CheeseMaze"}}):
        path.write_text(json.dumps(content | change))
        refused(lambda: StudyFolder(folder / "study"), path, "is damaged, or of another")
    path.write_text(DEEP)
    refused(lambda: StudyFolder(folder / "study"), path, "nested more than 30 levels")
    file = tmp_path / "mine.toml"
    for text in (f"a = {DEEP}", "a = " + "9" * 5000, f"{TINY}\n[entries.four]\nsteps = 1e9\n"):
        file.write_text(text)
        with pytest.raises(ValueError, match=r"mine\.toml") as error:
            load_study(str(file))
        assert "\n" not in str(error.value)
    file.write_bytes(b"name = '\xff'")
    refused(lambda: load_study(str(file)), file, "not UTF-8 text")


def test_mutations_change_something(targets):
    """The fuzz test would otherwise prove nothing."""
    import random

    chance, content = random.Random(1), targets[0].path.read_bytes()
    assert len({edit_json(content, chance) for _ in range(100)}) > 60
