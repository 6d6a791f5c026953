"""What action masks are worth: rooms with many doors, learned with and without them.

    python benchmarks/masks.py

The task is that of docs/your-environment.md: twelve doors in each of seven rooms, ten of them walls
that end the episode. Then a million steps of the trained policy, sampled, in which every action
is compared with its mask. Prints a JSON object.
"""

import argparse
import json
import os
from typing import Any

import gymnasium
import jax
import numpy as np
from gymnasium import spaces

import asmpg


class Doors(gymnasium.Env[Any, Any]):
    """The first room shows which of the two doors of the last one pays."""

    observation_space = spaces.MultiDiscrete([7, 3])
    action_space = spaces.Discrete(12)

    def allowed(self) -> np.ndarray:
        """One door leads on from each room, or, in the last, one to each side."""
        mask = np.zeros(12, bool)
        mask[[self.room, self.room + 5]] = True
        return mask

    def _seen(self) -> np.ndarray:
        return np.asarray([self.room, self.cue + 1 if self.room == 0 else 0])

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start in the first room."""
        super().reset(seed=seed)
        self.room, self.cue = 0, int(self.np_random.integers(2))
        return self._seen(), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Go through a door, or into a wall."""
        wall, last = not self.allowed()[action], self.room == 6
        reward = float((action == self.room) == bool(self.cue)) if last and not wall else 0.0
        self.room += 0 if last or wall else 1
        return self._seen(), reward, bool(wall or last), False, {}


class MaskedDoors(Doors):
    """The same, saying which doors are no walls."""

    def action_masks(self) -> np.ndarray:
        """As sb3-contrib spells it."""
        return self.allowed()


def _forbidden(agent: asmpg.Agent, steps: int, copies: int = 500) -> tuple[int, float]:
    """How many of so many actions were forbidden, and the mean return of the episodes."""
    envs = [MaskedDoors() for _ in range(copies)]
    observations = np.stack([env.reset(seed=i)[0] for i, env in enumerate(envs)])
    state, start, wrong, total, episodes = None, np.ones(copies, bool), 0, 0.0, 0
    for _ in range(steps // copies):
        masks = np.stack([env.allowed() for env in envs])
        actions, state = agent.predict(observations, state, start, action_masks=masks)
        wrong += int((~masks[np.arange(copies), actions]).sum())
        for i, env in enumerate(envs):
            observations[i], reward, start[i], _, _ = env.step(int(actions[i]))
            total, episodes = total + reward, episodes + bool(start[i])
            if start[i]:
                observations[i], _ = env.reset()
    return wrong, total / episodes


def main() -> None:
    """Train and count."""
    parser = argparse.ArgumentParser(description="What action masks are worth.")
    parser.add_argument("--steps", type=int, default=50_000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--played", type=int, default=1_000_000)
    given = parser.parse_args()
    returns, agents = {}, {}
    for name, kind in (("with masks", MaskedDoors), ("without", Doors)):
        agent = asmpg.ASMPPO().learn(kind, steps=given.steps, seeds=given.seeds, verbose=0)
        agents[name] = agent
        assert agent.result is not None
        last = {row["seed"]: row["undiscounted_return"] for row in agent.result.rows}
        returns[name] = sorted(round(float(value), 3) for value in last.values())
    wrong, mean = _forbidden(agents["with masks"], given.played)
    found = {
        "asmpg": asmpg.__version__,
        "jax": jax.__version__,
        "cores": len(os.sched_getaffinity(0)),
        "steps": given.steps,
        "returns": returns,
        "actions_played": given.played,
        "forbidden_actions_played": wrong,
        "mean_return_played": round(mean, 3),
    }
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
