"""A run on disk says what it is, keeps what was found, and is never mixed up with another."""

import errno
import json
import math
import os

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

import asmpg
from asmpg._support.errors import CheckpointError, TrainingError
from asmpg.environments import Discrete, Environment
from asmpg.runs import RunConfig, RunFolder, default_seeds, load_meta
from asmpg.training import Callback, build_program, score_of, seed_shapes, train
from runs import SEEDS, small_config


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "small"
    train(small_config(), out)
    return out


def test_config_json_is_enough_to_run_it_again(run):
    written = json.loads((run / "config.json").read_text())
    assert RunConfig.from_dict(written["config"]).differences(small_config()) == []
    assert written["config"]["method_options"]["learning_rate"] == 1e-3
    assert {"asmpg", "jax", "python", "device", "commit"} == set(written["made_with"])


def test_metrics_have_a_row_for_each_evaluation_and_seed(run):
    rows = RunFolder(run).rows()
    assert [row["seed"] for row in rows] == [seed for seed in SEEDS for _ in range(5)]
    for row in rows:
        assert row["steps"] >= 0
        assert row["reward_per_step"] == pytest.approx(
            row["undiscounted_return"] / row["episode_length"], rel=1e-5
        )
        assert math.isnan(row["gradient_norm"]) == (row["updates"] == 0)
    first = rows[0]
    assert (first["steps"], first["episodes"], first["updates"]) == (0, 0, 0)
    assert [row["steps"] // 500 for row in rows[:5]] == [0, 1, 2, 3, 4]


def test_the_best_checkpoint_has_the_best_exact_value(run):
    """By the discounted return, which is optimised: exact here, so that noise plays no part."""
    folder = RunFolder(run)
    for seed in SEEDS:
        values = [row["exact_discounted"] for row in folder.rows() if row["seed"] == seed]
        best = load_meta(folder.checkpoint_path(seed, "best"))
        assert best["value"] == max(values)
        assert best["evaluations"] == values.index(max(values)) + 1
        assert load_meta(folder.checkpoint_path(seed, "last"))["value"] == values[-1]


def test_nothing_else_is_left(run):
    names = {str(path.relative_to(run)) for path in run.rglob("*") if path.is_file()}
    assert names == {".lock", "config.json", "metrics.csv"} | {
        f"checkpoints/seed-{seed}/{which}.npz" for seed in SEEDS for which in ("best", "last")
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"steps": 1000}, "steps is 2000 there and 1000 here"),
        ({"seeds": (1,)}, r"seeds is \[1952, 5235\] there and \[1\] here"),
        ({"greedy": True}, "greedy is False there and True here"),
        (
            {"method_options": {"policy": "tabular", "num_states": 3}},
            "method_options.num_states is 2 there and 3 here",
        ),
        ({"environment_options": {}}, "environment_options"),
    ],
)
def test_another_configuration_is_refused_by_name(run, change, message):
    for resume in (False, True):
        with pytest.raises(ValueError, match=message):
            train(small_config(**change), run, resume=resume)


def test_a_finished_run_is_not_overwritten(run):
    with pytest.raises(ValueError, match="this very run, finished"):
        train(small_config(), run)


def test_an_unfinished_run_asks_to_be_resumed(tmp_path):
    RunFolder.create(tmp_path / "begun", small_config())
    with pytest.raises(ValueError, match=r"unfinished; resume it with --resume .*begun"):
        train(small_config(), tmp_path / "begun")


def test_only_new_or_empty_folders_are_filled(tmp_path):
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(ValueError, match="out must be a new or empty folder"):
        train(small_config(), tmp_path)
    with pytest.raises(ValueError, match=r"out must be a folder, .*letter\.txt is a file"):
        train(small_config(), tmp_path / "letter.txt")
    with pytest.raises(ValueError, match="is not the folder of a run"):
        train(small_config(), tmp_path, resume=True)
    assert os.listdir(tmp_path) == ["letter.txt"]


def test_a_full_disk_leaves_no_folder(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        train(small_config(), tmp_path / "run")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"config": {"speed": 3}}'])
def test_a_damaged_config_is_named(tmp_path, text):
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(CheckpointError, match=r"config\.json is damaged"):
        RunFolder(tmp_path)


class Spoiled(Environment[jax.Array]):
    """Pays 1, and now and then not a number."""

    max_steps: int = eqx.field(static=True, default=5)
    chance: float = eqx.field(static=True, default=0.002)

    def reset(self, key):
        return jnp.zeros((), jnp.int32), jnp.zeros(())

    def step(self, key, state, action):
        reward = jnp.where(jax.random.uniform(key) < self.chance, jnp.nan, 1.0)
        return jnp.zeros((), jnp.int32), state, reward, jnp.asarray(False)

    @property
    def observation_space(self):
        return Discrete(1)

    @property
    def action_space(self):
        return Discrete(2)

    @property
    def reward_bound(self):
        return 1.0


@pytest.fixture
def spoiled(monkeypatch):
    monkeypatch.setattr("asmpg.environments._registry._registered", {})
    asmpg.register("Spoiled", Spoiled)
    return small_config(environment="Spoiled", environment_options={}, steps=100_000, seeds=(1952,))


def test_not_a_number_stops_training_and_keeps_the_last_good_state(spoiled, tmp_path):
    with pytest.raises(TrainingError, match="Spoiled, seed 1952: a reward, an observation or a"):
        train(spoiled, tmp_path / "run")
    folder = RunFolder(tmp_path / "run")
    rows, status = folder.rows(), folder.status(1952)
    assert status.evaluations == len(rows) > 0
    assert all(math.isfinite(row["undiscounted_return"]) for row in rows)
    state, _ = folder.load(seed_shapes(build_program(spoiled, spoiled.resolve())), 1952, "last")
    assert bool(state.finite)
    assert int(state.steps) == rows[-1]["steps"]


def test_the_score_is_the_papers():
    names = {name: score_of(asmpg.make(name)).name for name in asmpg.registered_names()[:5]}
    assert names == {
        "CheeseMaze": "reward_per_step",
        "HallwayNavigation": "reward_per_step",
        "HealthcareTreatment": "undiscounted_return",
        "MachineRepair": "undiscounted_return",
        "VelocityOnlyCartPole": "undiscounted_return",
    }


def test_the_first_seeds_are_the_papers_and_more_can_follow():
    assert default_seeds(3) == (1952, 5235, 8234)
    assert len(set(default_seeds(1000))) == 1000
    assert default_seeds(12)[-2:] == (10_000, 10_001)


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"steps": 0}, "steps must be an integer in .* got 0"),
        ({"steps": 1e6}, "steps must be an integer in .* got 1000000.0"),
        ({"seeds": ()}, "seeds must be different integers"),
        ({"seeds": (1, 1)}, "seeds must be different integers"),
        ({"seeds": (-1,)}, "a seed must be an integer in"),
        ({"seeds": 3}, "seeds must be different integers"),
        ({"evaluate_every": 0}, "evaluate_every must be an integer of at least 1, got 0"),
        ({"evaluation_episodes": 0}, "evaluation_episodes must be"),
        ({"greedy": "yes"}, "greedy must be True or False, got 'yes'"),
        ({"method": "ppo"}, "method must be one of asm-ppo.* got 'ppo'"),
        ({"environment": 3}, "environment_options go with the name of an environment"),
        ({"environment": 3, "environment_options": {}}, "environment must be a name, a Gymnasium"),
        ({"environment": "Maze"}, "environment 'Maze' is not known"),
        ({"environment_options": {"speed": 1}}, "options of CheeseMaze must be among"),
        ({"method_options": {"speed": 1}}, "options of asmpg must be one of num_states"),
        ({"method_options": {"num_states": 0}}, "num_states must be an integer in"),
    ],
)
def test_wrong_configurations_are_named_before_anything_is_written(tmp_path, change, message):
    with pytest.raises(ValueError, match=message):
        train(small_config(**change), tmp_path / "run")
    assert os.listdir(tmp_path) == []


def test_unknown_keys_of_a_configuration_are_named():
    with pytest.raises(ValueError, match=r"keys of the configuration must be one of .* 'speed'"):
        RunConfig.from_dict({"environment": "CheeseMaze", "speed": 3})


def test_callbacks_hear_everything():
    heard = []

    class Ear(Callback):
        def on_start(self, config, score, latest):
            heard.append(("start", score.name, dict(latest)))

        def on_compile(self):
            heard.append("compile")

        def on_compiled(self, seconds):
            heard.append("compiled")

        def on_evaluation(self, seed, row):
            heard.append((seed, row["updates"] == 0))

        def on_end(self, error):
            heard.append(("end", error))

    train(small_config(seeds=(1952,), steps=600), callbacks=[Ear()])
    assert heard == [
        ("start", "reward_per_step", {}),
        "compile",
        "compiled",
        (1952, True),
        (1952, False),
        (1952, False),
        ("end", None),
    ]
