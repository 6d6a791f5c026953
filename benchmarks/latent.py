"""A critic that is shown the latent state, beside the default one: the five tasks and the probes.

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
#: The name of the option's value, and what it is called in the table.
CRITICS = {"auto": "default", "latent": "latent"}
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
            for seed in arguments.seeds:
                file = file_of(arguments.out, task, seed)
                if not file.exists():
                    found = (
                        measure(task, critic, seed, arguments.out, quick=arguments.quick)
                        for critic in CRITICS
                    )
                    write_rows(file, list(found))
    print(tables.latent(arguments.out), end="")


def measure(task: str, critic: str, seed: int, out: Path, *, quick: bool) -> Row:
    """The value of the policy at the end."""
    probe = _PROBES.get(task)
    steps = STEPS if probe is None else probe.steps
    config = RunConfig(
        task if probe is None else probe.environment,
        environment_options={} if probe is None else probe.options,
        method_options={"critic": critic},
        seeds=(seed,),
        steps=1_000 if quick else steps,
        evaluation_episodes=4 if quick else 100,
    )
    folder = file_of(out / "runs", task, critic, seed).with_suffix("")
    train(config, folder, resume=(folder / "config.json").exists())
    # Those of the paper's tables; of probes, in which their optimum is known.
    score = "undiscounted"
    if probe is None:
        score = "reward_per_step" if make(task).score == "reward_per_step" else "discounted"
    sampled = score if score == "reward_per_step" else f"{score}_return"
    (entry,) = evaluate(folder, which="last", episodes=20 if quick else EPISODES)
    return {
        "task": task,
        "critic": CRITICS[critic],
        "seed": seed,
        "score": sampled,
        "value": entry.get(f"exact_{score}", entry[sampled]),
        "standard_error": entry[f"{sampled}_standard_error"],
    }


if __name__ == "__main__":
    main()
