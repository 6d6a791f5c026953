"""What hardening and minimising cost, seed by seed: the tables of docs/machines.md.

python benchmarks/machines.py [--seeds 10] [--environments CheeseMaze,MachineRepair]
"""

import argparse
from pathlib import Path

import numpy as np

from asmpg.environments import make
from asmpg.runs import RunConfig, RunFolder, default_seeds
from asmpg.training import evaluate, train

#: Environment steps of each seed.
STEPS = {
    "CheeseMaze": 100_000,
    "HallwayNavigation": 100_000,
    "MachineRepair": 150_000,
    "HealthcareTreatment": 150_000,
}
#: Few agent states and the paper's policy: a machine for real observations has no window.
OPTIONS = {"num_states": 8, "groups": 1, "window": 0}
#: What is not exact is measured with so many episodes.
EPISODES = 2000


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--environments", default=",".join(STEPS))
    parser.add_argument("--out", type=Path, default=Path("runs/machines"))
    options = parser.parse_args()
    for name in options.environments.split(","):
        score = "reward_per_step" if make(name).score == "reward_per_step" else "discounted"
        config = RunConfig(
            name,
            method_options=OPTIONS,
            seeds=default_seeds(options.seeds),
            steps=STEPS[name],
        )
        folder = options.out / name
        result = train(config, folder, resume=(folder / "config.json").exists())
        print(f"\n{name}, {score}\n\n| seed | agent | machine | hardened | minimised | states |")
        print("| --- | --- | --- | --- | --- | --- |")
        rows = []
        for seed in RunFolder(folder).config.seeds:
            machine = result.agent(seed).machine(episodes=EPISODES).harden().minimise()
            values = [_agent(folder, seed, score)]
            values += [getattr(step.value, score) for step in machine.steps]
            rows.append(values)
            cells = " | ".join(f"{value:.4f}" for value in values)
            states = f"{machine.steps[0].num_states} → {machine.num_states}"
            print(f"| {seed} | {cells} | {states} |", flush=True)
        means = np.mean(rows, axis=0)
        print("| mean | " + " | ".join(f"{mean:.4f}" for mean in means) + " | |", flush=True)


def _agent(folder: Path, seed: int, score: str) -> float:
    """What the agent itself is worth: exactly, or by playing."""
    (entry,) = evaluate(folder, seed=seed, episodes=EPISODES)
    sampled = "discounted_return" if score == "discounted" else score
    return float(entry.get(f"exact_{score}", entry[sampled]))


if __name__ == "__main__":
    main()
