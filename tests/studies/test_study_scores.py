"""What is read from the runs of a study: steps that were taken, and the best measured again."""

import json

import numpy as np
import pytest

from asmpg._support.errors import CheckpointError
from asmpg.analysis import SeedCurve, common_grid, seed_curves
from asmpg.studies import StudyFolder, best_scores, write_best_scores
from studies import make_up, prepare, spread_out, study


def curve(steps, scores):
    return SeedCurve(np.asarray(steps), np.asarray(scores, float))


def test_curves_are_read_seed_by_seed():
    rows = [
        {"seed": seed, "steps": steps, "score": float(10 * seed + steps)}
        for steps in (0, 512)
        for seed in (1, 2)
    ]
    found = seed_curves(rows, "score")
    assert found[1].steps.tolist() == found[2].steps.tolist() == [0, 512]
    assert found[2].scores.tolist() == [20.0, 532.0]


def test_seeds_meet_at_the_mean_of_the_steps_they_took():
    one, other = curve([0, 110, 205], [0, 1, 2]), curve([0, 130, 215], [4, 5, 6])
    steps, scores = common_grid((0, 100, 200), [one, other])
    assert steps.tolist() == [0, 120, 210]
    assert scores.tolist() == [[0, 1, 2], [4, 5, 6]]


def test_targets_without_a_new_evaluation_are_left_out():
    # An update takes 512 steps: four of the targets fall into the first one.
    one = curve([0, 512, 1024], [0, 1, 2])
    steps, scores = common_grid((0, 100, 200, 300, 400, 600), [one])
    assert steps.tolist() == [0, 512, 1024]
    assert scores.tolist() == [[0, 1, 2]]


def test_a_seed_without_a_new_evaluation_keeps_its_last():
    one, other = curve([0, 512], [0, 1]), curve([0, 110, 600], [4, 5, 6])
    steps, scores = common_grid((0, 100, 500), [one, other])
    assert steps.tolist() == [0, 311, 556]
    assert scores.tolist() == [[0, 1, 1], [4, 5, 6]]


@pytest.fixture
def job(tmp_path, monkeypatch):
    """A job whose run is trained; its evaluations are counted, not made."""
    folder = make_up(prepare(tmp_path, study(environments=["CheeseMaze"], seeds=2)), spread_out)
    job = folder.study.jobs()[0]
    folder.best_path(job).unlink()
    calls = []

    def measure(run, **options):
        calls.append(options)
        return [{"seed": options["seed"], "episodes": options["episodes"], "steps": 7}]

    monkeypatch.setattr("asmpg.studies._study_folder.evaluate", measure)
    monkeypatch.setattr(StudyFolder, "trained", lambda *_: True)
    for seed in job.config.seeds:
        path = folder.run_path(job) / "checkpoints" / f"seed-{seed}" / "best.npz"
        path.parent.mkdir(parents=True)
        path.touch()
    return folder, job, calls


def test_the_best_play_as_many_fresh_episodes_in_every_entry_and_only_once(job):
    folder, job, calls = job
    assert not folder.finished(job)
    found = best_scores(folder, job, job.config.seeds[:1])
    assert found == {1952: {"seed": 1952, "episodes": 1000, "steps": 7}}
    assert calls == [
        {"seed": seed, "episodes": 1000, "greedy": False, "which": "best"}
        for seed in job.config.seeds
    ]
    assert folder.finished(job)
    write_best_scores(folder, job)
    assert best_scores(folder, job, job.config.seeds).keys() == {1952, 5235}
    assert len(calls) == 2


@pytest.mark.parametrize(
    "text", ["", "{", "7", "[" * 100_000, '[{"seed": 1952}]', '[{"seed": 1952, "episodes": 1000}]']
)
def test_a_damaged_file_is_measured_again(job, text):
    folder, job, _ = job
    folder.best_path(job).write_text(text)
    assert best_scores(folder, job, job.config.seeds).keys() == {1952, 5235}
    assert [entry["episodes"] for entry in json.loads(folder.best_path(job).read_text())] == [
        1000,
        1000,
    ]


def test_unfinished_jobs_are_measured_for_now_only(job, monkeypatch):
    folder, job, _ = job
    monkeypatch.setattr(StudyFolder, "trained", lambda *_: False)
    assert best_scores(folder, job, job.config.seeds[:1]).keys() == {1952}
    assert not folder.best_path(job).exists()


def test_without_a_checkpoint_nothing_can_be_measured(job):
    folder, job, _ = job
    (folder.run_path(job) / "checkpoints" / "seed-5235" / "best.npz").unlink()
    with pytest.raises(CheckpointError, match=r"seed-5235/best\.npz does not exist"):
        best_scores(folder, job, job.config.seeds)
