"""The filter's ways along a rollout: time of an update against its length.

An update here is one pass over one batch: beliefs or recurrent states along the rollouts,
advantages, and the losses of policy and critic with their gradients. Playing is left out: it is a
loop over time for everybody. Prints milliseconds, the median of some repeats after a warm-up, and
how many times as long each takes as the parallel filter with the memory critic.

Usage: python benchmarks/filter.py [--lengths 128 512 2048 8192] [--states 8 32] [--seeds 1]
       [--repeats 10] [--kinds NAME ...] [--json FILE]
       python benchmarks/filter.py --draw FILE ... --figure FILE
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import asmpg
from asmpg._support.machine import machine, versions
from asmpg.experience import collect, open_stream
from asmpg.interop import Interface
from asmpg.methods import with_array_numbers
from asmpg.methods.ppo import ASMPPO, GRUPPO, PPO, MinGRUPPO
from asmpg.training._program import compiled

#: By name: what is made for a number of agent states, and the colour and the dashes of its line.
KINDS: dict[str, tuple[Callable[..., PPO], str, str]] = {
    "parallel, memory critic": (lambda **o: asm("parallel", "memory", **o), "C0", "-"),
    "fused, memory critic": (lambda **o: asm("fused", "memory", **o), "C4", "-"),
    "sequential, memory critic": (lambda **o: asm("sequential", "memory", **o), "C1", "-"),
    "parallel, linear critic": (lambda **o: asm("parallel", "linear", **o), "C0", "--"),
    "sequential, GRU critic": (lambda **o: asm("sequential", "both", **o), "C1", "--"),
    "GRU-PPO, memory critic": (lambda **o: other(GRUPPO, "memory", **o), "C2", "-"),
    "GRU-PPO": (lambda **o: other(GRUPPO, "auto", **o), "C2", "--"),
    "minGRU-PPO, linear critic": (lambda **o: other(MinGRUPPO, "linear", **o), "C3", "--"),
}
PARALLEL = "parallel, memory critic"


def asm(how: Any, critic: Any, *, states: int, **options: Any) -> PPO:
    return ASMPPO(num_states=states, filter=how, critic=critic, **options)


def other(kind: Any, critic: str, *, states: int, **options: Any) -> PPO:
    del states
    return kind(critic=critic, **options)


def measure(
    make: Callable[..., PPO], name: str, length: int, states: int, arguments: argparse.Namespace
) -> dict[str, float]:
    """Milliseconds of an update; several seeds are batched by `vmap`, as in training on GPUs."""
    environment = asmpg.make(name)
    interface = Interface.of(environment)
    method = make(
        states=states,
        rollout_steps=length,
        num_environments=arguments.environments,
        epochs=1,
        minibatches=1,
    )
    method = with_array_numbers(method.settled(interface))

    def play(seed: jax.Array) -> tuple[Any, Any]:
        keys = jax.random.split(jax.random.key(seed), 3)
        learner = method.initialise(interface, keys[0])
        actor = method.actor(learner, training=True)
        stream = open_stream(environment, actor, method.collects, keys[1])
        _, experience = collect(environment, actor, method.collects, stream, keys[2])
        return learner, experience

    def step(learner: Any, experience: Any) -> tuple[Any, Any]:
        return method.update(learner, experience, jax.random.key(0))

    alone = arguments.seeds == 1
    update = compiled(step if alone else eqx.filter_vmap(step))
    prepare = compiled(play if alone else eqx.filter_vmap(play))
    learner, experience = prepare(jnp.zeros((), int) if alone else jnp.arange(arguments.seeds))
    began = time.perf_counter()
    learner, _ = jax.block_until_ready(update(learner, experience))
    first = time.perf_counter() - began
    times = []
    for _ in range(arguments.repeats):
        began = time.perf_counter()
        learner, _ = jax.block_until_ready(update(learner, experience))
        times.append(1e3 * (time.perf_counter() - began))
    quartiles = np.percentile(times, [25, 75])
    return {
        "milliseconds": statistics.median(times),
        "first_quartile": float(quartiles[0]),
        "third_quartile": float(quartiles[1]),
        "first_call_seconds": first,
    }


def draw(files: list[Path], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    panels = []
    for file in files:
        content = json.loads(file.read_text())
        content = content.get("found", content)  # as benchmarks/speed.py keeps it
        rows = content["updates"]
        for size in sorted({row["states"] for row in rows}):
            title = f"{size} agent states, {content['provenance']['device']}"
            panels.append((title, [row for row in rows if row["states"] == size]))
    figure, axes = plt.subplots(
        1, len(panels), figsize=(1.5 + 4 * len(panels), 3.6), sharey=True, squeeze=False
    )
    for axis, (title, rows) in zip(axes[0], panels, strict=True):
        for name, (_, colour, dashes) in KINDS.items():
            line = [(row["length"], row["milliseconds"]) for row in rows if row["name"] == name]
            if line:
                axis.loglog(*zip(*line, strict=True), dashes, color=colour, marker="o", label=name)
        axis.set_title(title, fontsize=10)
        axis.set_xlabel("steps of a rollout")
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel("milliseconds of an update")
    lines = {line.get_label(): line for axis in axes[0] for line in axis.get_lines()}
    beside = {"loc": "upper left", "bbox_to_anchor": (1.02, 1.0)}
    axes[0][-1].legend(lines.values(), lines.keys(), fontsize=7, **beside)
    figure.tight_layout()
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--lengths", type=int, nargs="+", default=[128, 512, 2048, 8192])
    parser.add_argument("--states", type=int, nargs="+", default=[8, 32])
    parser.add_argument("--environment", default="CheeseMaze")
    parser.add_argument("--environments", type=int, default=8)
    parser.add_argument("--seeds", type=int, default=1, help="side by side, in one program")
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), help="all but what CPUs lack")
    parser.add_argument("--json", type=Path, help="write the numbers there as well")
    parser.add_argument("--draw", type=Path, nargs="+", help="files to draw, instead of measuring")
    parser.add_argument("--figure", type=Path, help="where to draw them")
    arguments = parser.parse_args()
    if arguments.draw:
        draw(arguments.draw, arguments.figure)
        return

    device = jax.devices()[0].device_kind
    on_cpu = jax.default_backend() == "cpu"
    kinds = arguments.kinds or [name for name in KINDS if not (on_cpu and "fused" in name)]
    print(f"jax {jax.__version__} on {device}; {arguments.environment}, {arguments.seeds} seeds,")
    print(f"{arguments.environments} environments; milliseconds, and times as long as {PARALLEL}")
    provenance = {
        "machine": machine(),
        "device": device,
        "made_with": versions(),
        "environment": arguments.environment,
        "num_environments": arguments.environments,
        "seeds": arguments.seeds,
        "repeats": arguments.repeats,
    }
    results: list[dict[str, Any]] = []
    for states in arguments.states:
        print(f"{states} agent states, rollouts of".ljust(30), end="")
        print("".join(f"{length:>18,}" for length in arguments.lengths))
        known: dict[int, float] = {}
        for name in kinds:
            print(f"{name:30}", end="", flush=True)
            for length in arguments.lengths:
                row = measure(KINDS[name][0], arguments.environment, length, states, arguments)
                results.append({"name": name, "states": states, "length": length, **row})
                found = row["milliseconds"]
                known.setdefault(length, found if name == PARALLEL else float("nan"))
                ratio = f"({found / known[length]:.2f})"
                print(f"{found:10.2f} {ratio:>7}", end="", flush=True)
                if arguments.json:
                    text = json.dumps({"provenance": provenance, "updates": results}, indent=2)
                    arguments.json.write_text(text + "\n")
            print()


if __name__ == "__main__":
    main()
