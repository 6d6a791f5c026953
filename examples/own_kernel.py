"""A memory of your own under ASM-PPO: agent states are kept, or overwritten by what is seen."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

import asmpg
from asmpg.environments import Discrete
from asmpg.interop import Interface
from asmpg.policies import AgentMemory, ASMPolicy


class Gated(ASMPolicy):
    """`nu(s' | s, a, o) = keep(s) [s' = s] + (1 - keep(s)) write(s' | o)`."""

    gate_logits: jax.Array
    write_logits: jax.Array
    phi_logits: jax.Array
    num_states: int = eqx.field(static=True)
    num_actions: int = eqx.field(static=True)
    num_observations: int | None = eqx.field(static=True)

    @property
    def factored(self) -> bool:
        return True

    def log_nu(self, memory: AgentMemory, observation: jax.Array) -> jax.Array:
        write = jax.nn.softmax(self.write_logits[observation])
        keep = jnp.where(memory.first, 0.0, jax.nn.sigmoid(self.gate_logits[memory.state]))
        return jnp.log(keep * jnp.eye(self.num_states)[memory.state] + (1 - keep) * write + 1e-8)

    def log_phi(self, memory: AgentMemory, observation: jax.Array) -> jax.Array:
        return jax.nn.log_softmax(self.phi_logits)


def gated(interface: Interface, num_states: int, key: Any) -> Gated:
    """Fresh kernels, as `policy=gated` makes them."""
    assert isinstance(interface.observation_space, Discrete)
    actions, symbols = interface.num_actions, interface.observation_space.n
    write_key, phi_key = jax.random.split(key)
    write = jax.random.normal(write_key, (symbols, num_states))
    phi = jax.random.normal(phi_key, (num_states, actions))
    return Gated(jnp.full(num_states, 2.0), write, phi, num_states, actions, symbols)


if __name__ == "__main__":
    task = asmpg.make("RepeatFirst", delay=10)
    agent = asmpg.ASMPPO(num_states=4, policy=gated).learn(task, steps=40_000)
    print(f"return {agent.result.rows[-1]['exact_undiscounted']:.2f}, without memory 0")
