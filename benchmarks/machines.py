"""What hardening and minimising cost, seed by seed: the tables of docs/machines.md.

    python benchmarks/machines.py --tasks CheeseMaze --seeds 1952, [--out runs/machines]
    python benchmarks/machines.py --gather --out runs/machines

Each task and seed becomes OUT/TASK-SEED-OPTIONS.json; those that are there are not done again.
`--options small` are eight agent states in one group and no window, `--options default` what
ASM-PPO does by itself. `--quick` tries everything out with little training.
"""

import argparse
from pathlib import Path

import numpy as np

from asmpg.environments import make
from asmpg.runs import RunConfig
from asmpg.training import train
from json_results import Row, file_of, grouped, markdown, read_rows, read_seeds, write_rows

#: Environment steps of each seed.
STEPS = {
    "CheeseMaze": 100_000,
    "HallwayNavigation": 100_000,
    "MachineRepair": 150_000,
    "HealthcareTreatment": 150_000,
    "VelocityOnlyCartPole": 150_000,
}
OPTIONS = {"small": {"num_states": 8, "groups": 1, "window": 0}, "default": {}}
#: What is not exact is measured with so many episodes.
EPISODES = 2000


def main() -> None:
    parser = argparse.ArgumentParser(description="What hardening and minimising cost.")
    parser.add_argument("--tasks", nargs="+", default=list(STEPS), choices=STEPS, metavar="TASK")
    parser.add_argument("--seeds", type=read_seeds, default="10", metavar="N|SEED,SEED,...")
    parser.add_argument("--options", default="small", choices=OPTIONS)
    parser.add_argument("--out", type=Path, default=Path("runs/machines"))
    parser.add_argument("--gather", action="store_true", help="print the tables of what is there")
    parser.add_argument("--quick", action="store_true", help="a little of everything")
    arguments = parser.parse_args()
    if not arguments.gather:
        for task in arguments.tasks:
            for seed in arguments.seeds:
                file = file_of(arguments.out, task, seed, arguments.options)
                if not file.exists():
                    write_rows(file, [measure(task, seed, arguments)])
    gather(arguments.out)


def measure(task: str, seed: int, arguments: argparse.Namespace) -> Row:
    """Train one seed; what its agent and its machines are worth."""
    score = "reward_per_step" if make(task).score == "reward_per_step" else "discounted"
    folder = arguments.out / "runs" / f"{task}-{seed}-{arguments.options}"
    config = RunConfig(
        task,
        method_options=OPTIONS[arguments.options],
        seeds=(seed,),
        steps=1_000 if arguments.quick else STEPS[task],
        evaluation_episodes=4 if arguments.quick else 100,
    )
    result = train(config, folder, resume=(folder / "config.json").exists())
    episodes = 20 if arguments.quick else EPISODES
    learned = result.agent(seed).machine(episodes=episodes)
    small = learned.harden().minimise()
    # Where the machine is exactly the agent there is no step before it.
    steps = small.steps if small.steps[0].done == "agent" else (small.steps[0], *small.steps)
    names = ("agent", "machine", "hardened", "minimised")
    values = {name: getattr(step.value, score) for name, step in zip(names, steps, strict=True)}
    return {
        "task": task,
        "seed": seed,
        "options": arguments.options,
        "score": score,
        "states": [learned.num_states, small.num_states],
        **values,
    }


def gather(folder: Path) -> None:
    """A table for each task and choice of options, with means over seeds."""
    names = ("agent", "machine", "hardened", "minimised")
    for (task, options, score), rows in grouped(
        read_rows(folder), "task", "options", "score"
    ).items():
        print(f"\n{task}, {options} options, {score.replace('_', ' ')}\n")
        cells = [
            [
                str(row["seed"]),
                *(f"{row[name]:.4f}" for name in names),
                " → ".join(map(str, row["states"])),
            ]
            for row in rows
        ]
        means = [f"{np.mean([row[name] for row in rows]):.4f}" for name in names]
        print(markdown(("seed", *names, "states"), [*cells, ["mean", *means, ""]]), end="")


if __name__ == "__main__":
    main()
