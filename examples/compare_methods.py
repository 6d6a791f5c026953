"""Compare methods in one environment, a few seeds each, and draw their learning curves.

    python examples/compare_methods.py

For a comparison that you would publish, with more seeds and proper statistics, see `asmpg study`.
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import asmpg
from asmpg.training import score_of


def main(arguments: list[str] | None = None) -> None:
    """Train each method and draw a curve for each seed."""
    parser = argparse.ArgumentParser(description="Compare methods and draw their curves.")
    parser.add_argument("--environment", default="CheeseMaze")
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("pictures/compare_methods.png"))
    given = parser.parse_args(arguments)

    methods = {
        "ASM-PPO, 8 agent states": asmpg.ASMPPO(num_states=8, critic="history"),
        "PPO without memory": asmpg.MemorylessPPO(),
        "ASMPG, 8 agent states": asmpg.ASMPG(num_states=8, policy="tabular"),
    }
    score = score_of(asmpg.make(given.environment))
    figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
    for colour, (label, method) in zip(("C0", "C1", "C2"), methods.items(), strict=True):
        agent = method.learn(
            given.environment,
            steps=given.steps,
            seeds=given.seeds,
            evaluate_every=max(1, given.steps // 20),
        )
        assert agent.result is not None
        ends = []
        for number, seed in enumerate(agent.result.config.seeds):
            rows = [row for row in agent.result.rows if row["seed"] == seed]
            steps, scores = zip(*((row["steps"], row[score.name]) for row in rows), strict=True)
            axes.plot(steps, scores, color=colour, label=None if number else label)
            ends.append(scores[-1])
        print(f"{label}: {score.label} {np.mean(ends):.3g} at the end, worst {min(ends):.3g}")
    axes.set_title(f"{given.environment}: a line for each seed", loc="left")
    axes.set_xlabel("environment steps")
    axes.set_ylabel(score.label)
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(given.out, dpi=150)
    print(f"Drew {given.out}")


if __name__ == "__main__":
    main()
