"""Which POPGym tasks run here, and why the others do not: the table of docs/popgym.md.

    pip install popgym
    python benchmarks/popgym_tasks.py

Each of the 42 originals (14 tasks at three difficulties, the mazes left out) is looked at as
`asmpg check` does, with a short random play. `--seconds 20` also trains a little with and without
memory, as `asmpg check` does by default.

    python benchmarks/popgym_tasks.py --train 10000 --out trained.csv

trains ASM-PPO, default options, by `learn` in each of them instead, and writes down its returns
before and after; what is in the file is not trained again.
"""

import argparse
import csv
import importlib
from pathlib import Path

import asmpg
from asmpg.environments.popgym import DIFFICULTIES, POPGYM_TASKS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=0.0)
    parser.add_argument("--train", type=int, metavar="STEPS")
    parser.add_argument("--out", type=Path, default=Path("trained.csv"))
    arguments = parser.parse_args()
    originals = importlib.import_module("popgym.envs").ALL  # an extra
    ids = [each["id"] for each in originals.values() if "Labyrinth" not in each["id"]]
    if arguments.train:
        train_all(ids, arguments.train, arguments.out)
    else:
        look_at_all(ids, arguments.seconds)


def train_all(ids: list[str], steps: int, out: Path) -> None:
    done = set()
    if out.exists():
        with out.open(newline="") as file:
            done = {row["environment"] for row in csv.DictReader(file)}
    with out.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if not done:
            writer.writerow(["environment", "steps", "return_before", "return_after"])
        for name in (name for name in ids if name not in done):
            agent = asmpg.ASMPPO().learn(
                name, steps=steps, evaluate_every=steps, evaluation_episodes=20, verbose=0
            )
            assert agent.result is not None
            first, last = agent.result.rows[0], agent.result.rows[-1]
            returns = [f"{row['undiscounted_return']:.4f}" for row in (first, last)]
            writer.writerow([name, int(last["steps"]), *returns])
            file.flush()
            print(name, *returns, flush=True)


def look_at_all(ids: list[str], seconds: float) -> None:
    tasks = dict.fromkeys(name.removesuffix("-v0") for name in ids)
    print("| task | compiled | on the host |\n| --- | --- | --- |")
    for easy in [name for name in tasks if name.endswith("Easy")]:
        stem = easy.removesuffix("Easy")
        compiled = all(f"{stem}{each}" in POPGYM_TASKS for each in DIFFICULTIES)
        reports = [
            asmpg.check(f"{stem}{each}-v0", seconds=seconds)
            for each in DIFFICULTIES
            if f"{stem}{each}-v0" in ids
        ]
        fits = [report.fits for report in reports]
        assert len({*fits}) == 1, f"{stem} is refused at some difficulties only: {reports}"
        problem = (reports[0].problem or "").split(";")[0]
        name = stem.removeprefix("popgym-")
        host = "yes" if fits[0] else f"no: {problem}"
        print(f"| {name} | {'yes' if compiled else ''} | {host} |")
    print(f"\n{len(ids)} environments")


if __name__ == "__main__":
    main()
