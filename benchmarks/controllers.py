"""Controllers of ours against published ones of the same size, from the model.

    python benchmarks/controllers.py --files FOLDER [--out results/cassandra/controllers.json]

`FOLDER` has the files of PAYNT's repository (randriu/synthesis, `models/cassandra/pomdp`); those
that come with the package are used where it has none. Published are

- the best of 30 seeds of the lambda-discrepancy (brownirl/lambda_discrepancy,
  `results/analytical_results.csv`), whose action depends on the observation and on one of `k`
  memory states;
- the best deterministic controllers with `k` memory nodes whose action depends on the observation
  as well, by PAYNT 0.5.0 run to completion; for k = 3, what it had found when it was stopped.

An action of ours sees the observation through the agent state only, so that `k` of theirs are
`k |O|` of ours, and one more for the first action where no observation comes before it. What is in
`--out` already is not done again.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any, NamedTuple

from asmpg.environments.pomdp_files import read_pomdp
from asmpg.exact import policy_graphs, solve_controller, value_bounds
from json_results import provenance

#: Smaller sizes that are tried, to see how few states are enough.
SMALLER = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32)
SEEDS = range(5)
#: What counts as the same value, relatively. PAYNT is no more precise: listening to the tiger for
#: ever is worth -20, and -19.998 there.
SAME = 2e-4


class Published(NamedTuple):
    """Values by memory states; whether an observation comes before the first action."""

    source: str
    file: str
    first_observation: bool
    values: dict[int, float]


PUBLISHED = [
    Published("lambda-discrepancy", "tiger-alt-start", True, {2: -1.00176, 4: 2.82486, 8: 3.30512}),
    Published("lambda-discrepancy", "tmaze5", True, {2: 2.07462, 4: 2.09129, 8: 2.12569}),
    Published("lambda-discrepancy", "4x3.95", True, {2: 1.60468, 4: 1.87452, 8: 1.92119}),
    Published("lambda-discrepancy", "cheese.95", True, {2: 3.57456, 4: 3.57843, 8: 3.57758}),
    Published("lambda-discrepancy", "network", True, {2: 226.312, 4: 229.789, 8: 233.551}),
    Published("lambda-discrepancy", "shuttle.95", False, {2: 31.8638, 4: 32.8826, 8: 32.8859}),
    Published("lambda-discrepancy", "paint.95", False, {2: 1.46472, 4: 3.07176, 8: 3.13839}),
    Published("PAYNT", "shuttle.95", False, {1: 18.9227, 2: 31.8646, 3: 32.8891}),
    Published("PAYNT", "4x3.95", False, {1: 0.4416, 2: 1.4689, 3: 1.6958}),
    Published("PAYNT", "4x4.95", False, {1: 0.5167, 2: 3.7322}),
    Published("PAYNT", "cheese.95", False, {1: 0.6523, 2: 3.4861}),
    Published("PAYNT", "paint.95", False, {1: 0.3308, 2: 0.5352, 3: 3.2935}),
    Published("PAYNT", "tiger.95", False, {1: -19.998, 2: -19.998, 3: -10.22}),
]


def path_of(name: str, folder: Path) -> Path:
    """The file in `folder`, or the one that comes with the package."""
    path = folder / f"{name}.pomdp"
    return path if path.exists() else Path(f"{name}.pomdp")


def reaches(value: float, published: float) -> bool:
    return value >= published - SAME * abs(published)


def compared(published: Published, folder: Path) -> list[dict[str, Any]]:
    """A row for each of the sizes that are published."""
    read = read_pomdp(path_of(published.file, folder))
    model = read.finite(first_observation=published.first_observation)
    began, symbols = time.process_time(), len(read.observations)
    sizes = {
        memory: memory * symbols + (not published.first_observation) for memory in published.values
    }
    tried = sorted({*sizes.values(), *(size for size in SMALLER if size < max(sizes.values()))})
    bounds = value_bounds(model, discount=read.discount, seconds=10)
    graphs = policy_graphs(model, discount=read.discount, bounds=bounds, sizes=tried, seconds=30)
    shared = time.process_time() - began
    rows = []
    for memory, size in sizes.items():
        began = time.process_time()
        values = [
            solve_controller(
                model,
                num_states=size,
                discount=read.discount,
                graph=graphs[size],
                seconds=5,
                steps=100,
                restarts=2,
                seed=seed,
            ).value
            for seed in SEEDS
        ]
        enough = [n for n in tried if reaches(graphs[n].value, published.values[memory])]
        seconds = (time.process_time() - began) / len(SEEDS)
        row = {
            "source": published.source,
            "file": published.file,
            "first_observation": published.first_observation,
            "memory_states": memory,
            "published": published.values[memory],
            "agent_states": size,
            "values": values,
            "reached": sum(reaches(value, published.values[memory]) for value in values),
            "fewest_states": min(enough, default=None),
            "upper": bounds.upper,
            "cpu_seconds": round(shared / len(sizes) + seconds, 1),
        }
        rows.append(row)
        print(row, flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="Controllers of ours against published ones.")
    parser.add_argument("--files", type=Path, default=Path(), metavar="FOLDER")
    parser.add_argument("--out", type=Path, default=Path("results/cassandra/controllers.json"))
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    if arguments.out.exists():
        rows = json.loads(arguments.out.read_text())["rows"]
    done = {(row["source"], row["file"]) for row in rows}
    for published in PUBLISHED:
        if (published.source, published.file) in done:
            continue
        rows += compared(published, arguments.files)
        whole = {"provenance": provenance(), "rows": rows}
        arguments.out.write_text(json.dumps(whole, indent=1) + "\n")


if __name__ == "__main__":
    main()
