"""Environment steps per second: ours at several batch sizes, beside Gymnasium's own CartPole.

Every environment is stepped with uniformly random actions and starts again whenever an episode
ends. Usage: python benchmarks/environments.py [--seconds 1.0] [--json FILE]
"""

import argparse
import json
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

import asmpg
from asmpg.environments import PAPER_ENVIRONMENTS, Environment

BATCH_SIZES = (1, 64, 1024, 16384)
STEPS_PER_CALL = 256


def compiled_steps(environment: Environment[Any], batch: int) -> Callable[[Any], Any]:
    """A compiled program that takes the whole batch through `STEPS_PER_CALL` random steps."""

    def step(carry: tuple[Any, Array, Array], key: Array) -> tuple[tuple[Any, Array, Array], Array]:
        state, elapsed, key = carry
        action_key, step_key, reset_key, key = jax.random.split(key, 4)
        actions = jax.random.randint(action_key, (batch,), 0, len(environment.action_names))
        step_keys = jax.random.split(step_key, batch)
        _, following, reward, terminated = jax.vmap(environment.step)(step_keys, state, actions)
        elapsed = elapsed + 1
        over = terminated | (elapsed >= environment.max_steps)
        _, fresh = jax.vmap(environment.reset)(jax.random.split(reset_key, batch))
        state = jax.tree.map(lambda new, old: jnp.where(over, new, old), fresh, following)
        return (state, jnp.where(over, 0, elapsed), key), reward.sum()

    @jax.jit
    def run(carry: tuple[Any, Array, Array]) -> tuple[tuple[Any, Array, Array], Array]:
        carry, rewards = jax.lax.scan(step, carry, None, length=STEPS_PER_CALL)
        return carry, rewards.sum()

    return run


def start(environment: Environment[Any], batch: int) -> tuple[Any, Array, Array]:
    key, reset_key = jax.random.split(jax.random.key(0))
    _, state = jax.vmap(environment.reset)(jax.random.split(reset_key, batch))
    return state, jnp.zeros(batch, jnp.int32), key


def rate(call: Callable[[], int], seconds: float) -> float:
    """Steps per second of `call`, which returns how many steps it made; the best of three."""
    call()
    rates = []
    for _ in range(3):
        steps, began = 0, time.perf_counter()
        while time.perf_counter() - began < seconds:
            steps += call()
        rates.append(steps / (time.perf_counter() - began))
    return max(rates)


def measure_compiled(environment: Environment[Any], batch: int, seconds: float) -> float:
    run = compiled_steps(environment, batch)
    carry = start(environment, batch)

    def call() -> int:
        nonlocal carry
        carry, rewards = run(carry)
        rewards.block_until_ready()
        return batch * STEPS_PER_CALL

    return rate(call, seconds)


def number_of_actions(space: Any) -> int:
    """The number of actions in a Gymnasium Discrete space."""
    return int(space.n)


def measure_gymnasium(identifier: str, seconds: float) -> float:
    """A single Gymnasium environment in the usual loop."""
    import gymnasium

    env = gymnasium.make(identifier)
    env.reset(seed=0)
    choices = number_of_actions(env.action_space)
    actions = np.random.default_rng(0).integers(choices, size=1000)

    def call() -> int:
        for action in actions:
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()
        return len(actions)

    return rate(call, seconds)


def measure_gymnasium_vector(identifier: str, batch: int, seconds: float) -> float:
    """A Gymnasium vector environment."""
    import gymnasium

    env = gymnasium.make_vec(identifier, num_envs=batch)
    env.reset(seed=0)
    choices = number_of_actions(env.single_action_space)
    actions = np.random.default_rng(0).integers(choices, size=(20, batch))

    def call() -> int:
        for action in actions:
            env.step(action)
        return actions.size

    return rate(call, seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=0.5, help="time per measurement")
    parser.add_argument("--json", type=Path, help="write the numbers here as well")
    parser.add_argument("--no-gymnasium", action="store_true", help="compiled batches only")
    arguments = parser.parse_args()

    device = jax.devices()[0]
    print(f"jax {jax.__version__} on {device.device_kind}, {platform.machine()}")
    columns = [f"batch {batch}" for batch in BATCH_SIZES]
    if not arguments.no_gymnasium:
        columns += ["gymnasium.make", "make_vec 1024"]
    print(f"{'million steps per second':26}" + "".join(f"{column:>16}" for column in columns))
    results: dict[str, dict[str, float]] = {}
    for name in PAPER_ENVIRONMENTS:
        environment = asmpg.make(name)
        rates = [measure_compiled(environment, size, arguments.seconds) for size in BATCH_SIZES]
        if not arguments.no_gymnasium:
            identifier = f"asmpg/{name}-v0"
            rates.append(measure_gymnasium(identifier, arguments.seconds))
            rates.append(measure_gymnasium_vector(identifier, 1024, arguments.seconds))
        results[name] = dict(zip(columns, rates, strict=True))
        print(f"{name:26}" + "".join(f"{value / 1e6:16.3f}" for value in rates), flush=True)
    if not arguments.no_gymnasium:
        single = measure_gymnasium("CartPole-v1", arguments.seconds)
        vector = measure_gymnasium_vector("CartPole-v1", 1024, arguments.seconds)
        results["CartPole-v1"] = {"gymnasium.make": single, "make_vec 1024": vector}
        blank = "".join(f"{'':16}" for _ in BATCH_SIZES)
        print(f"{'Gymnasium CartPole-v1':26}{blank}{single / 1e6:16.3f}{vector / 1e6:16.3f}")
        ours = results["VelocityOnlyCartPole"]
        print(
            f"VelocityOnlyCartPole over CartPole-v1: batch 1024 compiled "
            f"{ours['batch 1024'] / vector:.1f} times its make_vec, our make_vec "
            f"{ours['make_vec 1024'] / vector:.1f} times"
        )
    if arguments.json:
        provenance = {"jax": jax.__version__, "device": device.device_kind}
        text = json.dumps({"provenance": provenance, "steps_per_second": results}, indent=2)
        arguments.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
