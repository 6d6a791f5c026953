"""Kill training and studies at random moments, resume them, and compare with runs left alone.

    python benchmarks/kills.py [--kills 100] [--seed 0] [--only runs|studies]

Each run, and each study, is killed with SIGKILL again and again, at moments drawn between its start
and a little more than it takes, and resumed until it is finished; then its files are compared, byte
for byte, with those of one that was never killed. Wall times are left out, as they differ.
"""

import argparse
import csv
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

TRAIN = """
import sys
import asmpg
small = {"num_states": 3, "num_environments": 4, "rollout_steps": 32, "critic": "memory"}
config = asmpg.RunConfig(
    "CheeseMaze", method_options=small, seeds=(1952, 5235), steps=60_000, evaluate_every=1_000,
    evaluation_episodes=20,
)
resume = __import__("pathlib").Path(sys.argv[1], "config.json").exists()
asmpg.train(config, sys.argv[1], resume=resume, verbose=0)
"""
STUDY = """
environments = ["CheeseMaze", "TMaze"]
seeds = 2
steps = 20_000
evaluate_every = 1_000
evaluation_episodes = 10
scores = "exact"

[entries.asmpg.options]
policy = "tabular"
num_states = 2

[entries.memoryless-ppo]
"""
#: What tells of times, sessions or the machine, not of results.
NOT_RESULTS = {"sessions", "logs", "report.html", "study.lock", "run.lock"}


def main() -> None:
    parser = argparse.ArgumentParser(description="Kill and resume; compare with the unbroken.")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=("runs", "studies"))
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "tiny.toml").write_text(STUDY)
        commands = {
            "runs": [sys.executable, "-c", TRAIN],
            "studies": [sys.executable, "-m", "asmpg", "study", str(folder / "tiny.toml"), "--out"],
        }
        for name, command in commands.items():
            if arguments.only in (None, name):
                try_kind(name, command, folder / name, arguments.kills, chance)


def try_kind(
    name: str, command: list[str], folder: Path, wanted: int, chance: random.Random
) -> None:
    folder.mkdir()
    whole = folder / "whole"
    run(command, whole, folder)
    began = time.monotonic()
    run(command, folder / "again", folder)
    takes = time.monotonic() - began
    kills = finished = 0
    while kills < wanted:
        target = folder / "killed"
        shutil.rmtree(target, ignore_errors=True)
        while not run(command, target, folder, kill_after=chance.uniform(0, 1.1 * takes)):
            kills += 1
        finished += 1
        different = [path for path in results(whole) if not same(whole / path, target / path)]
        if different or set(results(whole)) != set(results(target)):
            sys.exit(f"{name}: after {kills} kills these differ: {different}")
        print(f"{name}: {kills} kills, {finished} finished, all files the same", flush=True)


def run(
    command: list[str], target: Path, scratch: Path, *, kill_after: float | None = None
) -> bool:
    """Whether it came to its end before it was killed."""
    environment = {**os.environ, "JAX_COMPILATION_CACHE_DIR": str(scratch / "cache")}
    environment |= {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.1"}
    process = subprocess.Popen(
        [*command, str(target)],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        _, errors = process.communicate(timeout=kill_after)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.communicate()
        # Workers of a study leave with it; the folder is theirs until they have.
        time.sleep(0.5)
        return False
    if process.returncode:
        sys.exit(f"exit status {process.returncode}: {errors}")
    return True


def results(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if path.is_file() and not NOT_RESULTS & set(relative.parts):
            yield relative


def same(one: Path, other: Path) -> bool:
    if one.name == "metrics.csv":
        return timeless(one) == timeless(other)
    return other.exists() and one.read_bytes() == other.read_bytes()


def timeless(path: Path) -> list[dict[str, str]]:
    with open(path, newline="") as file:
        return [row | {"wall_seconds": ""} for row in csv.DictReader(file)]


if __name__ == "__main__":
    main()
