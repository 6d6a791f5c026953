"""`asmpg distil` and `asmpg compress` leave runs that the other commands take."""

import json

import pytest

import asmpg
from asmpg import cli
from asmpg.runs import RunFolder

OPTIONS = {
    "num_environments": 2,
    "rollout_steps": 8,
    "epochs": 1,
    "minibatches": 1,
    "critic_width": 4,
    "critic": "memory",
}
QUICK = [
    *("--sequences", "4", "--rounds", "2", "--epochs", "1", "--episodes", "4", "--window", "0"),
    "--quiet",
    *(word for name, value in OPTIONS.items() for word in ("--option", f"{name}={value}")),
]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A recurrent teacher in a maze of 20 steps."""
    path = tmp_path_factory.mktemp("teachers") / "gru"
    config = asmpg.RunConfig(
        "CheeseMaze",
        environment_options={"max_steps": 20},
        method="gru-ppo",
        method_options=OPTIONS | {"width": 4, "discount": 0.9},
        seeds=(5, 6),
        steps=32,
        evaluation_episodes=2,
    )
    asmpg.train(config, path, verbose=0)
    return path


@pytest.mark.long
def test_a_run_is_distilled_and_taken_by_the_other_commands(run, capsys):
    cli.main(["distil", str(run), "--num-states", "2", "--finetune", "16", "--seed", "6", *QUICK])
    shown = capsys.readouterr().out
    student = run.with_name("gru-2-states")
    assert "CheeseMaze: reward per step" in shown
    assert "fine-tuned" in shown
    assert str(student) in shown
    config = RunFolder(student).config
    # Twice four sequences of 128 steps, and those of ASM-PPO.
    assert (config.method, config.steps) == ("asm-ppo", 2 * 4 * 128 + 16)
    assert (config.method_options["num_states"], config.method_options["discount"]) == (2, 0.9)
    assert config.environment_options == {"max_steps": 20}
    cli.main(["evaluate", str(student), "--episodes", "5"])
    assert asmpg.show(student).machine.num_states == 2


@pytest.mark.long
def test_a_belief_policy_is_distilled_from_a_file(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    cli.main(["distil", "Tiger", "--teacher", "qmdp", "--num-states", "2", *QUICK])
    assert "Tiger" in capsys.readouterr().out
    assert RunFolder(tmp_path / "runs" / "Tiger-qmdp-2-states").config.environment == "Tiger"
    with pytest.raises(SystemExit, match="2"):
        cli.main(["distil", "Tiger", "--teacher", "belief", "--seed", "3"])
    assert "seed goes with the agent of a run" in capsys.readouterr().err


def test_a_run_is_compressed_to_several_sizes(run, capsys):
    cli.main(["compress", str(run), "--num-states", "2,1", "--json", *QUICK])
    folder = run.with_name("gru-compressed")
    report = json.loads(capsys.readouterr().out)
    assert report == json.loads((folder / "compress.json").read_text())
    assert report["teacher"]["num_states"] is None
    assert [entry["num_states"] for entry in report["students"]] == [1, 2]
    assert asmpg.load(folder / "2").num_states == 2
    for suffix in ("png", "svg"):
        assert (folder / f"scores.{suffix}").stat().st_size > 1000


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["distil", "nowhere"], "nowhere is not the folder of a run"),
        (["distil", "RUN", "--num-states", "0"], "num_states must be an integer of at least 1"),
        (["distil", "RUN", "--window", "99"], "window must be at most 20, the steps of an episode"),
        (["distil", "RUN", "--seed", "9"], "seed must be one of 5, 6, got 9"),
        (["distil", "RUN", "--out", "RUN"], "out must be a new or empty folder"),
        (["compress", "RUN", "--num-states", "2,x"], "num-states must be integers in"),
    ],
)
@pytest.mark.usefixtures("as_user")
def test_wrong_usage_is_named(words, message, run, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main([str(run) if word == "RUN" else word for word in words])
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err
