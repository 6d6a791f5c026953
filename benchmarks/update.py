"""Where the time of training goes: playing, learning and evaluating, seeds side by side.

Times the three parts of an update of ASM-PPO, batched over seeds by `vmap` as on a GPU, and says
how many environment steps a second they would allow by themselves. `--kernels` lists what a device
spends the time of learning on, from JAX's profiler.

Usage: python benchmarks/update.py [ENVIRONMENT] [--seeds 1 1000] [--critics latent history]
       [--filters fused parallel sequential] [--num-states 32] [--kernels 12] [--json FILE]
"""

import argparse
import collections
import gzip
import itertools
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

import asmpg
from asmpg.experience import collect, open_stream, play_for_returns
from asmpg.interop import Interface
from asmpg.methods import with_array_numbers
from asmpg.methods.ppo import ASMPPO
from asmpg.training._program import compiled
from json_results import Row, provenance

REPEATS = 5


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("environment", nargs="?", default="CheeseMaze")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--critics", nargs="+", default=["latent"])
    parser.add_argument("--filters", nargs="+", default=["auto"])
    parser.add_argument("--num-states", type=int)
    parser.add_argument("--kernels", type=int, default=0, help="how many to list, on a GPU")
    parser.add_argument("--json", type=Path, help="write the numbers there as well")
    arguments = parser.parse_args()
    about = provenance()
    print(", ".join(f"{name} {value}" for name, value in about.items()))
    rows = []
    for choice in itertools.product(arguments.seeds, arguments.critics, arguments.filters):
        seeds, critic, how = choice
        method = ASMPPO(num_states=arguments.num_states, critic=critic, filter=how)
        row: Row = {"seeds": seeds, "critic": critic, "filter": how}
        row |= measure(method, arguments.environment, seeds, kernels=arguments.kernels)
        rows.append(row)
        print(", ".join(f"{name} {value}" for name, value in row.items()), flush=True)
        if arguments.json:
            arguments.json.write_text(json.dumps({"provenance": about, "rows": rows}, indent=1))


def measure(method: ASMPPO, name: str, seeds: int, *, kernels: int) -> Row:
    """Milliseconds of each part for all seeds together, and what they come to."""
    environment = asmpg.make(name)
    interface = Interface.of(environment)
    settled = with_array_numbers(method.settled(interface))

    def start(seed: jax.Array) -> tuple[Any, Any]:
        learner_key, stream_key = jax.random.split(jax.random.key(seed))
        learner = settled.initialise(interface, learner_key)
        actor = settled.actor(learner, training=True)
        return learner, open_stream(environment, actor, settled.collects, stream_key)

    def play(learner: Any, stream: Any) -> tuple[Any, Any]:
        actor = settled.actor(learner, training=True)
        return collect(environment, actor, settled.collects, stream, jax.random.key(1))

    def learn(learner: Any, experience: Any) -> tuple[Any, Any]:
        return settled.update(learner, experience, jax.random.key(2), progress=0.1)

    def evaluate(learner: Any) -> Any:
        actor = settled.actor(learner)
        key = jax.random.key(3)
        return play_for_returns(environment, actor, key, num_episodes=100, discount=0.99)

    learners, streams = _abreast(start)(jnp.arange(seeds))
    (_, experience), playing, first_play = _timed(_abreast(play), learners, streams)
    learning_program = _abreast(learn)
    _, learning, first_learn = _timed(learning_program, learners, experience)
    _, evaluating, first_evaluation = _timed(_abreast(evaluate), learners)
    if kernels and jax.default_backend() != "cpu":
        _print_kernels(lambda: learning_program(learners, experience), kernels)
    steps = seeds * settled.num_environments * settled.rollout_steps
    return {
        "play_ms": round(1e3 * playing, 2),
        "learn_ms": round(1e3 * learning, 2),
        "evaluate_ms": round(1e3 * evaluating, 2),
        "first_calls_s": round(first_play + first_learn + first_evaluation, 1),
        "steps_per_second": round(steps / (playing + learning)),
    }


def _abreast(function: Callable[..., Any]) -> Callable[..., Any]:
    return compiled(eqx.filter_vmap(function))


def _timed(function: Callable[..., Any], *arguments: Any) -> tuple[Any, float, float]:
    """What it gives, the median of some calls in seconds, and the first, which compiles."""
    began = time.perf_counter()
    result = jax.block_until_ready(function(*arguments))
    first, times = time.perf_counter() - began, []
    for _ in range(REPEATS):
        began = time.perf_counter()
        jax.block_until_ready(function(*arguments))
        times.append(time.perf_counter() - began)
    return result, statistics.median(times), first


def _print_kernels(call: Callable[[], Any], most: int) -> None:
    """The kernels of one call by the time that a device spent on them."""
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            jax.block_until_ready(call())
        (file,) = Path(folder).rglob("*.trace.json.gz")
        events = json.loads(gzip.decompress(file.read_bytes()))["traceEvents"]
    devices = {
        event["pid"]
        for event in events
        if event.get("name") == "process_name" and "/device:" in event["args"]["name"]
    }
    spent, calls = collections.Counter[str](), collections.Counter[str]()
    for event in events:
        if event.get("ph") == "X" and event["pid"] in devices:
            spent[event["name"]] += event["dur"]
            calls[event["name"]] += 1
    print(f"  {calls.total()} kernels, {spent.total() / 1e3:.1f} ms")
    for name, duration in spent.most_common(most):
        print(f"  {duration / 1e3:9.2f} ms in {calls[name]:6d} of {name[:90]}")


if __name__ == "__main__":
    main()
