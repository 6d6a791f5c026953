"""Real actions with hidden velocities: a finite memory beside a GRU and beside none.

    pip install popgym 'gymnasium[mujoco]'
    python benchmarks/real_actions.py --out results/real-actions

POPGym's PositionOnlyPendulumEasy and MuJoCo's inverted double pendulum without its velocities, for
`asm-ppo`, `gru-ppo` and `memoryless-ppo` with default options. Each run is a folder under `--out`,
and one that is finished is not run again; the last line is a table of final and best returns.
"""

import argparse
import importlib
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.wrappers import TransformObservation

import asmpg
from asmpg.methods import ASMPPO, GRUPPO, MemorylessPPO

METHODS = {"asm-ppo": ASMPPO, "gru-ppo": GRUPPO, "memoryless-ppo": MemorylessPPO}


def pendulum() -> Any:
    """Swing up and balance; the angular velocity is hidden. Returns are scaled to at most 1."""
    return importlib.import_module("popgym.envs.position_only_pendulum").PositionOnlyPendulumEasy()


def inverted_double_pendulum() -> Any:
    """Balance two poles on a cart: its place, and sines and cosines of the angles."""
    env = gymnasium.make("InvertedDoublePendulum-v5")
    seen = gymnasium.spaces.Box(-np.inf, np.inf, (5,), np.float64)
    return TransformObservation(env, lambda observation: observation[:5], seen)


TASKS: dict[str, Callable[[], Any]] = {
    "PositionOnlyPendulumEasy": pendulum,
    "InvertedDoublePendulum": inverted_double_pendulum,
}


def main() -> None:
    """Train what is not there yet, then print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--tasks", nargs="*", default=list(TASKS))
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    given = parser.parse_args()
    print("| task | method | last: median, worst | best: median, worst |")
    print("| --- | --- | --- | --- |")
    for task in given.tasks:
        for name in given.methods:
            folder = given.out / task / name
            agent = asmpg.learn(
                METHODS[name](),
                TASKS[task],
                steps=given.steps,
                seeds=given.seeds,
                out=folder,
                resume=(folder / "config.json").exists(),
                evaluate_every=given.steps // 50,
                verbose=0,
            )
            assert agent.result is not None
            curves: dict[int, list[float]] = {}
            for row in agent.result.rows:
                curves.setdefault(int(row["seed"]), []).append(float(row["undiscounted_return"]))
            cells = [
                f"{statistics.median(values):.3f}, {min(values):.3f}"
                for values in (
                    [curve[-1] for curve in curves.values()],
                    [max(curve) for curve in curves.values()],
                )
            ]
            print(f"| {task} | {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
