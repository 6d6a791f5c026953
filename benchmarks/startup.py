"""From the shell prompt to the first update: where the time goes, in a first run and in a second.

Two fresh processes train the same thing for a moment, the first with an empty compilation cache,
the second with what the first left there. Prints seconds of each phase, wall and CPU, how many
programs were compiled and how many were found, and how much sooner the second began to train.

Usage: python benchmarks/startup.py [ENVIRONMENT] [--method asm-ppo] [--json FILE]
"""

import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

#: What JAX reports the durations of, in wall seconds, while a run compiles.
PARTS = {
    "tracing": "/jax/core/compile/jaxpr_trace_duration",
    "lowering": "/jax/core/compile/jaxpr_to_mlir_module_duration",
    "compiling or reading": "/jax/core/compile/backend_compile_duration",
}
HITS = "/jax/compilation_cache/cache_hits"
PHASES = ("imports", "checks", "programs", "training and evaluation")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("environment", nargs="?", default="CheeseMaze")
    parser.add_argument("--method", default="asm-ppo")
    parser.add_argument("--json", type=Path, help="write the numbers there as well")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(arguments.environment, arguments.method)))
        return
    with tempfile.TemporaryDirectory(prefix="asmpg-startup-") as folder:
        runs = [fresh_process(arguments, folder) for _ in range(2)]
        kept = sum(path.stat().st_size for path in Path(folder).rglob("*-cache"))
    show(runs, kept)
    if arguments.json:
        arguments.json.write_text(json.dumps(runs, indent=2) + "\n")


def fresh_process(arguments: argparse.Namespace, folder: str) -> dict[str, Any]:
    command = [sys.executable, __file__, arguments.environment, "--method", arguments.method]
    environment = {name: value for name, value in os.environ.items() if "_CACHE_" not in name}
    done = subprocess.run(
        [*command, "--measure"],
        env=environment | {"ASMPG_COMPILE_CACHE": folder},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def measure(environment: str, method: str) -> dict[str, Any]:
    clock = [(time.perf_counter(), 0.0)]

    def tick() -> None:
        clock.append((time.perf_counter(), time.process_time()))

    import jax

    from asmpg.runs import RunConfig
    from asmpg.training import Callback, train

    class Clock(Callback):
        def on_compile(self) -> None:
            tick()

        def on_compiled(self, seconds: float) -> None:
            del seconds
            tick()

    counts: collections.Counter[str] = collections.Counter()
    durations: dict[str, list[float]] = collections.defaultdict(list)
    jax.monitoring.register_event_listener(lambda event, **_: counts.update([event]))
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, duration_secs, **_: durations[event].append(duration_secs)
    )
    tick()
    config = RunConfig(environment, method=method, steps=1024, seeds=(1952,))
    train(config, callbacks=[Clock()], verbose=0)
    tick()
    pairs = zip(PHASES, clock, clock[1:], strict=False)
    phases = {name: [b - a for a, b in zip(*ends, strict=True)] for name, *ends in pairs}
    return {
        "phases": phases,
        "parts": {name: sum(durations[event]) for name, event in PARTS.items()},
        "programs": len(durations[PARTS["compiling or reading"]]),
        "found": counts[HITS],
    }


def show(runs: list[dict[str, Any]], kept: int) -> None:
    print(f"{'seconds':36}{'first':>8}{'CPU':>8}{'second':>9}{'CPU':>8}")
    for name in PHASES:
        (first, cpu), (again, later) = (run["phases"][name] for run in runs)
        print(f"{name:36}{first:8.2f}{cpu:8.2f}{again:9.2f}{later:8.2f}")
        if name == "programs":
            for part in PARTS:
                first, again = (run["parts"][part] for run in runs)
                print(f"{'  ' + part:36}{first:8.2f}{'':8}{again:9.2f}")
    before = [[sum(run["phases"][name][i] for name in PHASES[:3]) for i in (0, 1)] for run in runs]
    (first, cpu), (again, later) = before
    print(f"{'before training':36}{first:8.2f}{cpu:8.2f}{again:9.2f}{later:8.2f}")
    found = [number for run in runs for number in (run["programs"], run["found"])]
    print("{:36}{:8d}{:8d}{:9d}{:8d}".format("programs, and found in the cache", *found))
    print(
        f"The second began to train {first / again:.1f} times as soon, "
        f"in CPU time {cpu / later:.1f}; {kept / 2**20:.1f} MB were kept."
    )


if __name__ == "__main__":
    main()
