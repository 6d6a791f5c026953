"""Parts of studies, steps by environment, published values, environments stepped on the host."""

import re

import pytest

from asmpg import cli
from asmpg.analysis import collect
from asmpg.environments.popgym import POPGYM_TASKS
from asmpg.studies import (
    JobState,
    load_study,
    longest_first,
    parse_study,
    read_study,
    write_best_scores,
)
from asmpg.studies._study_file import check_study
from asmpg.training import train
from studies import prepare, study

ENTRIES = {"asm-ppo": {}, "gru-ppo": {}, "memoryless-ppo": {"steps": 50}}
ON_HOST = """
environments = ["CartPole-v1", "popgym-RepeatFirstEasy"]
seeds = 1
steps = 40
evaluate_every = 40
evaluation_episodes = 1

[entries.memoryless-ppo]
options = { rollout_steps = 8, num_environments = 4, minibatches = 1, epochs = 1 }
"""


def test_a_part_of_a_study_keeps_its_order_and_all_that_belongs_to_it():
    whole = study(
        entries=ENTRIES,
        environment_options={"CheeseMaze": {"max_steps": 9}},
        environment_steps={"CheeseMaze": 30, "HealthcareTreatment": 70},
        published={"a": {"values": {"CheeseMaze": 1}}, "b": {"values": {"HealthcareTreatment": 2}}},
    )
    part = whole.restricted(
        environments=["VelocityOnlyCartPole", "Cheese*"], entries=["*ppo", "asm-ppo"]
    )
    assert part.environments == ("CheeseMaze", "VelocityOnlyCartPole")
    assert [entry.name for entry in part.entries] == list(ENTRIES)
    assert part.environment_steps == {"CheeseMaze": 30}
    assert [(each.name, each.values) for each in part.published] == [("a", {"CheeseMaze": 1.0})]
    assert {job.name for job in part.jobs()} < {job.name for job in whole.jobs()}
    assert read_study(part.to_dict(), name="other") == part
    assert whole.restricted() == whole
    one = whole.restricted(entries=["gru-ppo"])
    assert [job.entry for job in one.jobs()] == ["gru-ppo"] * 3


def test_a_job_has_the_fewest_steps_that_are_said_of_it():
    some = study(entries=ENTRIES, environment_steps={"CheeseMaze": 70, "HealthcareTreatment": 20})
    steps = {job.name: job.config.steps for job in some.jobs()}
    assert steps["CheeseMaze/asm-ppo"] == 70
    assert steps["CheeseMaze/memoryless-ppo"] == 50
    assert steps["HealthcareTreatment/memoryless-ppo"] == 20
    assert steps["VelocityOnlyCartPole/asm-ppo"] == 1000
    changed = some.changed(seeds=None, steps=40)
    assert [job.config.steps for job in changed.jobs()][:4] == [40, 40, 40, 20]


def test_a_part_can_be_run_from_the_command_line(tmp_path, monkeypatch):
    """The folder of a part can take the whole study later, and the report says how to run it."""
    asked = []

    class Recorder:
        def __init__(self, folder, *_, **__):
            asked.append((folder.study, folder.changes))

        def run(self):
            return []

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("asmpg.commands._jobs.Runner", Recorder)
    monkeypatch.setattr("asmpg.commands.study.write_report", lambda *_, **__: None)
    monkeypatch.setattr("asmpg.commands.study.show_report", lambda *_: None)
    cli.main(["study", "methods", "--environments", "Cheese*,MachineRepair", "--entries", "a*-ppo"])
    cli.main(["study", "methods"])
    (part, changes), (whole, unchanged) = asked
    assert [job.name for job in part.jobs()] == ["CheeseMaze/asm-ppo", "MachineRepair/asm-ppo"]
    assert changes == {"environments": "Cheese*,MachineRepair", "entries": "a*-ppo"}
    assert len(whole.jobs()) == 30
    assert unchanged == {}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--environments", "Tigre"], "environments must be among CheeseMaze, .* got 'Tigre'"),
        (["--environments", "Cheese*,X*"], r"environments must be among .* got 'X\*'"),
        (["--entries", "ppo"], "entries must be among asm-ppo, gru-ppo, .* got 'ppo'"),
        (["--entries", ","], "entries must be names separated by commas, got ','"),
    ],
)
def test_a_part_that_is_not_there_is_told(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stopped:
        cli.main(["study", "methods", *arguments])
    error = capsys.readouterr().err
    assert stopped.value.code == 2
    assert error.count("\n") == 1
    assert re.search(message, error)
    assert not list(tmp_path.iterdir())


RIGHT = 'environments = ["CheeseMaze"]\n\n[entries.asmpg]\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            RIGHT + "[environment_steps]\nTiger = 3",
            "line 5: environment_steps.Tiger is not known; accepted: CheeseMaze",
        ),
        (
            RIGHT + "[environment_steps]\nCheeseMaze = 0",
            "line 5: environment_steps.CheeseMaze must be an integer of at least 1, got 0",
        ),
        (RIGHT + "[published]\ngru = 1", "line 5: published.gru must be a table, got 1"),
        (
            RIGHT + "[published.gru]\nvalue = 1",
            "line 5: published.gru.value is not known; accepted: label, source, values",
        ),
        (
            RIGHT + "[published.gru.values]\nTiger = 1",
            "line 5: published.gru.values.Tiger is not known; accepted: CheeseMaze",
        ),
        (
            RIGHT + "[published.gru.values]\nCheeseMaze = 'high'",
            "line 5: published.gru.values.CheeseMaze must be a finite number, got 'high'",
        ),
        (RIGHT + "[published.gru]\nlabel = 1", "line 5: published.gru.label must be text, got 1"),
        (
            RIGHT.replace("CheeseMaze", "NoSuchThing-v7"),
            "line 1: environments has NoSuchThing-v7: ",
        ),
        (RIGHT.replace("CheeseMaze", "../../CartPole-v1"), "line 1: environments must be one of"),
        (RIGHT.replace("CheeseMaze", "os:CartPole-v1"), "line 1: environments must be one of"),
    ],
)
def test_wrong_tables_are_told_with_their_line(text, message):
    with pytest.raises(ValueError, match=message):
        parse_study(text, name="my.toml", check=check_study)


def test_an_environment_on_the_host_is_run_and_collected(tmp_path):
    """As a worker does it; its score is the return, and it has no yardsticks."""
    found = parse_study(ON_HOST, name="mine.toml", check=check_study)
    order = longest_first([JobState(job) for job in found.jobs()])
    names = [state.job.config.environment for state in order]
    assert names == ["CartPole-v1", "popgym-RepeatFirstEasy"]
    folder = prepare(tmp_path / "study", found)
    job = next(job for job in found.jobs() if job.name == order[0].job.name)
    train(job.config, folder.run_path(job))
    write_best_scores(folder, job)
    assert folder.finished(job)
    results = collect(folder)
    assert results.missing == ("popgym-RepeatFirstEasy/memoryless-ppo",)
    assert results.yardsticks["CartPole-v1"] == {}
    assert results.scores["CartPole-v1"].name == "undiscounted_return"
    assert results.curves["CartPole-v1", "memoryless-ppo"].final.min() >= 1


def test_the_popgym_study_has_what_is_published():
    """All its tasks are compiled; published values are of some of them, none above 1."""
    found = load_study("popgym")
    gru, best = found.published
    assert found.environments == tuple(POPGYM_TASKS)
    assert {*gru.values} <= {*found.environments}
    assert all(value > gru.values[name] for name, value in best.values.items())
    assert max(*gru.values.values(), *best.values.values()) <= 1
    for job in found.jobs():
        assert job.config.steps == (400_000 if "Easy" in job.environment else 1_000_000)
