"""A memory of your own under ASM-PPO: agent states that are usually kept, whatever is seen.

python examples/own_kernel.py
"""

import argparse
from typing import Any

import jax
import jax.numpy as jnp

import asmpg
from asmpg.interop import Interface
from asmpg.policies import AgentMemory, TabularPolicy


class Sticky(TabularPolicy):
    """`nu(s' | s, a, o) = 0.9 [s' = s] + 0.1 write(s' | s, a, o)`, with `write` from a table."""

    def __init__(self, **sizes: Any):
        super().__init__(**sizes)

    def log_nu(self, memory: AgentMemory, observation: jax.Array) -> jax.Array:
        write = jnp.exp(super().log_nu(memory, observation))
        keep = jnp.where(memory.first, 0.0, 0.9)
        return jnp.log(keep * jnp.eye(self.num_states)[memory.state] + (1 - keep) * write)


def sticky(interface: Interface, num_states: int, key: jax.Array) -> Sticky:
    """Fresh kernels: what `policy=sticky` calls."""
    actions, symbols = interface.num_actions, interface.num_observations
    assert symbols is not None, "tables need finite observations"
    return Sticky(num_states=num_states, num_actions=actions, num_observations=symbols, key=key)


def main(arguments: list[str] | None = None) -> None:
    """Remember a bit for ten steps."""
    parser = argparse.ArgumentParser(description="ASM-PPO with a memory kernel of our own.")
    parser.add_argument("--steps", type=int, default=30_000)
    steps = parser.parse_args(arguments).steps
    task = asmpg.make("RepeatFirst", delay=10)
    agent = asmpg.ASMPPO(num_states=4, policy=sticky).learn(task, steps=steps)
    assert agent.result is not None
    found = agent.result.rows[-1]["exact_undiscounted"]
    print(f"Return {found:.2f}; without memory it is 0")


if __name__ == "__main__":
    main()
