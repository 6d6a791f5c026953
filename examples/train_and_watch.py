"""Train an agent in the cheese maze, watch it play an episode, and look into its memory.

python examples/train_and_watch.py
"""

import argparse

import gymnasium

import asmpg


def main(arguments: list[str] | None = None) -> None:
    """Train, watch, look inside."""
    parser = argparse.ArgumentParser(description="Train an agent and watch it play.")
    parser.add_argument("--environment", default="asmpg/CheeseMaze-v0")
    parser.add_argument("--steps", type=int, default=200_000)
    parser.add_argument("--num-states", type=int, default=8)
    given = parser.parse_args(arguments)

    agent = asmpg.ASMPPO(num_states=given.num_states).learn(given.environment, steps=given.steps)

    env = gymnasium.make(given.environment, render_mode="ansi")
    observation, _ = env.reset(seed=1)
    print(env.render())
    state, over, total = None, False, 0.0
    while not over:
        action, state = agent.predict(observation, state)
        observation, reward, terminated, truncated, _ = env.step(action)
        over, total = terminated or truncated, total + float(reward)
        print(f"agent state {state[0].item()}, action {action}, reward {reward:g}")
        print(env.render())
    print(f"return {total:g}")

    print("What it remembers, and what it does then:")
    print(agent.machine().harden().minimise())


if __name__ == "__main__":
    main()
