"""Small studies, and the runs of larger ones made up without training."""

import json

import numpy as np

from asmpg.runs import MEMORY_MEASURES, RunFolder
from asmpg.studies import StudyFolder, best_episodes, read_study

TINY = """
environments = ["CheeseMaze"]
seeds = 2
steps = 100_000
evaluate_every = 500
evaluation_episodes = 10

[environment_options.CheeseMaze]
max_steps = 20

[entries.two]
label = "two states"
method = "asmpg"
options = { policy = "tabular", num_states = 2 }

[entries.three]
label = "<three> & 'more'"
method = "asmpg"
options = { policy = "tabular", num_states = 3 }
"""
ENVIRONMENTS = ("CheeseMaze", "HealthcareTreatment", "VelocityOnlyCartPole")


def study(**changes):
    """Three methods in three environments."""
    tables = {
        "environments": list(ENVIRONMENTS),
        "entries": {"asmpg": {"label": "ASMPG"}, "ais-kl": {}, "mine": {"method": "asmpg"}},
        "seeds": 4,
        "steps": 1000,
        "evaluate_every": 100,
    }
    return read_study(tables | changes, name="made-up")


def prepare(path, study, text="# made up\n", **options):
    return StudyFolder.prepare(path, study, source="study.toml", text=text, changes={}, **options)


def make_up(folder, score, *, overshoot=0):
    """Write runs whose seed number `n` scores `score(environment, entry, n, share of the way)`.

    Evaluations come `overshoot` steps after they are due. The best checkpoint scores what the last
    evaluation did. AIS has no agent states.
    """
    for job in folder.study.jobs():
        run = RunFolder.create(folder.run_path(job), job.config)
        rows, best = [], []
        for place, seed in enumerate(folder.study.seeds):
            if seed in job.config.seeds:
                for steps in job.config.evaluation_steps:
                    value = score(job.environment, job.entry, place, steps / job.config.steps)
                    taken = steps + overshoot if steps else 0
                    row = dict.fromkeys(run.columns, value) | {"seed": seed, "steps": taken}
                    if job.entry.startswith("ais"):
                        row |= dict.fromkeys(MEMORY_MEASURES, np.nan)
                    rows.append(row | {"episodes": 0, "updates": 0})
                best.append(rows[-1] | {"episodes": best_episodes(folder.study)})
        run.write_rows(rows)
        folder.best_path(job).write_text(json.dumps(best))
    return folder


def spread_out(environment, entry, place, share):
    """Every entry gets somewhere, the first farthest; the seeds lie apart by hundredths."""
    far = {"asmpg": 0.9, "ais-kl": 0.5, "mine": 0.2}[entry]
    return float(np.round(far * share + 0.01 * place, 6))
