"""Malformed command lines end with one line and exit code 1 or 2: no traceback, hang or import.

A seeded generator spoils valid command lines. `ASMPG_FUZZ=500` tries 500 of them, another
`ASMPG_FUZZ_SEED` makes others. What would train, solve or draw for long is replaced; everything
that reads arguments and files is the real thing.
"""

import dataclasses
import itertools
import os
import random
import signal
import sys
import traceback

import pytest

from asmpg import cli
from asmpg._support.errors import TrainingError
from asmpg.exact import Yardstick, Yardsticks
from asmpg.runs import RunConfig, RunFolder
from asmpg.training import build_program

COUNT = int(os.environ.get("ASMPG_FUZZ", "100"))
SEED = int(os.environ.get("ASMPG_FUZZ_SEED", "0"))
_SECONDS = 30
_FOREIGN = "asmpg_foreign:Thing-v0"
_STUDY = """
environments = ["{environment}"]
seeds = 1
steps = 1000
[entries.asmpg]
options = {{ num_states = {num_states}, policy = "tabular" }}
"""

_SWEEP = """
environments = ["CheeseMaze"]
method = "asmpg"
seeds = 1
steps = 1000
[options.num_states]
values = [2, 3]
"""

VALID = {
    "train": (
        ["CheeseMaze"],
        {
            "--seeds": "2",
            "--steps": "1000",
            "--out": "new",
            "--evaluate-every": "100",
            "--evaluation-episodes": "10",
            "--method": "asmpg",
            "--num-states": "2",
            "--hidden": "8",
            "--objective": "discounted",
            "--discount": "0.9",
            "--episodes-per-update": "4",
            "--policy": "mlp",
            "--estimator": "sampled",
            "--baseline": "none",
            "--activation": "relu",
            "--optimiser": "adam",
            "--learning-rate": "0.1",
            "--schedule": "constant",
            "--barrier": "0.1",
            "--vectorization": "sync",
            "--option": "num_states=2",
            "--environment-option": "max_steps=20",
            "--resume": "run",
            "--greedy": None,
            "--quiet": None,
            "--time-indexed": None,
        },
    ),
    "evaluate": (
        ["run"],
        {"--episodes": "10", "--seed": "1952", "--which": "last", "--greedy": None, "--json": None},
    ),
    "plot": (["run"], {"--out": "new"}),
    "show": (
        ["run"],
        {
            "--out": "new",
            "--seed": "1952",
            "--which": "last",
            "--tolerance": "0.1",
            "--cases": "4",
            "--episodes": "1",
            "--history": "0",
            "--minimise": None,
            "--words": None,
        },
    ),
    "study": (
        ["study.toml"],
        {
            "--out": "new",
            "--executor": "local",
            "--executor-option": "time=3",
            "--address": "127.0.0.1:1",
            "--cpus": "1",
            "--gpus": "0",
            "--memory": "1",
            "--jobs": "1",
            "--seeds": "1",
            "--steps": "100",
            "--device": "cpu",
            "--patience": "10",
            "--retries": "1",
            "--quiet": None,
        },
    ),
    "sweep": (
        ["sweep.toml"],
        {"--out": "new", "--executor": "local", "--jobs": "1", "--device": "cpu", "--quiet": None},
    ),
    "report": (["run"], {"--trust": None}),
    "envs": (["CheeseMaze"], {"--json": None, "--recompute": None}),
    "verify": ([], {"--quick": None, "--json": None}),
    "check": (
        ["CheeseMaze"],
        {
            "--seconds": "0",
            "--num-states": "2",
            "--json": None,
            "--environment-option": "max_steps=9",
        },
    ),
    "solve": (
        ["tiger-alt-start.pomdp"],
        {
            "--num-states": "1,2",
            "--time": "1",
            "--discount": "0.9",
            "--json": None,
            "--environment-option": "stop_at_goals=true",
        },
    ),
    "distil": (
        ["run"],
        {
            "--num-states": "2",
            "--window": "1",
            "--finetune": "10",
            "--out": "new",
            "--seed": "1952",
            "--seeds": "1",
            "--rounds": "1",
            "--sequences": "2",
            "--option": "critic_width=4",
            "--deterministic": None,
        },
    ),
    "compress": (
        ["run"],
        {
            "--num-states": "1,2",
            "--finetune": "10",
            "--out": "new",
            "--which": "last",
            "--epochs": "1",
            "--episodes": "2",
            "--quiet": None,
        },
    ),
}

NASTY = [
    "",
    " ",
    "0",
    "-1",
    "-0",
    "1.5",
    "1e3",
    "1e999",
    "-1e999",
    "nan",
    "inf",
    "9" * 30,
    "9" * 400,
    "9" * 5000,
    "0x10",
    "1_0_",
    "٣",
    "true",
    "False",
    "null",
    "None",
    ",",
    "1,1",
    "1,,2",
    "-1,2",
    "1,9999999999",
    "x",
    "X" * 300,
    "x" * 5000,
    "ChesseMaze",
    "Tiger",
    "VelocityOnlyCartPole",
    "asmpg/CheeseMaze-v0",
    "NoSuchThing-v0",
    "no_such_module:Thing-v0",
    ":",
    "::-v1",
    "CartPole-v1",
    "asm-ppo",
    "ais-kl",
    "gru-ppo",
    "tabular",
    "ünïcödé",
    "鼠",
    "\U0001f42d",
    "\u202e",
    "\udcff",
    "two\nlines",
    "tab\there",
    "%s%n{}",
    "$(id)",
    "[bold]",
    "--",
    "-",
    "---",
    "-h5",
    "=",
    "a=b=c",
    "[" * 3000,
    "[" * 100 + "]" * 100,
    '{"a":' * 3000,
    "new",
    "run",
    "bare",
    "foreign",
    "foreign",
    "damaged",
    "text.txt",
    "study.toml",
    "sweep.toml",
    "deep.toml",
    "wrong.toml",
    "foreign.toml",
    "/dev/null",
    "no/such/folder",
    "text.txt/below",
]
OPTION_NAMES = [
    "num_states",
    "hidden",
    "normalise",
    "observation_scale",
    "policy",
    "discount",
    "episodes_per_update",
    "critic_width",
    "batch_steps",
    "input_width",
    "max_steps",
    "goal_reward",
    "no_such_option",
    "",
    "__class__",
]


def random_command(chance):
    """A valid command line, spoiled in up to three places."""
    name = chance.choice([*VALID, "train", "train", "train"])
    positionals, options = VALID[name]
    chosen = chance.sample(sorted(options), chance.randint(0, min(4, len(options))))
    if "--resume" in chosen and chance.random() < 0.5:
        positionals = []
    words = [[word] for word in positionals]
    words += [[option, *filter(None, [options[option]])] for option in chosen]
    for _ in range(chance.randint(1, 3)):
        _spoil(words, sorted(options), chance)
    first = name if chance.random() < 0.97 else chance.choice(NASTY)
    return [first, *itertools.chain.from_iterable(words)]


def _spoil(words, options, chance):
    changes = ["value", "value", "value", "option", "drop", "repeat", "misspell", "more"]
    change = chance.choice(changes)
    words[:] = filter(None, words)
    place = chance.randrange(len(words)) if words else None
    nasty = chance.choice(NASTY)
    if change == "option" and options:
        option = chance.choice(options)
        if option.endswith("option"):
            nasty = f"{chance.choice(OPTION_NAMES)}={nasty}"
        words.append([f"{option}={nasty}"] if chance.random() < 0.5 else [option, nasty])
    elif place is None or change == "more":
        words.insert(chance.randint(0, len(words)), [nasty])
    elif change == "value":
        words[place] = [*words[place][:-1], nasty]
    elif change == "drop":
        words[place] = words[place][:-1]
    elif change == "repeat":
        words.append(list(words[place]))
    elif change == "misspell":
        letters = list(words[place][0]) or ["x"]
        letters[chance.randrange(len(letters))] = chance.choice("aZ-_9é=")
        words[place] = ["".join(letters), *words[place][1:]]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where commands run: runs and studies, whole and damaged, and a module to be let alone."""
    config = RunConfig("CheeseMaze", method="asmpg", seeds=(1952,))
    RunFolder.create(tmp_path / "run", config)
    RunFolder.create(tmp_path / "foreign", dataclasses.replace(config, environment=_FOREIGN))
    (tmp_path / "bare").mkdir()
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "config.json").write_text("{")
    (tmp_path / "text.txt").write_text("text")
    study = {"environment": "CheeseMaze", "num_states": 2}
    (tmp_path / "study.toml").write_text(_STUDY.format(**study))
    (tmp_path / "sweep.toml").write_text(_SWEEP)
    (tmp_path / "wrong.toml").write_text(_STUDY.format(**study | {"num_states": "9" * 30}))
    (tmp_path / "deep.toml").write_text(f"seeds = {'[' * 3000}")
    (tmp_path / "foreign.toml").write_text(_STUDY.format(**study | {"environment": _FOREIGN}))
    (tmp_path / "asmpg_foreign.py").write_text("open('imported', 'w').close()\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


@pytest.fixture
def _quick(monkeypatch):
    def build(config, *_, resume, trust, **__):
        build_program(config, config.resolve(trust=trust or not resume))
        config.to_dict()
        raise TrainingError("not trained here")

    def refuse(*_, **__):
        raise TrainingError("not done here")

    values = Yardsticks(*(Yardstick(0.5, 0.9, value) for value in (0.01, 0.1, 0.12, 0.23, 0.25)))
    monkeypatch.setattr("asmpg.commands.train.train", build)
    monkeypatch.setattr("asmpg.commands.study.study_lock", refuse)
    monkeypatch.setattr("asmpg.commands.sweep.study_lock", refuse)
    monkeypatch.setattr("asmpg.analysis.check._check.play_at_random", refuse)
    monkeypatch.setattr("asmpg.commands.verify.show", lambda **_: True)
    monkeypatch.setattr("asmpg.commands.solve.value_bounds", refuse)
    monkeypatch.setattr("asmpg.commands.envs.yardsticks", lambda *_, **__: values)
    monkeypatch.setattr("asmpg.commands.envs.draw_environments", lambda *_, **__: [])
    monkeypatch.setattr("asmpg.commands.envs.draw_yardstick_chart", lambda *given: given[-1])


class HangError(BaseException):
    """A command took too long. No `Exception`: nobody is to take it for one of theirs."""


def hang(*_):
    raise HangError


def outcome(command, capsys):
    """What is wrong with how `command` ends; nothing if it is as it should be."""
    signal.signal(signal.SIGALRM, hang)
    signal.alarm(_SECONDS)
    try:
        cli.main(command)
        code = 0
    except SystemExit as stop:
        code = stop.code or 0
    except BaseException:
        return traceback.format_exc(limit=-3)
    finally:
        signal.alarm(0)
        output = capsys.readouterr()
    told = output.err.splitlines()
    if code not in (0, 1, 2):
        return f"exit code {code}"
    if "Traceback" in output.err:
        return output.err
    if code and (len(told) != 1 or not told[0].startswith("asmpg: ") or len(told[0]) > 2000):
        return f"exit code {code}, said {output.err[:2000]!r}"
    return None


@pytest.mark.skipif(not hasattr(signal, "alarm"), reason="needs a timer to notice a hang")
@pytest.mark.usefixtures("folder", "as_user", "_quick")
def test_malformed_command_lines_end_in_one_line(capsys):
    chance = random.Random(SEED)
    before = {name.partition(".")[0] for name in sys.modules}
    faults = []
    foreign = (["evaluate", "foreign"], ["plot", "foreign"], ["train", "--resume", "foreign"])
    for command in (*foreign, *(random_command(chance) for _ in range(COUNT))):
        fault = outcome(command, capsys)
        if fault:
            faults.append(f"asmpg {' '.join(repr(word[:60]) for word in command)}\n{fault}")
    assert not faults, "\n\n".join([f"{len(faults)} of {COUNT}:", *faults])
    assert not os.path.exists("imported")
    assert "asmpg_foreign" not in {name.partition(".")[0] for name in sys.modules} - before
