"""Learn a memory in several environments, make each as small as it gets, and draw it.

python examples/gallery_of_machines.py --out pictures
"""

import argparse
import io
from pathlib import Path
from typing import Any

from PIL import Image

import asmpg

#: Few agent states that see nothing but themselves: the smallest machines.
SMALL = {"num_states": 8, "groups": 1, "window": 0}
#: Environment steps, and options of ASM-PPO.
EXHIBITS: dict[str, tuple[int, dict[str, Any]]] = {
    "CheeseMaze": (40_000, SMALL),
    "HallwayNavigation": (60_000, SMALL),
    "MachineRepair": (150_000, SMALL),
    "Tiger": (100_000, SMALL),
    "TMaze": (60_000, {"num_states": 8, "window": 0}),
    "CountModulo": (80_000, SMALL),
    "popgym-RepeatFirstEasy": (60_000, {}),
}


def main(arguments: list[str] | None = None) -> None:
    """Train in each environment, print its machine and draw it."""
    parser = argparse.ArgumentParser(description="Draw the memories of several environments.")
    parser.add_argument("--names", nargs="*", default=list(EXHIBITS), choices=EXHIBITS)
    parser.add_argument("--steps", type=int, help="fewer than the exhibits have")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("pictures"))
    given = parser.parse_args(arguments)
    given.out.mkdir(parents=True, exist_ok=True)
    for name in given.names:
        steps, options = EXHIBITS[name]
        agent = asmpg.ASMPPO(**options).learn(name, steps=given.steps or steps, seeds=given.seeds)
        machine = agent.machine().harden().drop_unused().minimise()
        print(machine, machine.describe(), sep="\n\n")
        draw(machine, given.out / f"machine-{name}.png")


def draw(machine: asmpg.Machine, path: Path) -> None:
    """A small picture: few colours are enough."""
    drawn = io.BytesIO()
    machine.plot().savefig(drawn, format="png", dpi=110, bbox_inches="tight")
    Image.open(drawn).convert("RGB").quantize(32).save(path, optimize=True)


if __name__ == "__main__":
    main()
