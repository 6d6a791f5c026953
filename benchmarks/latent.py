"""A critic that is shown the latent state, beside one on the history: the five and the probes.

    python benchmarks/latent.py --tasks HealthcareTreatment [--seeds 90000,] [--out runs/latent]
    python benchmarks/latent.py --gather --out runs/latent

Ten seeds that nothing else used. Each task and seed becomes OUT/TASK-SEED.json; those that are
there are not done again. Scores are those of the last policies: exact on finite models, else of
1,000 episodes. `--quick` tries everything out with little training.
"""

import argparse
from pathlib import Path

import tables
from asmpg.environments import PAPER_ENVIRONMENTS, make
from asmpg.runs import RunConfig
from asmpg.studies.memory_probes import PROBES
from asmpg.training import evaluate, train
from json_results import Row, file_of, read_seeds, write_rows

SEEDS = tuple(range(90_000, 90_010))
STEPS, EPISODES = 150_000, 1_000
CRITICS = ("history", "latent")
_PROBES = {probe.label: probe for probe in PROBES}
TASKS = (*PAPER_ENVIRONMENTS, *_PROBES)


def main() -> None:
    parser = argparse.ArgumentParser(description="A critic that is shown the latent state.")
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=TASKS, metavar="TASK")
    parser.add_argument("--seeds", type=read_seeds, default=SEEDS, metavar="SEED,SEED,...")
    parser.add_argument("--out", type=Path, default=Path("runs/latent"))
    parser.add_argument("--gather", action="store_true", help="print the table of what is there")
    parser.add_argument("--quick", action="store_true", help="a little of everything")
    arguments = parser.parse_args()
    if not arguments.gather:
        for task in arguments.tasks:
            files = {seed: file_of(arguments.out, task, seed) for seed in arguments.seeds}
            missing = tuple(seed for seed, file in files.items() if not file.exists())
            rows = [
                row
                for critic in CRITICS
                for row in measure(task, critic, missing, arguments.out, quick=arguments.quick)
            ]
            for seed in missing:
                write_rows(files[seed], [row for row in rows if row["seed"] == seed])
    print(tables.latent(arguments.out), end="")


def measure(task: str, critic: str, seeds: tuple[int, ...], out: Path, *, quick: bool) -> list[Row]:
    """The values of the policies at the end, all seeds trained together."""
    if not seeds:
        return []
    probe = _PROBES.get(task)
    steps = STEPS if probe is None else probe.steps
    config = RunConfig(
        task if probe is None else probe.environment,
        environment_options={} if probe is None else probe.options,
        method_options={"critic": critic},
        seeds=seeds,
        steps=1_000 if quick else steps,
        # Only the end counts, and exact values of long mazes take many seconds.
        evaluate_every=steps,
        evaluation_episodes=4 if quick else 100,
    )
    folder = file_of(out / "runs", task, critic, *seeds).with_suffix("")
    train(config, folder, resume=(folder / "config.json").exists())
    # Those of the paper's tables; of probes, in which their optimum is known.
    score = "undiscounted"
    if probe is None:
        score = "reward_per_step" if make(task).score == "reward_per_step" else "discounted"
    sampled = score if score == "reward_per_step" else f"{score}_return"
    return [
        {
            "task": task,
            "critic": critic,
            "seed": entry["seed"],
            "score": sampled,
            "value": entry.get(f"exact_{score}", entry[sampled]),
            "standard_error": entry[f"{sampled}_standard_error"],
        }
        for entry in evaluate(folder, which="last", episodes=20 if quick else EPISODES)
    ]


if __name__ == "__main__":
    main()
