"""An environment of your own: plain Gymnasium, no JAX, trained, saved and loaded.

    python examples/custom_environment.py

A lamp shows left or right for one step. Some steps later the agent stands at a fork and is paid
for turning where the lamp had shown. Without memory half of the forks go wrong.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

import gymnasium
from gymnasium import spaces

import asmpg

LEFT, RIGHT, CORRIDOR, FORK = range(4)


class LampAndFork(gymnasium.Env[Any, Any]):
    """Four observations, two actions; only the action at the fork counts."""

    observation_space = spaces.Discrete(4)
    action_space = spaces.Discrete(2)

    def __init__(self, length: int = 5):
        """`length` is the number of steps between lamp and fork."""
        self.length = length

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Show the lamp."""
        super().reset(seed=seed)
        self.lamp, self.time = int(self.np_random.integers(2)), 0
        return self.lamp, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Walk on, or turn."""
        self.time += 1
        if self.time < self.length:
            return CORRIDOR, 0.0, False, False, {}
        if self.time == self.length:
            return FORK, 0.0, False, False, {}
        return FORK, 1.0 if action == self.lamp else -1.0, True, False, {}


def main(arguments: list[str] | None = None) -> None:
    """Check, train, save, load, evaluate."""
    parser = argparse.ArgumentParser(description="Train in an environment of your own.")
    parser.add_argument("--steps", type=int, default=50_000)
    parser.add_argument("--check-seconds", type=float, default=0.0)
    given = parser.parse_args(arguments)

    print(asmpg.check(LampAndFork, seconds=given.check_seconds))

    method = asmpg.ASMPPO(num_states=8, num_environments=16, rollout_steps=32)
    agent = method.learn(LampAndFork, steps=given.steps)

    with tempfile.TemporaryDirectory() as folder:
        agent.save(Path(folder) / "lamp.npz")
        agent = asmpg.load(Path(folder) / "lamp.npz")

    env = LampAndFork()
    total = 0.0
    for episode in range(100):
        observation, _ = env.reset(seed=episode)
        state, over = None, False
        while not over:
            action, state = agent.predict(observation, state, deterministic=True)
            observation, reward, terminated, truncated, _ = env.step(int(action))
            over, total = terminated or truncated, total + reward
    print(f"Mean return of 100 episodes: {total / 100:.2f}; the most is 1, without memory 0")


if __name__ == "__main__":
    main()
