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
    """Train each method and draw the means over seeds."""
    parser = argparse.ArgumentParser(description="Compare methods and draw their curves.")
    parser.add_argument("--environment", default="CheeseMaze")
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("pictures/compare_methods.png"))
    given = parser.parse_args(arguments)

    methods = {
        "ASM-PPO, 8 agent states": asmpg.ASMPPO(num_states=8),
        "PPO without memory": asmpg.MemorylessPPO(),
        "ASMPG, 8 agent states": asmpg.ASMPG(num_states=8, policy="tabular"),
    }
    score = score_of(asmpg.make(given.environment))
    figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
    for label, method in methods.items():
        agent = method.learn(
            given.environment,
            steps=given.steps,
            seeds=given.seeds,
            evaluate_every=max(1, given.steps // 20),
        )
        assert agent.result is not None
        rows = agent.result.rows
        # Updates are whole: a seed is evaluated at the first one past the step it is due.
        targets = agent.result.config.evaluation_steps
        seeds = agent.result.config.seeds
        scores = np.asarray(
            [[row[score.name] for row in rows if row["seed"] == seed] for seed in seeds]
        )
        (line,) = axes.plot(targets, scores.mean(axis=0), label=label)
        axes.fill_between(
            targets, scores.min(axis=0), scores.max(axis=0), color=line.get_color(), alpha=0.2
        )
        print(f"{label}: {score.label} {scores[:, -1].mean():.3g} at the end")
    axes.set_title(f"{given.environment}: mean and range of {given.seeds} seeds", loc="left")
    axes.set_xlabel("environment steps")
    axes.set_ylabel(score.label)
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(given.out, dpi=150)
    print(f"Drew {given.out}")


if __name__ == "__main__":
    main()
