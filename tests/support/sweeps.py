"""A small sweep, and an executor that makes up what its trials score."""

from asmpg.runs import RunFolder
from asmpg.studies.executors import Executor, Handle
from asmpg.sweeps import SweepFolder

SWEEP = """
environments = ["CheeseMaze"]
method = "asmpg"
seeds = 2
steps = 1_000
evaluate_every = 250
evaluation_episodes = 10
trials = 8
rungs = [250, 500]
abreast = 3

[environment_options.CheeseMaze]
max_steps = 20

[options]
policy = "tabular"

[options.learning_rate]
low = 1e-3
high = 1e-1
scale = "log"

[options.num_states]
values = [2, 3]
"""


class Ended(Handle):
    def poll(self):
        return 0

    def interrupt(self):
        pass

    def kill(self):
        pass


class MakingUp(Executor):
    """Writes runs in which a trial scores `score(options, share of the way)`, seeds 0.01 apart.

    Where that is `None`, the trial fails. `submitted` has the trials of each job, and its steps.
    """

    slots = 1
    poll_seconds = 0.0

    def __init__(self, score):
        self.score, self.submitted = score, []

    def submit(self, folder, job, log):
        sweep = SweepFolder(folder)
        [own] = [each for each in sweep.jobs() if each.name == job]
        self.submitted.append(([trial.number for trial in own.trials], own.until))
        for trial, config in zip(own.trials, own.configs, strict=True):
            if self.score(trial.options, 1.0) is None:
                sweep.fail(own.environment, trial, ValueError("it diverged"))
                continue
            path = sweep.run_path(own.environment, trial)
            known = (path / "config.json").exists()
            run = RunFolder(path) if known else RunFolder.create(path, config)
            run.write_rows(
                dict.fromkeys(
                    run.columns, self.score(trial.options, at / config.steps) + place / 100
                )
                | {"seed": seed, "steps": at, "episodes": 0, "updates": 0}
                for place, seed in enumerate(config.seeds)
                for at in config.evaluation_steps
                if at <= own.until
            )
        return Ended()


def made_up(monkeypatch):
    """Take the rows of made-up runs for checkpoints, which they have none of."""

    def reached(folder, environment, trial, until):
        path = folder.run_path(environment, trial)
        rows = RunFolder(path).rows() if (path / "config.json").exists() else []
        return max((row["steps"] for row in rows), default=-1) >= until

    monkeypatch.setattr(SweepFolder, "reached", reached)
