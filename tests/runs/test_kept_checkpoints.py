"""Checkpoints to choose from, and what a run keeps that ends by an error."""

import dataclasses

import pytest

import asmpg
from asmpg.cli import main
from asmpg.runs import RunFolder
from asmpg.training import train
from runs import SEEDS, arrays, assert_same_runs, small_config


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "run"
    train(small_config(), out, checkpoint_every=1000, verbose=0)
    return out


def test_one_checkpoint_in_every_so_many_steps(run):
    folder = RunFolder(run)
    for seed in SEEDS:
        steps = [int(row["steps"]) for row in folder.rows() if row["seed"] == seed]
        first = {count // 1000: count for count in reversed(steps) if count >= 1000}
        assert folder.kept_steps(seed) == sorted(first.values())
        last = folder.kept_steps(seed)[-1]
        assert last == steps[-1]
        ends = [arrays(folder.checkpoint_path(seed, which)) for which in (last, "last")]
        assert all((ends[0][name] == ends[1][name]).all() for name in ends[0])


def test_load_and_evaluate_take_the_first_that_is_far_enough(run, capsys):
    folder = RunFolder(run)
    first, last = folder.kept_steps(SEEDS[0])
    for step, steps in ((0, first), (1000, first), (first, first), (first + 1, last)):
        agent = asmpg.load(run, seed=SEEDS[0], step=step)
        assert f"after {steps:,} steps" in repr(agent)
        assert int(agent.learner.optimiser[0].count) > 0
    (entry,) = asmpg.evaluate(run, seed=SEEDS[0], step=first + 1, episodes=5)
    assert (entry["steps"], entry["which"]) == (last, "step")
    main(["evaluate", str(run), "--step", "1000", "--episodes", "5"])
    assert "first policy kept at or after step 1,000" in " ".join(capsys.readouterr().out.split())
    values = {seed: folder.status(seed, folder.kept_steps(seed)[0]).value for seed in SEEDS}
    best = max(values, key=lambda seed: float(values[seed]))
    assert f"seed {best} " in repr(asmpg.load(run, step=1000))


@pytest.mark.usefixtures("as_user")
def test_what_cannot_be_chosen(run, tmp_path):
    kept = RunFolder(run).kept_steps(SEEDS[0])
    with pytest.raises(ValueError, match=f"step must be at most .* {kept[0]}, .*; got 9999"):
        asmpg.load(run, step=9999)
    with pytest.raises(ValueError, match="step must be an integer"):
        asmpg.load(run, step="first")
    asmpg.load(run).save(tmp_path / "agent.npz")
    with pytest.raises(ValueError, match="step must be None for a file"):
        asmpg.load(tmp_path / "agent.npz", step=1)
    with pytest.raises(ValueError, match="checkpoint_every needs out"):
        train(small_config(), checkpoint_every=1000)
    with pytest.raises(ValueError, match="checkpoint_every must be an integer of at least 1"):
        train(small_config(), tmp_path / "other", checkpoint_every=0)
    train(small_config(), tmp_path / "plain", verbose=0)
    with pytest.raises(ValueError, match="which has none: train with checkpoint_every; got 0"):
        asmpg.load(tmp_path / "plain", step=0)


class Fails(asmpg.Callback):
    """Raises at an evaluation."""

    def __init__(self, at, error):
        self.heard, self.at, self.error = 0, at, error

    def on_evaluation(self, seed, row):
        self.heard += 1
        if self.heard == self.at:
            raise self.error


@pytest.mark.parametrize("abreast", [False, True])
def test_a_callback_that_raises_costs_no_finished_evaluation(run, tmp_path, monkeypatch, abreast):
    monkeypatch.setattr("asmpg.training._loop._in_one_program", lambda: abreast)
    fails = Fails(6, RuntimeError("of the user's"))
    with pytest.raises(RuntimeError, match="of the user's"):
        train(small_config(), tmp_path / "run", callbacks=[fails], verbose=0)
    folder = RunFolder(tmp_path / "run")
    kept = sum(folder.status(seed).evaluations for seed in SEEDS)
    assert kept == (4 if abreast else 5)
    train(small_config(), tmp_path / "run", resume=True, verbose=0)
    if not abreast:
        assert_same_runs(tmp_path / "run", run)


def test_what_was_kept_beyond_the_last_checkpoint_is_done_again(run, tmp_path, monkeypatch):
    class Death(BaseException):
        pass

    # However slow this machine is, no other checkpoint is written before the end.
    monkeypatch.setattr("asmpg.training._checkpointer._SHARE", 1e-9)
    with pytest.raises(Death):
        train(
            small_config(),
            tmp_path / "run",
            checkpoint_every=500,
            callbacks=[Fails(9, Death())],
            verbose=0,
        )
    folder = RunFolder(tmp_path / "run")
    assert any(folder.kept_steps(seed)[-1] > folder.status(seed).steps for seed in SEEDS)
    train(small_config(), tmp_path / "run", resume=True, verbose=0)
    for seed in SEEDS:
        assert folder.kept_steps(seed) == []
    assert_same_runs(tmp_path / "run", run)


def test_the_command_line_keeps_them_too(run, tmp_path):
    again = tmp_path / "run"
    train(small_config(), again, verbose=0)
    main(["train", "--resume", str(again), "--steps", "3000", "--checkpoint-every=1", "--quiet"])
    steps = {int(row["steps"]) for row in RunFolder(again).rows() if row["seed"] == SEEDS[0]}
    assert set(RunFolder(again).kept_steps(SEEDS[0])) == {n for n in steps if n > 2100}


@pytest.fixture(params=["links", "no links"])
def linking(request, monkeypatch):
    if request.param == "no links":

        def refuse(*_):
            raise OSError("this file system has no links")

        monkeypatch.setattr("asmpg._support.files.os.link", refuse)
    return request.param == "links"


def test_a_seed_that_ends_at_its_best_has_one_file(run, linking, tmp_path):
    """By two names; where there are no links, two files that say the same."""
    out = tmp_path / "run"
    train(small_config(), out, verbose=0)
    at_best = []
    for seed in SEEDS:
        last, best = (RunFolder(out).checkpoint_path(seed, which) for which in ("last", "best"))
        at_best.append(RunFolder(out).status(seed).improved)
        assert last.samefile(best) == (at_best[-1] and linking)
        assert (last.read_bytes() == best.read_bytes()) == at_best[-1]
        of_other = RunFolder(run).checkpoint_path(seed, "last")
        assert last.read_bytes() == of_other.read_bytes()
    assert any(at_best)


def test_a_later_last_checkpoint_leaves_the_best_one_alone(linking, tmp_path):
    """The file of two names is not written into: it is replaced."""
    out = tmp_path / "run"
    config = small_config()
    train(config, out, verbose=0)
    best = {seed: RunFolder(out).checkpoint_path(seed, "best") for seed in SEEDS}
    before = {seed: path.read_bytes() for seed, path in best.items()}
    longer = dataclasses.replace(config, steps=config.steps + 1000)
    train(longer, out, resume=True, verbose=0)
    folder = RunFolder(out)
    for seed in SEEDS:
        status = folder.status(seed)
        assert status.steps > config.steps
        if status.best_steps <= config.steps:
            assert best[seed].read_bytes() == before[seed]
        last = folder.checkpoint_path(seed, "last")
        assert last.samefile(best[seed]) == (status.improved and linking)
