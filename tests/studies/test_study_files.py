"""Studies as files: those that come along, those of users, and what is said of wrong ones."""

import os
import re
import sys

import pytest

import asmpg
from asmpg import cli
from asmpg._support.errors import CheckpointError
from asmpg.environments._registry import _registered
from asmpg.methods import PRESETS
from asmpg.runs import RunConfig
from asmpg.studies import StudyFolder, load_study, read_study, shipped_studies
from quick import long
from studies import TINY, prepare, study

RIGHT = 'environments = ["CheeseMaze"]\n\n[entries.asmpg]\n'


#: Their environments and configurations take long to make.
LARGE = ("cassandra", "popgym", "readings")


@pytest.mark.parametrize(
    "name", [long(name) if name in LARGE else name for name in shipped_studies()]
)
def test_shipped_studies_can_be_run(name):
    found = load_study(name)
    assert found.name == name
    sizes = {"popgym": 42, "cassandra": 8, "quick": 2}
    assert len(found.environments) == sizes.get(name, 5)
    parts = len(found.seeds) // (found.seeds_per_job or len(found.seeds))
    assert len(found.jobs()) == len(found.environments) * len(found.entries) * parts


def test_the_papers_study_is_the_papers():
    paper = load_study("paper")
    first = paper.jobs()[0].config
    assert first == RunConfig("CheeseMaze", method="asmpg")
    assert [entry.name for entry in paper.entries][:3] == ["asmpg", "ais-kl", "ais-mmd"]
    for entry in paper.entries[:3]:
        assert not entry.options
        assert entry.steps is None


def test_a_file_of_ones_own(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(TINY + "\n[entries.ais-kl]\nsteps = 500\nevaluate_every = 50\n")
    mine = load_study(str(path))
    assert (mine.name, mine.seeds, mine.entry("ais-kl").method) == ("mine", (1952, 5235), "ais-kl")
    jobs = {job.name: job.config for job in mine.jobs()}
    assert jobs["CheeseMaze/two"].steps == 100_000
    assert jobs["CheeseMaze/two"].environment_options == {"max_steps": 20}
    assert jobs["CheeseMaze/ais-kl"].evaluation_steps == tuple(range(0, 501, 50))
    assert read_study(mine.to_dict(), name="other") == mine


def test_seeds_can_be_divided_among_jobs():
    divided = study(seeds=[1, 2, 3, 4, 5], seeds_per_job=2).jobs()
    assert [job.name for job in divided[:3]] == [f"CheeseMaze/asmpg/{n}" for n in (1, 3, 5)]
    assert [job.config.seeds for job in divided[:3]] == [(1, 2), (3, 4), (5,)]


def test_some_seeds_are_a_part_of_a_divided_study():
    whole = study(seeds=[1, 2, 3, 4], seeds_per_job=2)
    for seeds in ((1, 2), (3, 4)):
        part = whole.changed(seeds=seeds, steps=None).jobs()
        assert len(part) == len(whole.jobs()) / 2
        assert all(job in whole.jobs() for job in part)


def test_the_readings_are_one_detail_at_a_time_and_the_same_for_all():
    readings = load_study("readings")
    assert readings.entries[0].method == "asmpg"
    assert len(readings.seeds) == 20
    assert readings.selection_seeds == readings.seeds[:10]
    kl, mmd = (
        {
            entry.name.removeprefix(f"ais-{variant}"): (entry.options, entry.greedy)
            for entry in readings.entries
            if entry.name.startswith(f"ais-{variant}")
        }
        for variant in ("kl", "mmd")
    )
    assert kl == mmd
    assert {claim.ours for claim in readings.claims} == {
        entry.name for entry in readings.entries if entry.method == "asmpg"
    }
    for claim in readings.claims:
        entries = [readings.entry(name) for name in claim.entries]
        # Evaluated alike, on as many episodes, by sampling or greedily.
        assert len({(entry.greedy, entry.evaluation_episodes) for entry in entries}) == 1
        assert [entry.method[:6] for entry in entries[1:]] == ["ais-kl", "ais-mm"]


def test_other_seeds_and_steps_from_the_command_line():
    changed = study(entries={"asmpg": {}, "ais-kl": {"steps": 50}}).changed(seeds=(7,), steps=200)
    assert [job.config.steps for job in changed.jobs()[:2]] == [200, 50]
    assert changed.jobs()[0].config.seeds == (7,)
    assert study().changed(seeds=None, steps=None) == study()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = [\n", "is not a TOML file"),
        ('a = 1\nenvironments = ["CheeseMaze"]', "line 1: a is not known; accepted: name, env"),
        ("seeds = 3", "environments must be a list of names, got None"),
        ('\nenvironments = ["ChesseMaze"]', "line 2: environments must be one of CheeseMaze, Hall"),
        ('environments = ["Tiger", "Tiger"]', "line 1: environments must be different"),
        ('environments = ["Tiger"]', "entries must have at least one table"),
        (
            RIGHT + 'label = "A"\nlabell = "B"',
            "line 5: entries.asmpg.labell is not known; accepted",
        ),
        (RIGHT + "[entries.ppo]", r"line 4: entries.ppo.method must be one of asm-ppo, .*'ppo'"),
        (RIGHT + 'method = "ppo"', r"line 4: entries.asmpg.method must be one of asm-ppo, .*'ppo'"),
        (
            RIGHT + "options = { num_stats = 3 }",
            "line 4: entries.asmpg.options.num_stats is not an option of asmpg; accepted: num_st",
        ),
        (
            RIGHT + "[entries.asmpg.options]\npolicy = 'tabular'\nnum_states = 0",
            "line 6: entries.asmpg.options.num_states in CheeseMaze: num_states must be an integer",
        ),
        (
            RIGHT.replace("CheeseMaze", "VelocityOnlyCartPole") + "options.policy = 'tabular'",
            "line 4: entries.asmpg.options.policy in VelocityOnlyCartPole: .*discrete",
        ),
        (
            RIGHT.replace("CheeseMaze", "Tiger"),
            "line 3: entries.asmpg in Tiger: num_states must be",
        ),
        (
            RIGHT + "[environment_options.CheeseMaze]\nlength = 3",
            "line 4: environment_options.CheeseMaze in CheeseMaze: options .* max_steps",
        ),
        (
            RIGHT + "[environment_options.Tiger]",
            "line 4: environment_options.Tiger is not known; accepted: CheeseMaze",
        ),
        ("steps = 0\n" + RIGHT, "line 1: steps must be an integer of at least 1, got 0"),
        ("greedy = 1\n" + RIGHT, "line 1: greedy must be true or false, got 1"),
        ('scores = "best"\n' + RIGHT, "line 1: scores must be one of sampled, exact"),
        ("seeds = 0\n" + RIGHT, "line 1: seeds must be a number of seeds or a list"),
        ("seeds = [1, 1]\n" + RIGHT, "line 1: seeds must be a number of seeds or a list"),
        ("seeds_per_job = -1\n" + RIGHT, "line 1: seeds_per_job must be an integer"),
        ("imports = 'os'\n" + RIGHT, "line 1: imports must be a list of modules, got 'os'"),
        ("imports = ['a b']\n" + RIGHT, "line 1: imports must be names of modules, got 'a b'"),
        (
            "imports = ['no_such_module']\n" + RIGHT,
            "line 1: imports names 'no_such_module', which cannot be imported: ModuleNotFound",
        ),
        ("name = 'a/b'\n" + RIGHT, "line 1: name must be letters, digits"),
        ("description = 3\n" + RIGHT, "line 1: description must be text, got 3"),
        ("entries = 3\nenvironments = ['Tiger']", "line 1: entries must be a table, got 3"),
        (
            RIGHT + "label = 'A'\n[entries.ais-kl]\nlabel = 'A'",
            "line 4: entries.asmpg.label must be unlike all other labels, got 'A'",
        ),
    ],
)
def test_a_wrong_file_is_told_before_anything_runs(text, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.toml").write_text(text)
    with pytest.raises(SystemExit) as stopped:
        cli.main(["study", "my.toml"])
    error = capsys.readouterr().err
    assert stopped.value.code == 2
    assert error.startswith("asmpg: error: my.toml")
    assert error.count("\n") == 1
    assert re.search(message, error)
    assert os.listdir(tmp_path) == ["my.toml"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            "nowhere",
            "study must be one of cassandra, efficiency, methods, paper, popgym, quick, readings, "
            "or a TOML file, got 'nowhere'",
        ),
        ("quick --jobs 0", "jobs must be an integer of at least 1, got 0"),
        ("quick --steps 0", "steps must be an integer of at least 1, got 0"),
        ("quick --seeds few", "seeds must be a number of seeds"),
        ("quick --patience 0", "patience must be a number of at least 1"),
        ("quick --retries -1", "retries must be an integer of at least 0"),
        ("quick --device tpu", "tpu"),
        ("quick --executor nowhere", "executor must be one of local"),
        ("", "STUDY"),
    ],
)
def test_wrong_usage_is_one_line(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stopped:
        cli.main(["study", *arguments.split()])
    error = capsys.readouterr().err
    assert stopped.value.code == 2
    assert error.count("\n") == 1
    assert message in error
    assert os.listdir(tmp_path) == []


#: A module of the user's, which registers an environment and a method, and a file that uses it.
MODULE = """
import asmpg
asmpg.register("TestStudyMaze", lambda: asmpg.make("CheeseMaze", max_steps=9))
asmpg.register_method("test-study-method", asmpg.ASMPG, options={"num_states": 2})
"""
FOREIGN = """
imports = ["own_names"]
environments = ["TestStudyMaze"]
[entries.test-study-method]
options.policy = "tabular"
"""


@pytest.fixture
def own_names(tmp_path, monkeypatch):
    """A file that imports a module beside it, in the current directory."""
    (tmp_path / "own_names.py").write_text(MODULE)
    (tmp_path / "mine.toml").write_text(FOREIGN)
    monkeypatch.chdir(tmp_path)
    yield "mine.toml"
    _forget_names()


def _forget_names():
    sys.modules.pop("own_names", None)
    _registered.pop("TestStudyMaze", None)
    PRESETS.pop("test-study-method", None)


def test_a_file_may_import_what_registers_its_names(own_names):
    found = load_study(own_names)
    assert [job.name for job in found.jobs()] == ["TestStudyMaze/test-study-method"]
    assert found.imports == ("own_names",)
    assert os.getcwd() not in sys.path


def test_a_folder_imports_nothing_unless_trusted(own_names, tmp_path, capsys):
    prepare(tmp_path / "out", load_study(own_names), FOREIGN)
    _forget_names()
    refused = r"study\.json: imports would import the module 'own_names', .* trust=True"
    with pytest.raises(ValueError, match=refused):
        StudyFolder(tmp_path / "out")
    with pytest.raises(SystemExit) as stopped:
        cli.main(["report", str(tmp_path / "out")])
    assert stopped.value.code == 2
    assert "--trust" in capsys.readouterr().err
    assert "own_names" not in sys.modules
    assert StudyFolder(tmp_path / "out", trust=True).study.environments == ("TestStudyMaze",)


def test_a_folder_takes_more_of_the_same_study_but_no_other(tmp_path):
    from studies import make_up, spread_out

    small = study(entries={"asmpg": {}}, environments=["CheeseMaze"])
    make_up(prepare(tmp_path / "study", small), spread_out)
    assert len(prepare(tmp_path / "study", study()).study.jobs()) == 9
    with pytest.raises(
        ValueError, match=r"another study: in CheeseMaze/asmpg, steps is 1000 there"
    ):
        prepare(tmp_path / "study", study(steps=10))
    with pytest.raises(ValueError, match="neither"):
        prepare(tmp_path, study())
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="is a file"):
        prepare(tmp_path / "file", study())


def test_a_folder_of_something_else_is_left_alone(tmp_path, capsys):
    (tmp_path / "thesis.tex").touch()
    for out, message in ((tmp_path, "is neither"), (tmp_path / "thesis.tex", "is a file")):
        with pytest.raises(SystemExit) as stopped:
            cli.main(["study", "quick", "--out", str(out)])
        assert stopped.value.code == 2
        assert message in capsys.readouterr().err
    assert os.listdir(tmp_path) == ["thesis.tex"]


def test_a_damaged_study_is_named(tmp_path):
    prepare(tmp_path, study())
    (tmp_path / "study.json").write_text("{}")
    with pytest.raises(CheckpointError, match="damaged"):
        StudyFolder(tmp_path)


def test_pomdp_files_are_environments_of_a_study(tmp_path):
    """Each has a folder of its own, below that of the study wherever the file is."""
    file = tmp_path / "files.toml"
    asmpg.write_pomdp(asmpg.read_pomdp("tmaze5.pomdp"), tmp_path / "maze.pomdp")
    file.write_text(
        f"environments = ['tmaze5.pomdp', '{tmp_path}/maze.pomdp']\nseeds = 1\n[entries.asm-ppo]\n"
    )
    study = load_study(str(file))
    names = [job.name for job in study.jobs()]
    assert names[0] == "tmaze5.pomdp/asm-ppo"
    assert not names[1].startswith("/")
    assert names[1].endswith("-maze.pomdp/asm-ppo")
    assert names[1].count("/") == 1
