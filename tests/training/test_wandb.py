"""Logs for Weights & Biases: by wandb itself, offline, if it is here, and by one that listens."""

import json
import sys
import types

import pytest

import asmpg
from asmpg.cli import main
from asmpg.runs import RunFolder
from asmpg.training import train
from runs import SEEDS, small_config


class FakeRun:
    def __init__(self, options):
        self.options, self.logged, self.defined, self.exit_code = options, [], {}, None
        self.id = options["id"] or f"new-{options['name']}"

    def define_metric(self, name, step_metric=None):
        self.defined[name] = step_metric

    def log(self, values):
        assert self.exit_code is None
        self.logged.append(values)

    def finish(self, exit_code=None):
        self.exit_code = exit_code


@pytest.fixture
def runs(monkeypatch):
    begun = []

    def init(**options):
        begun.append(FakeRun(options))
        return begun[-1]

    module = types.ModuleType("wandb")
    vars(module)["init"] = init
    monkeypatch.setitem(sys.modules, "wandb", module)
    return begun


def test_each_seed_is_a_run_with_every_metric(runs, tmp_path):
    logger = asmpg.WandbLogger("mazes", folder=tmp_path / "run", tags=["small"])
    result = train(small_config(), tmp_path / "run", callbacks=[logger], verbose=0)
    assert [run.options["config"]["seed"] for run in runs] == list(SEEDS)
    for seed, run in zip(SEEDS, runs, strict=True):
        options = run.options
        assert options["project"] == "mazes"
        assert options["group"] == "CheeseMaze-asmpg"
        assert options["tags"] == ["small"]
        assert options["reinit"] == "create_new"
        assert options["config"]["method_options"]["num_states"] == 2
        assert run.defined == {"steps": None, "*": "steps"}
        assert run.exit_code == 0
        own = [row for row in result.rows if row["seed"] == seed]
        assert [logged["steps"] for logged in run.logged] == [row["steps"] for row in own]
        assert "gradient_norm" not in run.logged[0]
        assert run.logged[-1]["gradient_norm"] == own[-1]["gradient_norm"]
        assert run.logged[-1]["exact_discounted"] == own[-1]["exact_discounted"]


def test_a_resumed_run_goes_on_in_its_runs_and_a_failed_one_says_so(runs, tmp_path):
    class Fails(asmpg.Callback):
        def on_evaluation(self, seed, row):
            if row["steps"] > 500:
                raise RuntimeError

    def logger():
        return asmpg.WandbLogger("mazes", folder=tmp_path / "run")

    with pytest.raises(RuntimeError):
        train(small_config(), tmp_path / "run", callbacks=[logger(), Fails()], verbose=0)
    assert [run.exit_code for run in runs] == [1, 1]
    ids = json.loads((tmp_path / "run" / "wandb.json").read_text())
    assert ids == {str(seed): run.id for seed, run in zip(SEEDS, runs, strict=True)}
    del runs[:]
    train(small_config(), tmp_path / "run", resume=True, callbacks=[logger()], verbose=0)
    assert [(run.id, run.options["resume"]) for run in runs] == [(i, "allow") for i in ids.values()]


def test_the_command_line(runs, tmp_path):
    run = tmp_path / "run"
    train(small_config(), run, verbose=0)
    main(["train", "--resume", str(run), "--steps", "2500", "--wandb", "mazes", "--quiet"])
    assert [each.options["project"] for each in runs] == ["mazes", "mazes"]
    assert RunFolder(run).finished()


def test_without_wandb_a_line_says_what_to_install(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(SystemExit):
        main(["train", "CheeseMaze", "--wandb", "mazes", "--out", str(tmp_path / "run")])
    assert 'pip install "asmpg[wandb]"' in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_with_wandb_itself(tmp_path, monkeypatch):
    pytest.importorskip("wandb")
    monkeypatch.chdir(tmp_path)
    logger = asmpg.WandbLogger("mazes", folder=tmp_path / "run", mode="offline")
    train(small_config(), tmp_path / "run", callbacks=[logger], verbose=0)
    assert len(list((tmp_path / "run" / "wandb").glob("offline-run-*"))) == len(SEEDS)
