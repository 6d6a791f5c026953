"""Learn to recall in POPGym: the first card of a deck, said again after each of the other 51.

    pip install "asmpg[popgym]"
    python examples/popgym_recall.py

The original is stepped on the host; `--environment popgym-RepeatFirstEasy` is the same task,
compiled, which needs no POPGym and is quicker.
"""

import argparse

import asmpg


def main(arguments: list[str] | None = None) -> None:
    """Train with and without memory, then look at what is remembered."""
    parser = argparse.ArgumentParser(description="Learn to recall in POPGym.")
    parser.add_argument("--environment", default="popgym:popgym-RepeatFirstEasy-v0")
    parser.add_argument("--steps", type=int, default=60_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--num-states", type=int, default=32)
    given = parser.parse_args(arguments)

    methods = {
        "without memory": asmpg.MemorylessPPO(),
        "with a memory": asmpg.ASMPPO(num_states=given.num_states),
    }
    agent = None
    for name, method in methods.items():
        agent = method.learn(given.environment, steps=given.steps, seeds=given.seeds)
        assert agent.result is not None
        last = {row["seed"]: row["undiscounted_return"] for row in agent.result.rows}
        print(f"{name}: {', '.join(f'{value:.3f}' for value in last.values())}")

    assert agent is not None
    print(agent.machine().harden().drop_unused().minimise())


if __name__ == "__main__":
    main()
