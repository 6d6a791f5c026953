"""`asmpg train`, `evaluate` and `plot`: what they leave, what they say, how they exit."""

import dataclasses
import errno
import importlib
import inspect
import io
import json
import os
import re
import signal
import subprocess
import sys
import typing

import pytest

import asmpg
from asmpg import cli
from asmpg._support.errors import TrainingError
from asmpg.exact import Yardstick, Yardsticks
from asmpg.runs import RunFolder
from asmpg.studies import shipped_studies
from asmpg.training import Progress
from runs import assert_same_runs

SMALL = [
    "--method=asmpg",
    "--policy=tabular",
    "--num-states=2",
    "--evaluate-every=1_000",
    "--evaluation-episodes=10",
]


def train(*arguments):
    cli.main(["train", *SMALL, *map(str, arguments)])


def test_a_reader_that_leaves_early_is_no_error_to_report():
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "asmpg.cli", "train", "--help"]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")


def fails(capsys, *arguments, code):
    """Run a command that must fail with one line on standard error; give the line."""
    with pytest.raises(SystemExit) as stopped:
        cli.main([*map(str, arguments)])
    output = capsys.readouterr()
    assert stopped.value.code == code
    assert output.out == ""
    assert output.err.startswith("asmpg: ")
    assert output.err.count("\n") == 1
    return output.err


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "cheese"
    train("CheeseMaze", "--seeds", 2, "--steps", "3_000", "--out", out, "--quiet")
    return out


@pytest.fixture
def yardsticks(monkeypatch):
    """Yardsticks without the minute they take."""
    kinds = (Yardstick(0.5, 0.9, value) for value in (0.01, 0.1, 0.12, 0.23, 0.25))
    values = Yardsticks(*kinds)
    monkeypatch.setattr("asmpg.exact.yardsticks", lambda *_, **__: values, raising=False)


def test_help_and_version_import_nothing_heavy():
    code = (
        "import sys; from asmpg.cli import main\n"
        "try: main([sys.argv[1]])\n"
        "except SystemExit as stop: assert not stop.code\n"
        "heavy = {'jax', 'equinox', 'gymnasium', 'matplotlib', 'numpy', 'scipy', 'rich'}\n"
        "assert not heavy & {*sys.modules}, heavy & {*sys.modules}"
    )
    for option, expected in (("--help", "evaluate"), ("--version", asmpg.__version__)):
        done = subprocess.run(
            [sys.executable, "-c", code, option], capture_output=True, text=True, check=True
        )
        assert expected in done.stdout


def test_the_package_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "asmpg", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"asmpg {asmpg.__version__}\n"


def test_every_command_has_a_module_with_its_function_and_what_shows_it():
    for command in cli.COMMANDS:
        module = importlib.import_module(f"asmpg.commands.{command}")
        assert getattr(module, command) is getattr(asmpg, command)
        arguments = inspect.signature(module.show).parameters.values()
        named = {each.name for each in arguments if each.kind is not each.VAR_KEYWORD}
        fields = {field.name for field in dataclasses.fields(cli.COMMANDS[command])}
        # The command line itself sees to that one.
        fields.discard("no_compile_cache")
        assert named <= fields
        assert named == fields or any(each.kind is each.VAR_KEYWORD for each in arguments)


def test_every_command_has_help(capsys):
    for command in cli.COMMANDS:
        with pytest.raises(SystemExit) as stopped:
            cli.main([command, "--help"])
        assert not stopped.value.code
        assert f"usage: asmpg {command}" in capsys.readouterr().out


def test_the_help_of_train_has_the_recommended_method_first_and_the_paper_s_last(capsys):
    with pytest.raises(SystemExit):
        cli.main(["train", "--help"])
    shown = capsys.readouterr().out
    order = ("--steps", "asm-ppo options", "--num-states", "environment options", "--trust")
    places = [shown.index(f"{part} ") for part in (*order, "paper options", "--barrier")]
    assert places == sorted(places)


def test_every_study_that_comes_with_the_package_is_named_in_the_help(capsys):
    with pytest.raises(SystemExit):
        cli.main(["study", "--help"])
    shown = capsys.readouterr().out
    assert all(name in shown for name in shipped_studies())


def test_flags_offer_the_words_that_the_method_takes():
    """The paper's options have flags; everything else goes by `--option`."""
    hints = {}
    for name, kind in typing.get_type_hints(cli.COMMANDS["train"]).items():
        hints |= typing.get_type_hints(kind) if dataclasses.is_dataclass(kind) else {name: kind}
    fields = {field.name: field.type for field in dataclasses.fields(asmpg.ASMPG)}
    shared = fields.keys() & hints.keys()
    assert {"num_states", "hidden", "discount", "estimator", "baseline", "barrier"} <= shared
    worded = [name for name in shared if typing.get_origin(fields[name]) is typing.Literal]
    assert len(worded) >= 6
    for name in worded:
        words = typing.get_args(typing.get_args(hints[name])[0])
        assert words == typing.get_args(fields[name])


def test_the_recommended_method_is_the_default(monkeypatch):
    configs = []
    monkeypatch.setattr(
        "asmpg.commands.train._train", lambda config, *_, **__: configs.append(config)
    )
    cli.main(["train", "CheeseMaze"])
    cli.main(["train", "CheeseMaze", "--method", "asmpg"])
    recommended, paper = configs
    assert (recommended.method, recommended.steps) == ("asm-ppo", 150_000)
    assert (paper.method_options, paper.steps) == ({}, 1_000_000)
    assert asmpg.ASMPG(**paper.method_options).estimator == "sampled"


def test_training_leaves_a_run(run):
    config = RunFolder(run).config
    assert (config.environment, config.seeds, config.steps) == ("CheeseMaze", (1952, 5235), 3000)
    assert config.method_options["num_states"] == 2
    assert RunFolder(run).finished()


def test_training_says_what_came_out(capsys, tmp_path):
    train("CheeseMaze", "--seeds", "7,", "--steps", 2000, "--out", tmp_path / "run")
    output = capsys.readouterr()
    assert "At the last evaluation: reward per step 0.0" in output.out
    assert f"asmpg plot {tmp_path / 'run'}" in output.out
    lines = output.err.splitlines()
    assert lines[0] == "CheeseMaze, asmpg: compiling"
    assert "compiled in" in lines[1]
    assert "steps/s" in lines[-1]
    assert lines[-1].startswith("CheeseMaze, asmpg: 100%, reward per step 0.0")
    assert "seed" not in lines[-1]
    assert RunFolder(tmp_path / "run").config.seeds == (7,)


@pytest.mark.usefixtures("yardsticks")
def test_quiet_is_quiet_and_one_seed_is_no_mean(capsys, tmp_path):
    train("CheeseMaze", "--seeds", 1, "--steps", 1000, "--out", tmp_path / "run", "--quiet")
    output = capsys.readouterr()
    assert output.err == ""
    assert "seeds" not in output.out
    _, picture = asmpg.plot(tmp_path / "run")
    labels = re.findall("<!-- (.*seed.*) -->", picture.read_text())
    assert labels == ["1 seed, exact", "1 seed, sampled"]


def test_the_default_folder_is_named_after_environment_and_method(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    train("CheeseMaze", "--seeds", 1, "--steps", 1000, "--quiet")
    assert RunFolder("runs/CheeseMaze-asmpg").finished()


def test_evaluate_prints_a_table_or_json(run, capsys):
    cli.main(["evaluate", str(run), "--episodes", "200", "--json"])
    entries = json.loads(capsys.readouterr().out)
    assert [entry["seed"] for entry in entries] == [1952, 5235]
    assert {"discounted_return", "reward_per_step_standard_error", "exact_discounted"} <= set(
        entries[0]
    )
    cli.main(["evaluate", str(run), "--episodes", "200", "--seed", "5235", "--which", "last"])
    shown = capsys.readouterr().out
    assert "5235" in shown
    assert "1952" not in shown


def test_tables_are_printed_in_any_encoding(run, monkeypatch):
    output = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", output)
    cli.main(["evaluate", str(run), "--episodes", "200", "--which", "last"])
    output.flush()
    shown = output.buffer.getvalue().decode("ascii")
    assert "5235" in shown
    assert re.search(r"0\.\d+ \+/- 0\.\d+", shown)
    assert "?" not in shown


@pytest.mark.usefixtures("yardsticks")
def test_plot_draws_the_learning_curve(run, capsys, tmp_path):
    cli.main(["plot", str(run), "--out", str(tmp_path / "pictures")])
    assert capsys.readouterr().out.count("Drew") == 2
    picture = (tmp_path / "pictures" / "learning_curve.svg").read_text()
    for label in ("each seed", "mean of 2 seeds", "history optimum", "best memoryless"):
        assert f"<!-- {label}" in picture
    assert asmpg.plot(run) == [run / "learning_curve.png", run / "learning_curve.svg"]


def test_a_run_without_yardsticks_is_drawn_all_the_same(run, monkeypatch, tmp_path):
    def unknown(*_, **__):
        raise ValueError("no solver")

    monkeypatch.setattr("asmpg.exact.yardsticks", unknown, raising=False)
    assert all(path.exists() for path in asmpg.plot(run, tmp_path))


def test_resuming_ends_as_if_never_stopped(run, tmp_path, capsys, monkeypatch):
    out = tmp_path / "again"
    options = ("CheeseMaze", "--seeds", 2, "--steps", "3_000", "--out", out)
    interrupt_after_first_evaluation(monkeypatch)
    with pytest.raises(SystemExit) as stopped:
        train(*options)
    assert stopped.value.code == 130
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == f"asmpg: stopped; resume with: asmpg train --resume {out}"
    monkeypatch.undo()
    assert not RunFolder(out).finished()
    assert "resume it with --resume" in fails(capsys, "train", *SMALL, *options, code=2)
    cli.main(["train", "--resume", str(out), "--quiet"])
    assert_same_runs(out, run)
    capsys.readouterr()
    cli.main(["train", "--resume", str(out)])
    assert "nothing left to do" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--method asm-ppo", "--method must be left out or as in .*, a run with 'asmpg'; got 'asm"),
        (
            "--seeds 10",
            r"--seeds must be left out .* a run with \(1952, 5235\); got \(1952, 5235, 8",
        ),
        ("--steps 2999", "--steps must be at least 3,000, those of .*; got 2,999"),
        ("--evaluation-episodes 100", "--evaluation-episodes .* a run with 10; got 100"),
        ("--vectorization async", "--vectorization .* a run with 'sync'; got 'async'"),
        ("--greedy", "--greedy .* a run with False; got True"),
        ("Tiger", "ENVIRONMENT must be left out .* a run with 'CheeseMaze'; got 'Tiger'"),
        ("--num-states 8", "--num-states .* a run with 2; got 8"),
        ("--num_states=8", "--num-states .* a run with 2; got 8"),
        ("--learning-rate 0.5", "--learning-rate .* a run with 0.001; got 0.5"),
        ("--option num_states=8", "--option num_states .* a run with 2; got 8"),
        ("--option width=8", "--option width .* a run without it; got 8"),
        ("--environment-option max_steps=9", "--environment-option max_steps .* with 200; got 9"),
        ("--out elsewhere", "--out must be left out .*elsewhere"),
    ],
)
def test_resuming_refuses_every_option_that_the_run_does_not_have(run, capsys, options, message):
    error = fails(capsys, "train", "--resume", run, *options.split(), code=2)
    assert re.search(message, error)


def test_resuming_accepts_the_options_that_the_run_has(run, capsys):
    same = (
        "CheeseMaze --seeds 2 --steps 3000 --method asmpg --evaluation-episodes 10 --quiet "
        "--vectorization sync --num-states 2 --learning-rate 0.001 --objective discounted "
        "--option num_states=2 --environment-option max_steps=200"
    )
    cli.main(["train", "--resume", str(run), "--out", str(run), *same.split()])
    assert "nothing left to do" in capsys.readouterr().out


def interrupt_after_first_evaluation(monkeypatch):
    class Interrupting(Progress):
        def on_evaluation(self, seed, row):
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr("asmpg.training._loop.Progress", Interrupting)


def test_tensorboard_logs_are_written_for_each_seed(tmp_path):
    pytest.importorskip("tensorboardX")
    out = tmp_path / "run"
    train("CheeseMaze", "--seeds", 2, "--steps", 1000, "--out", out, "--tensorboard", "--quiet")
    for seed in (1952, 5235):
        assert list((out / "tensorboard" / f"seed-{seed}").glob("events*"))


def test_a_missing_tensorboard_is_named(capsys, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    options = ("--tensorboard", "--out", tmp_path / "run")
    error = fails(capsys, "train", "CheeseMaze", *options, code=1)
    assert 'pip install "asmpg[tensorboard]"' in error
    assert os.listdir(tmp_path) == []


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("train CheeseMaze --steps 0", "steps must be an integer in .* got 0"),
        ("train ChesseMaze", "did you mean CheeseMaze"),
        ("train", "environment must be given, one of CheeseMaze"),
        ("train CheeseMaze --stps 5", "--stps.* did you mean --steps"),
        ("train CheeseMaze --steps many", "--steps.*many"),
        ("train CheeseMaze --policy linear", "linear.*--policy"),
        ("train CheeseMaze --method ppo", "method must be one of asm-ppo"),
        ("train CheeseMaze --seeds few", "seeds must be a number of seeds, or the seeds"),
        (
            "train CheeseMaze --seeds 0",
            r"number of seeds must be an integer in \[1, 100000\], got 0",
        ),
        ("train CheeseMaze --seeds 1,1", "seeds must be different integers"),
        ("train CheeseMaze --learning-rate -1", "learning_rate must be a number of at least 0"),
        ("train VelocityOnlyCartPole --policy tabular", "needs discrete observations"),
        (
            f"train CheeseMaze --num-states {'9' * 30}",
            r"num_states must be an integer in \[1, 10000",
        ),
        ("train CheeseMaze --seeds 1000000000", "number of seeds must be an integer in"),
        ("train CheeseMaze --steps 2000000000 --evaluate-every 1", "evaluate_every must be at lea"),
        ("train CheeseMaze --method asmpg --option normalise=5", "normalise must be true or false"),
        ('train CheeseMaze --option observation_scale="x"', "observation_scale must be a list"),
        (f"train CheeseMaze --option hidden={'[' * 5000}", "--option hidden is nested too deeply"),
        (f"train CheeseMaze --option hidden={'9' * 5000}", "too long a number"),
        (f"train CheeseMaze --option hidden={'[' * 99}{']' * 99}", "hidden must be nested at most"),
        ("train --resume nowhere", "nowhere is not the folder of a run"),
        ("evaluate nowhere", "nowhere is not the folder of a run"),
        ("plot nowhere", "nowhere is not the folder of a run"),
        ("show nowhere", "nowhere is not the folder of a run"),
        ("show nowhere --history 1", "history must be 0, or an integer in"),
        ("show nowhere --tolerance 2", "tolerance must be a number in"),
        ("run CheeseMaze", "run"),
        ("", "train, evaluate, plot, show, study, sweep, report, envs"),
    ],
)
def test_wrong_usage_is_one_line_and_leaves_nothing(
    capsys, tmp_path, monkeypatch, arguments, message
):
    monkeypatch.chdir(tmp_path)
    error = fails(capsys, *arguments.split(), code=2)
    assert re.search(message, error)
    assert os.listdir(tmp_path) == []


def test_a_folder_with_another_configuration_is_wrong_usage(run, capsys):
    error = fails(capsys, "train", *SMALL, "CheeseMaze", "--out", run, "--steps", 9, code=2)
    assert "steps is 3000 there and 9 here" in error


def test_a_damaged_checkpoint_is_a_failure(capsys, tmp_path):
    out = tmp_path / "run"
    train("CheeseMaze", "--seeds", 1, "--steps", 1000, "--out", out, "--quiet")
    path = RunFolder(out).checkpoint_path(1952, "best")
    path.write_bytes(path.read_bytes()[:100])
    capsys.readouterr()
    assert "best.npz is not a checkpoint, or is damaged" in fails(capsys, "evaluate", out, code=1)


def test_a_full_disk_is_a_failure(capsys, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.fsync", full)
    error = fails(capsys, "train", "CheeseMaze", "--out", tmp_path / "run", code=1)
    assert "No space left on device" in error
    assert os.listdir(tmp_path) == []


def test_not_a_number_is_a_failure(capsys, tmp_path, monkeypatch):
    def spoiled(*_, **__):
        raise TrainingError("CheeseMaze, seed 1952: a reward was not a finite number")

    monkeypatch.setattr("asmpg.commands.train.train", spoiled)
    error = fails(capsys, "train", "CheeseMaze", "--out", tmp_path / "run", code=1)
    assert "seed 1952" in error


def test_options_of_method_and_environment_by_name(tmp_path):
    given = ["--option=num_states=3", "--environment-option=max_steps=20", "--quiet", "--seeds=1"]
    train("CheeseMaze", *given, "--steps=500", f"--out={tmp_path}/run")
    config = RunFolder(tmp_path / "run").config
    assert config.environment_options == {"max_steps": 20}
    assert config.method_options["num_states"] == 3


@pytest.mark.parametrize("wrong", ["num_states", "=3"])
def test_an_option_without_name_or_value_is_a_usage_error(wrong, capsys, tmp_path):
    given = ["train", "CheeseMaze", f"--option={wrong}", f"--out={tmp_path}/run"]
    assert "--option must be NAME=VALUE" in fails(capsys, *given, code=2)
