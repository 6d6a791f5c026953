"""Opening a run of somebody else imports nothing, unless the caller asks for it."""

import json
import shutil
import sys

import gymnasium
import pytest

import asmpg
from asmpg import cli
from asmpg.runs import RunFolder
from asmpg.training import train
from runs import small_config

MODULE = """
import gymnasium
from host_environments import NumPyCheeseMaze
gymnasium.register("Foreign-v0", NumPyCheeseMaze, max_episode_steps=20)
"""


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "own"
    train(small_config(seeds=(1952,), steps=500), out)
    return out


@pytest.fixture
def foreign(own, tmp_path, monkeypatch):
    """A run whose environment is in a module that can be imported, but was not."""
    (tmp_path / "foreign_module.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    run = shutil.copytree(own, tmp_path / "run")
    _edit(run, environment="foreign_module:Foreign-v0", environment_options={})
    yield run
    sys.modules.pop("foreign_module", None)
    gymnasium.registry.pop("Foreign-v0", None)


def _edit(run, **changes):
    content = json.loads((run / "config.json").read_text())
    content["config"] |= changes
    (run / "config.json").write_text(json.dumps(content))


def test_loading_needs_no_environment(own, monkeypatch):
    def fail(*_, **__):
        raise AssertionError("an environment was made")

    monkeypatch.setattr("asmpg.interop._resolve.make", fail)
    action, _ = asmpg.load(own).predict(0)
    assert 0 <= action < 4


def test_loading_imports_nothing(foreign):
    assert 0 <= asmpg.load(foreign).predict(0)[0] < 4
    assert "foreign_module" not in sys.modules


def test_a_run_without_an_interface_is_not_loaded(foreign):
    _edit(foreign, interface=None)
    with pytest.raises(asmpg.CheckpointError, match=r"config\.json does not record the interface"):
        asmpg.load(foreign)
    assert "foreign_module" not in sys.modules


def test_plotting_imports_nothing(foreign):
    assert len(asmpg.plot(foreign)) == 2
    _edit(foreign, interface=None)
    with pytest.raises(ValueError, match="would import the module 'foreign_module'"):
        asmpg.plot(foreign)
    assert "foreign_module" not in sys.modules


def test_evaluating_and_resuming_import_nothing_unasked(foreign):
    refused = r"'foreign_module:Foreign-v0' would import the module 'foreign_module'.*trust=True"
    with pytest.raises(ValueError, match=refused):
        asmpg.evaluate(foreign, episodes=2)
    with pytest.raises(ValueError, match=refused):
        asmpg.train(RunFolder(foreign).config, foreign, resume=True)
    assert "foreign_module" not in sys.modules
    asmpg.evaluate(foreign, episodes=2, trust=True)
    assert "foreign_module" in sys.modules
    # What the caller has imported is no foreign word any more.
    asmpg.evaluate(foreign, episodes=2)


def test_the_command_line_asks_for_trust(foreign, capsys):
    (foreign / "checkpoints" / "seed-1952" / "last.npz").unlink()
    for command in (["evaluate", str(foreign)], ["train", "--resume", str(foreign)]):
        with pytest.raises(SystemExit) as stop:
            cli.main(command)
        assert stop.value.code == 2
        message = capsys.readouterr().err
        assert "would import the module 'foreign_module'" in message
        assert "--trust" in message
        assert message.count("\n") == 1
    assert "foreign_module" not in sys.modules
    cli.main(["evaluate", str(foreign), "--episodes", "2", "--trust"])
    assert "foreign_module" in sys.modules


def test_what_the_user_types_is_imported(foreign):
    asmpg.RunConfig("foreign_module:Foreign-v0").resolve()
    assert "foreign_module" in sys.modules
