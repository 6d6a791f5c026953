"""Steps per second of training in a plain Python environment, stepped on the host.

    python benchmarks/host.py

16 copies of a cheese maze in Python; the numbers include acting and learning, and one episode of
evaluation, but not compilation. Steps per second of processor time, all threads together, say what
a busy machine would do were it idle.
"""

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import gymnasium
import jax
import numpy as np
from gymnasium import spaces

import asmpg
from asmpg.environments.cheese_maze import CELLS, GOAL, MOVES, OBSERVATION
from asmpg.runs import RunConfig
from asmpg.training import HostSeed, Seat, build_program

_COPIES = 16


class PythonCheeseMaze(gymnasium.Env[Any, Any]):
    """The cheese maze as users would write it."""

    observation_space = spaces.Discrete(7)
    action_space = spaces.Discrete(4)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Start anywhere but at the cheese."""
        super().reset(seed=seed)
        self.cell, self.time = int(self.np_random.integers(10)), 0
        return OBSERVATION[self.cell], {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Move if there is an edge."""
        (x, y), (dx, dy) = CELLS[self.cell], MOVES[action]
        if (x + dx, y + dy) in CELLS:
            self.cell = CELLS.index((x + dx, y + dy))
        self.time += 1
        found = self.cell == GOAL
        return OBSERVATION[self.cell], float(found), found, self.time >= 200 and not found, {}


def _environment_alone(steps: int) -> float:
    vector = gymnasium.vector.SyncVectorEnv([PythonCheeseMaze] * _COPIES)
    vector.reset(seed=0)
    actions = np.random.default_rng(0).integers(4, size=(steps // _COPIES, _COPIES))
    began = time.perf_counter()
    for row in actions:
        vector.step(row)
    return actions.size / (time.perf_counter() - began)


def _training(method: str, options: dict[str, Any], steps: int) -> dict[str, float]:
    config = RunConfig(
        PythonCheeseMaze,
        method=method,
        method_options=options,
        seeds=(1,),
        steps=steps,
        evaluation_episodes=1,
    )
    resolved = config.resolve()
    seed = HostSeed(build_program(config, resolved), resolved.source, Seat(0, 1), None)
    began = time.perf_counter()
    seed.warm_up()
    seed.state = seed.advance(seed.state, [1]).state
    compiled = time.perf_counter() - began
    before = int(seed.state.steps)
    began, worked = time.perf_counter(), time.process_time()
    chunk = seed.advance(seed.state, [before + steps])
    took, worked = time.perf_counter() - began, time.process_time() - worked
    seed.close()
    played = int(chunk.counts["steps"][0]) - before
    return {
        "compile_seconds": round(compiled, 1),
        "steps_per_second": round(played / took),
        "steps_per_cpu_second": round(played / worked),
    }


def main() -> None:
    """Print a JSON object, and write it to `--json`."""
    parser = argparse.ArgumentParser(description="Training steps per second on the host.")
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--method", help="this one only")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    ppo = {"num_states": 8, "num_environments": _COPIES}
    cases = {
        "asm-ppo": ("asm-ppo", ppo),
        "asm-ppo, critic on the memory": ("asm-ppo", {**ppo, "critic": "memory"}),
        "memoryless-ppo": ("memoryless-ppo", {"num_environments": _COPIES}),
        "asmpg": (
            "asmpg",
            {"num_states": 8, "policy": "tabular", "episodes_per_update": _COPIES},
        ),
    }
    found = {
        "asmpg": asmpg.__version__,
        "jax": jax.__version__,
        "cores": len(os.sched_getaffinity(0)),
        "load": os.getloadavg()[0],
        "environment_alone_steps_per_second": round(_environment_alone(given.steps)),
        "training": {
            label: _training(method, options, given.steps)
            for label, (method, options) in cases.items()
            if given.method in (None, label)
        },
    }
    print(json.dumps(found, indent=2))
    if given.json:
        given.json.write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
