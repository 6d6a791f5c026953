"""Training speed of a method with its defaults, ASMPG's being the paper's: ten seeds of each.

Prints, per environment: seconds of compilation, environment steps and updates per second early (the
first tenth of the time) and late (the last), evaluation left in, the share of the measured
matrix-product rate that the networks then come to, seconds for the whole run, and the share of it
in which nothing is compiled, trained or evaluated: rows, checkpoints, all that Python does between;
of the whole, and of what follows compilation. The run is written to a folder, as `asmpg train`
writes it.

Usage: python benchmarks/training.py [NAME ...] [--method asmpg] [--steps 1000000] [--seeds 10]
       [--alone] [--json FILE]
"""

import argparse
import contextlib
import io
import json
import os
import platform
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console

import asmpg
from asmpg.environments import PAPER_ENVIRONMENTS, Discrete, paper_sizes
from asmpg.methods import PRESETS
from asmpg.runs import Row, RunConfig, default_seeds
from asmpg.training import Callback, Progress, build_program, train
from asmpg.training._seed_batches import CompiledSeed, StackedSeeds

EPISODES_PER_UPDATE = 10
#: Progress is worked out, as in a terminal, but shown to nobody.
QUIET = Console(file=io.StringIO(), force_terminal=True)


class Stopwatch(Callback):
    """Keeps the rows and the time of compilation."""

    def __init__(self) -> None:
        self.compile_seconds = 0.0
        self.rows: list[Row] = []
        self.compiled = 0.0
        self.chunks: list[tuple[float, float]] = []

    def on_compiled(self, seconds: float) -> None:
        """Keep the time."""
        self.compile_seconds = seconds
        self.compiled = time.perf_counter()
        self.chunks.clear()

    def on_evaluation(self, seed: int, row: Row) -> None:
        """Keep the row."""
        self.rows.append(row)

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Keep when chunks of training, with the evaluations at their ends, begin and end."""
        kinds: tuple[Any, ...] = (CompiledSeed, StackedSeeds)
        plain = [kind.advance for kind in kinds]

        def timed(advance: Callable[[Any, Any, Any], Any]) -> Callable[[Any, Any, Any], Any]:
            def run(batch: Any, state: Any, until: Any) -> Any:
                began = time.perf_counter()
                chunk = advance(batch, state, until)
                self.chunks.append((began, time.perf_counter()))
                return chunk

            return run

        for kind, advance in zip(kinds, plain, strict=True):
            kind.advance = timed(advance)
        try:
            yield
        finally:
            for kind, advance in zip(kinds, plain, strict=True):
                kind.advance = advance

    def idle_seconds(self, ended: float) -> float:
        """Of the time from compilation to the end, that in which no chunk was running."""
        busy, until = 0.0, self.compiled
        for begin, end in sorted(self.chunks):
            busy += max(0.0, end - max(begin, until))
            until = max(until, end)
        return ended - self.compiled - busy

    def rates(self, begin: float, end: float) -> tuple[float, float]:
        """Steps and updates per second of all seeds, between two shares of the wall time.

        Between its evaluations a seed is taken to advance evenly.
        """
        last = max(row["wall_seconds"] for row in self.rows)
        moments = np.array([begin * last, end * last])
        gained = np.zeros(2)
        for seed in {row["seed"] for row in self.rows}:
            own = [row for row in self.rows if row["seed"] == seed]
            clock = [row["wall_seconds"] for row in own]
            for place, name in enumerate(("steps", "updates")):
                before, after = np.interp(moments, clock, [row[name] for row in own])
                gained[place] += after - before
        steps, updates = gained / (moments[1] - moments[0])
        return float(steps), float(updates)


def matrix_product_rate(size: int = 2048) -> float:
    """Floating-point operations per second of a large float32 matrix product."""
    matrix = jnp.ones((size, size))
    product = jax.jit(lambda a: a @ a)
    product(matrix).block_until_ready()
    best = float("inf")
    for _ in range(5):
        began = time.perf_counter()
        product(matrix).block_until_ready()
        best = min(best, time.perf_counter() - began)
    return 2 * size**3 / best


def network_operations(name: str, steps: float, updates: float) -> float:
    """Operations of `nu` for so many steps and updates: 2 a weight forward, 4 backward.

    Tabulated kernels are evaluated forward and backward on all inputs once an update; others
    forward at each step of play, and forward and backward at each step of the update.
    """
    environment, paper = asmpg.make(name), paper_sizes(name)
    assert paper is not None
    states, hidden = paper
    space, actions = environment.observation_space, len(environment.action_names)
    inputs = states + actions + (space.n if isinstance(space, Discrete) else len(space.low))
    weights = inputs * 2 * hidden + 4 * hidden**2 + 2 * hidden**2 + hidden * states
    if isinstance(space, Discrete):
        return updates * 6 * weights * space.n * (1 + states * actions)
    return steps * 8 * weights


def measure(config: RunConfig, *, peak: float) -> dict[str, Any]:
    stopwatch = Stopwatch()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="asmpg-training-") as folder, stopwatch.watching():
        train(config, Path(folder) / "run", callbacks=[stopwatch, Progress(QUIET)])
        ended = time.perf_counter()
    seconds = ended - began
    early, late = stopwatch.rates(0.0, 0.1), stopwatch.rates(0.9, 1.0)
    paper = config.method == "asmpg"
    share = network_operations(config.environment, *late) / peak if paper else None
    idle = stopwatch.idle_seconds(ended)
    return {
        "compile_seconds": stopwatch.compile_seconds,
        "early_steps_per_second": early[0],
        "early_updates_per_second": early[1],
        "late_steps_per_second": late[0],
        "late_updates_per_second": late[1],
        "late_share_of_matrix_rate": share,
        "total_seconds": seconds,
        "idle_seconds": idle,
        "share_not_training": idle / (ended - stopwatch.compiled),
        "share_of_the_whole": idle / seconds,
    }


def compiled_rate(config: RunConfig, chunks: int = 3) -> float:
    """Steps per second of the compiled program alone, all seeds in one, early in training."""
    program = build_program(config, config.resolve())
    state = eqx.filter_vmap(program.start)(jnp.asarray(config.seeds))
    advance = eqx.filter_jit(eqx.filter_vmap(program.advance, in_axes=(eqx.if_array(0), None)))
    rates = []
    for chunk in range(1 + chunks):
        before, began = int(state.steps.sum()), time.perf_counter()
        state, _ = jax.block_until_ready(advance(state, jnp.asarray(10_000 * (1 + chunk))))
        rates.append((int(state.steps.sum()) - before) / (time.perf_counter() - began))
    return max(rates[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(PAPER_ENVIRONMENTS), metavar="NAME")
    parser.add_argument("--method", default="asmpg", choices=list(PRESETS))
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--evaluation-episodes", type=int, default=100)
    parser.add_argument("--alone", action="store_true", help="time the compiled program alone, too")
    parser.add_argument("--json", type=Path, help="write the numbers here as well")
    arguments = parser.parse_args()

    device, peak = jax.devices()[0], matrix_product_rate()
    print(
        f"jax {jax.__version__} on {device.device_kind}, {os.cpu_count()} CPU cores, "
        f"{platform.machine()}; matrix product {peak / 1e9:.0f} GFLOP/s"
    )
    budget = f"{arguments.seeds} seeds of {arguments.steps} steps"
    evaluation = f"{arguments.evaluation_episodes} episodes every 10000 steps"
    print(f"{arguments.method}: {budget}, evaluation ({evaluation}) included")
    columns = (
        "compile s",
        "early k/s",
        "upd/s",
        "late k/s",
        "upd/s",
        "matrix %",
        "total s",
        "other %",
        "of whole %",
    )
    print(f"{'':22}" + "".join(f"{column:>11}" for column in columns))
    results = {}
    for name in arguments.names:
        config = RunConfig(
            name,
            method=arguments.method,
            steps=arguments.steps,
            seeds=default_seeds(arguments.seeds),
            evaluation_episodes=arguments.evaluation_episodes,
        )
        result = measure(config, peak=peak)
        results[name] = result
        compile_s, early, early_upd, late, late_upd, share, total, _, rest, of_all = result.values()
        cells = (
            f"{compile_s:.1f}",
            f"{early / 1e3:.0f}",
            f"{early_upd:.0f}",
            f"{late / 1e3:.0f}",
            f"{late_upd:.0f}",
            "" if share is None else f"{100 * share:.0f}",
            f"{total:.0f}",
            f"{100 * rest:.1f}",
            f"{100 * of_all:.1f}",
        )
        print(f"{name:22}" + "".join(f"{cell:>11}" for cell in cells), flush=True)
        if arguments.alone:
            result["compiled_steps_per_second"] = compiled_rate(config)
            rate = result["compiled_steps_per_second"]
            print(f"{'':22}the compiled program alone, early: {rate / 1e6:.1f} million steps/s")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory of the process: {memory:.0f} MiB")
    if arguments.json:
        provenance = {
            "jax": jax.__version__,
            "device": device.device_kind,
            "cpu_cores": os.cpu_count(),
            "method": arguments.method,
            "matrix_product_gflops": peak / 1e9,
            "seeds": arguments.seeds,
            "steps": arguments.steps,
            "evaluation_episodes": arguments.evaluation_episodes,
            "peak_memory_mib": memory,
        }
        text = json.dumps({"provenance": provenance, "training": results}, indent=2)
        arguments.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
