"""How often each memory probe is solved, with default options.

    python benchmarks/probes.py [--seeds 10] [--methods asm-ppo gru-ppo] [--json FILE]

A probe counts as solved by a seed when the value of its policy at the end, exact where it can be
computed, is 90 % of the way from what can be had without memory to the optimum. No critic is shown
latent states.
"""

import argparse
import json
import statistics
import time
from pathlib import Path

from asmpg.studies.memory_probes import PROBES
from asmpg.training import train


def main() -> None:
    parser = argparse.ArgumentParser(description="How often each memory probe is solved.")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument(
        "--methods", nargs="+", default=["asm-ppo", "gru-ppo", "memoryless-ppo"], metavar="METHOD"
    )
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = []
    for probe in PROBES:
        for method in arguments.methods:
            began = time.perf_counter()
            options = {"critic": "history"} if method == "asm-ppo" else None
            config = probe.config(method, seeds=arguments.seeds, options=options)
            values = probe.values(train(config, verbose=0))
            row = {
                "probe": probe.label,
                "method": method,
                "steps": probe.steps,
                "optimum": probe.optimum,
                "without memory": round(probe.without_memory, 3),
                "median": round(statistics.median(values), 3),
                "worst": round(min(values), 3),
                "solved": sum(value >= probe.threshold for value in values),
                "seeds": len(values),
                "seconds": round(time.perf_counter() - began, 1),
            }
            rows.append(row)
            print(", ".join(f"{name} {value}" for name, value in row.items()), flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
