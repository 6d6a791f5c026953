"""The table of `docs/pomdp-files.md`, out of the `solve.json` of several `asmpg solve ... --out`.

    python benchmarks/cassandra.py results/cassandra

Beside them: SARSOP's bounds and the best controller of PAYNT within 900 s, as PAYNT's repository
has them (`experiments-beliefs/`, before commit 83abd782).
"""

import json
import sys
from pathlib import Path

SIZES = (1, 2, 4, 8, 16, 32)
PUBLISHED = {
    "4x3.95": ("1.8899 .. 1.8910", "1.8742"),
    "network": ("293.19 .. 293.23", "287.2"),
    "milos-aaai97": ("49.75 .. 69.16", "38.25"),
    "tiger-grid": ("2.268 .. 2.528", "0"),
    "hallway": ("0.996 .. 1.205", "0.185"),
    "hallway2": ("0.380 .. 0.898", "–"),
    "mit": ("0.847 .. 0.885", "0"),
    "pentagon": ("0.730 .. 0.827", "0"),
}


def main() -> None:
    print(f"| file | our bounds | {' | '.join(map(str, SIZES))} | SARSOP | PAYNT |")
    print("|" + " --- |" * (len(SIZES) + 4))
    for name, (bounds, controller) in PUBLISHED.items():
        path = Path(sys.argv[1]) / f"{name}.json"
        if path.exists():
            report = json.loads(path.read_text())
            values = {entry["num_states"]: entry["value"] for entry in report["controllers"]}
            cells = [f"{values[size]:.5g}" if size in values else "" for size in SIZES]
            own = f"{report['bounds']['lower']:.5g} .. {report['bounds']['upper']:.5g}"
            print(f"| {name} | {own} | {' | '.join(cells)} | {bounds} | {controller} |")


if __name__ == "__main__":
    main()
