"""Learn a memory in MiniGrid: look at an object, walk away, take the branch where its like lies.

    pip install asmpg minigrid
    python examples/minigrid_memory.py

MiniGrid shows a 7 x 7 picture of symbols, a direction and a text. What matters here is one of 54
symbols: what lies to the left, ahead and to the right, and whether the way is blocked.
"""

import argparse
from typing import Any

import gymnasium
from gymnasium import spaces

import asmpg

SIDES = {"left": slice(0, 3), "ahead": slice(3, 4), "right": slice(4, 7)}
EMPTY, KEY, BALL = 1, 5, 6  # as MiniGrid numbers what is in a cell


class Glance(gymnasium.ObservationWrapper[Any, Any, Any]):
    """On each side nothing (0), a key (1) or a ball (2); and is the next cell blocked?"""

    def __init__(self, env: gymnasium.Env[Any, Any]):
        super().__init__(env)
        parts = {side: spaces.Discrete(3) for side in SIDES}
        self.observation_space = spaces.Dict({**parts, "blocked": spaces.Discrete(2)})

    def observation(self, observation: dict[str, Any]) -> dict[str, int]:
        """The agent stands in the middle of the last row of what it sees."""
        kinds = observation["image"][..., 0]
        seen = {
            side: 1 if KEY in kinds[columns] else 2 if BALL in kinds[columns] else 0
            for side, columns in SIDES.items()
        }
        return {**seen, "blocked": int(kinds[3, 5] != EMPTY)}


def make_environment() -> gymnasium.Env[Any, Any]:
    """MemoryS7 with those symbols, and with three actions: turn left, turn right, go forward."""
    env = Glance(gymnasium.make("minigrid:MiniGrid-MemoryS7-v0"))
    return gymnasium.wrappers.TransformAction(env, int, spaces.Discrete(3))


def main(arguments: list[str] | None = None) -> None:
    """Train with and without memory, then look at what is remembered."""
    parser = argparse.ArgumentParser(description="Learn a memory in MiniGrid.")
    parser.add_argument("--steps", type=int, default=120_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--num-states", type=int, default=32)
    given = parser.parse_args(arguments)

    methods = {
        "without memory": asmpg.MemorylessPPO(critic="memory"),
        "with a memory": asmpg.ASMPPO(num_states=given.num_states, critic="memory"),
    }
    agent = None
    for name, method in methods.items():
        agent = method.learn(make_environment, steps=given.steps, seeds=given.seeds)
        assert agent.result is not None
        last = {row["seed"]: row["undiscounted_return"] for row in agent.result.rows}
        print(f"{name}: {', '.join(f'{value:.3f}' for value in last.values())}")

    assert agent is not None
    machine = agent.machine(make_environment).harden().drop_unused().minimise()
    print(f"hardened, {machine.num_states} agent states are used: {machine.value}")
    watch(agent)


def watch(agent: asmpg.Agent) -> None:
    """An episode in words."""
    things, actions = ("nothing", "key", "ball"), ("turn left", "turn right", "go forward")
    env = make_environment()
    seen, _ = env.reset(seed=4)
    state, over, reward = None, False, 0.0
    while not over:
        action, state = agent.predict(seen, state, deterministic=True)
        view = ", ".join(f"{side} {things[seen[side]]}" for side in SIDES if seen[side])
        way = "blocked" if seen["blocked"] else "free"
        print(f"state {state[0].item():2}  {actions[int(action)]:10}  sees {view}; {way}")
        seen, reward, terminated, truncated, _ = env.step(action)
        over = terminated or truncated
    print(f"reward {float(reward):.3f}")


if __name__ == "__main__":
    main()
