"""Training ends early: when a callback says so, at a target score, and on a plateau."""

import dataclasses

import numpy as np
import pytest

import asmpg
from asmpg.cli import main
from asmpg.runs import RunFolder, SeedStatus
from asmpg.training import Callback, StopRule, learn, score_of, train
from quick import long
from runs import SEEDS, assert_same_runs, small_config


class StopAfter(Callback):
    def __init__(self, count, answer=False):
        self.heard, self.count, self.answer, self.error = 0, count, answer, "not over"

    def on_evaluation(self, seed, row):
        self.heard += 1
        return self.answer if self.heard >= self.count else None

    def on_end(self, error):
        self.error = error


@pytest.mark.parametrize("answer", [False, np.False_])
def test_a_callback_stops_training_and_the_run_can_be_resumed(tmp_path, answer):
    stop = StopAfter(3, answer)
    result = train(small_config(), tmp_path / "run", callbacks=[stop], verbose=0)
    assert 3 <= len(result.rows) == stop.heard < 10
    assert stop.error is None
    assert result.agent().config.environment == "CheeseMaze"
    folder = RunFolder(tmp_path / "run")
    assert not folder.finished()
    assert sum(folder.status(seed).evaluations for seed in SEEDS) == stop.heard
    train(small_config(), tmp_path / "run", resume=True, verbose=0)
    train(small_config(), tmp_path / "unbroken", verbose=0)
    assert_same_runs(tmp_path / "run", tmp_path / "unbroken")


def test_where_seeds_go_abreast_a_chunk_begun_ahead_is_dropped(tmp_path, monkeypatch):
    monkeypatch.setattr("asmpg.training._loop._in_one_program", lambda: True)
    stop = StopAfter(len(SEEDS) + 1)
    train(small_config(), tmp_path / "run", callbacks=[stop], verbose=0)
    folder = RunFolder(tmp_path / "run")
    assert stop.heard == len(folder.rows()) == 2 * len(SEEDS)
    assert [folder.status(seed).evaluations for seed in SEEDS] == [2] * len(SEEDS)
    train(small_config(), tmp_path / "run", resume=True, verbose=0)
    train(small_config(), tmp_path / "unbroken", verbose=0)
    assert_same_runs(tmp_path / "run", tmp_path / "unbroken")


@pytest.mark.parametrize("answer", [None, True])
def test_other_answers_do_not_stop_it(answer):
    assert len(train(small_config(), callbacks=[StopAfter(1, answer)], verbose=0).rows) == 10


def test_without_a_folder_the_agent_is_of_a_seed_that_was_evaluated():
    result = train(small_config(seeds=(1, 2)), verbose=0)
    # As if a callback had stopped the run before the second seed was evaluated at all.
    missing = dataclasses.replace(result.seeds[2], status=SeedStatus())
    stopped = dataclasses.replace(result, seeds={1: result.seeds[1], 2: missing})
    stopped.agent()
    with pytest.raises(ValueError, match=r"seed must be one of .*, got 2"):
        stopped.agent(2)


def rows_of(scores, seed=1):
    return [
        {"seed": seed, "undiscounted_return": score, "exact_undiscounted": exact}
        for score, exact in scores
    ]


NAN = float("nan")


@pytest.mark.parametrize(
    ("rule", "scores", "expected"),
    [
        ({"stop_at": 0.5}, [0.1, 0.49, 0.5], [None, None, "stop_at"]),
        ({"patience": 2}, [0.1, 0.3, 0.3, 0.2], [None, None, None, "patience"]),
        ({"patience": 2}, [-1.0, -2.0, -0.5, -0.5], [None, None, None, None]),
        ({"patience": 1}, [0.0, 1e-9, 1e-9], [None, None, "patience"]),
        ({"patience": 1, "stop_at": 0.0}, [-1.0, -1.0], [None, "patience"]),
    ],
)
def test_the_rule(rule, scores, expected):
    stops = StopRule(small_config(**rule), score_of(None))
    assert [stops.after(row) for row in rows_of((score, NAN) for score in scores)] == expected


def test_an_exact_score_goes_before_a_sampled_one_and_seeds_are_judged_alone():
    stops = StopRule(small_config(stop_at=1.0, patience=1), score_of(None))
    assert stops.after(rows_of([(9.0, 0.5)])[0]) is None
    assert stops.after(rows_of([(0.0, 0.4)], seed=2)[0]) is None
    assert stops.after(rows_of([(0.0, 0.6)])[0]) is None
    assert stops.after(rows_of([(0.0, 0.4)], seed=2)[0]) == "patience"


def scores(folder, seed):
    return [row["exact_reward_per_step"] for row in folder.rows() if row["seed"] == seed]


@pytest.mark.parametrize("abreast", [False, long(True)])
def test_every_seed_stops_at_the_target_by_itself(tmp_path, monkeypatch, abreast):
    monkeypatch.setattr("asmpg.training._loop._in_one_program", lambda: abreast)
    train(small_config(), tmp_path / "full", verbose=0)
    full = RunFolder(tmp_path / "full")
    target = sorted(scores(full, SEEDS[0]))[-2]
    config = small_config(stop_at=target)
    train(config, tmp_path / "run", verbose=0)
    folder = RunFolder(tmp_path / "run")
    assert folder.config.stop_at == target
    assert folder.finished()
    for seed in SEEDS:
        every, own = scores(full, seed), scores(folder, seed)
        reached = [place for place, score in enumerate(every) if score >= target]
        assert own == every[: reached[0] + 1 if reached else None]
        assert folder.status(seed).stopped == ("stop_at" if reached else None)
    assert len(scores(folder, SEEDS[0])) < len(scores(full, SEEDS[0]))
    before = (tmp_path / "run" / "metrics.csv").read_bytes()
    train(config, tmp_path / "run", resume=True, verbose=0)
    assert (tmp_path / "run" / "metrics.csv").read_bytes() == before
    # Resumed without the rule, it is the run that never had one.
    train(small_config(), tmp_path / "run", resume=True, verbose=0)
    assert_same_runs(tmp_path / "run", tmp_path / "full")


def test_the_command_line(tmp_path, capsys):
    run = tmp_path / "run"
    command = f"train CheeseMaze --method asmpg --policy tabular --num-states 2 --quiet --seeds 2 \
        --environment-option max_steps=20 --steps 2000 --evaluate-every 500 \
        --evaluation-episodes 10 --out {run} --stop-at -1"
    main(command.split())
    assert "2 of 2 seeds stopped at a score of -1" in capsys.readouterr().out
    assert RunFolder(run).config.to_dict()["stop_at"] == -1
    assert len(RunFolder(run).rows()) == 2
    main(["train", "--resume", str(run), "--quiet"])
    assert "nothing left to do" in capsys.readouterr().out
    main(["train", "--resume", str(run), "--quiet", "--stop-at", "99", "--patience", "50"])
    assert "stopped" not in capsys.readouterr().out
    folder = RunFolder(run)
    assert (folder.config.stop_at, folder.config.patience) == (99, 50)
    assert folder.finished()
    assert len(folder.rows()) == 10


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stop_at": "high"}, "stop_at must be a finite number, got 'high'"),
        ({"stop_at": NAN}, "stop_at must be a finite number, got nan"),
        ({"patience": 0}, "patience must be an integer of at least 1, got 0"),
    ],
)
def test_bad_rules(options, message):
    with pytest.raises(ValueError, match=message):
        learn(asmpg.ASMPPO(), "CheeseMaze", **options)
