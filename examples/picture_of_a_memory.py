"""Learn a maze, and draw it beside the memory that solves it.

python examples/picture_of_a_memory.py --out memory.png
"""

import argparse
import io
from pathlib import Path

import gymnasium
import matplotlib.pyplot as plt

import asmpg


def main(arguments: list[str] | None = None) -> None:
    """Train, make the machine small, draw both."""
    parser = argparse.ArgumentParser(description="Draw a maze beside the memory that solves it.")
    parser.add_argument("--environment", default="asmpg/CheeseMaze-v0")
    parser.add_argument("--steps", type=int, default=40_000)
    parser.add_argument("--num-states", type=int, default=8)
    parser.add_argument("--window", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("memory.png"))
    given = parser.parse_args(arguments)

    method = asmpg.ASMPPO(num_states=given.num_states, window=given.window)
    agent = method.learn(given.environment, steps=given.steps, seeds=given.seeds)
    machine = agent.machine().harden().minimise()
    print(machine)

    env = gymnasium.make(given.environment, render_mode="rgb_array")
    env.reset(seed=1)
    drawn = io.BytesIO()
    machine.plot().savefig(drawn, format="png", dpi=200, bbox_inches="tight")
    drawn.seek(0)
    pictures = [env.render(), plt.imread(drawn)]
    widths = [picture.shape[1] / picture.shape[0] for picture in pictures]
    figure, axes = plt.subplots(1, 2, figsize=(4 * sum(widths), 4), width_ratios=widths)
    for axis, picture in zip(axes, pictures, strict=True):
        axis.imshow(picture)
        axis.set_axis_off()
    figure.tight_layout()
    figure.savefig(given.out, dpi=150)


if __name__ == "__main__":
    main()
