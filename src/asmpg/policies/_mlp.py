"""The paper's networks."""

from collections.abc import Callable
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, Shaped

from asmpg.policies._memory import AgentMemory
from asmpg.policies._policy import ASMPolicy

Activation = Literal["relu", "tanh"]
_ACTIVATIONS: dict[Activation, Callable[[Array], Array]] = {"relu": jax.nn.relu, "tanh": jnp.tanh}


class MLPPolicy(ASMPolicy):
    """`nu` and `phi` as multilayer perceptrons with softmax outputs.

    `nu` takes one-hot `S_{t-1}` and `A_{t-1}` (both zero for the dummy pair) and `O_t` (one-hot, or
    real and divided by `observation_scale`) through hidden layers of widths `2d, 2d, d`; `phi`
    takes one-hot `S_t` through `d, d`. Weights and biases start uniform in `+-1/sqrt(fan_in)`.
    """

    nu_layers: tuple[eqx.nn.Linear, ...]
    phi_layers: tuple[eqx.nn.Linear, ...]
    activation: Activation = eqx.field(static=True)
    observation_scale: tuple[float, ...] = eqx.field(static=True)
    num_states: int = eqx.field(static=True)
    num_actions: int = eqx.field(static=True)
    num_observations: int | None = eqx.field(static=True)

    def __init__(
        self,
        *,
        num_states: int,
        num_actions: int,
        num_observations: int | None,
        observation_scale: tuple[float, ...] = (),
        hidden: int,
        activation: Activation = "tanh",
        key: Key[Array, ""],
    ):
        """`hidden` is the paper's `d_h`; `observation_scale` has a number per real component."""
        nu_key, phi_key = jax.random.split(key)
        observation_size = num_observations or len(observation_scale)
        nu_input = num_states + num_actions + observation_size
        nu_sizes = (nu_input, 2 * hidden, 2 * hidden, hidden, num_states)
        self.nu_layers = _layers(nu_key, nu_sizes)
        self.phi_layers = _layers(phi_key, (num_states, hidden, hidden, num_actions))
        self.activation = activation
        self.observation_scale = observation_scale
        self.num_states = num_states
        self.num_actions = num_actions
        self.num_observations = num_observations

    @property
    def factored(self) -> bool:
        """Yes."""
        return True

    def log_nu(
        self, memory: AgentMemory, observation: Shaped[Array, "*observation"]
    ) -> Float[Array, " S"]:
        """Softmax output of the state-update network."""
        real = self.nu_layers[0].weight.dtype
        past = jnp.where(memory.first, 0, 1).astype(real)
        parts = (
            past * jax.nn.one_hot(memory.state, self.num_states, dtype=real),
            past * jax.nn.one_hot(memory.action, self.num_actions, dtype=real),
            self._encode(observation),
        )
        return jax.nn.log_softmax(self._apply(self.nu_layers, jnp.concatenate(parts)))

    def log_phi(
        self, memory: AgentMemory, observation: Shaped[Array, "*observation"]
    ) -> Float[Array, "S A"]:
        """Softmax output of the policy network, for every agent state."""
        del memory, observation
        states = jnp.eye(self.num_states, dtype=self.phi_layers[0].weight.dtype)
        return jax.nn.log_softmax(jax.vmap(lambda s: self._apply(self.phi_layers, s))(states))

    def _encode(self, observation: Shaped[Array, "*observation"]) -> Float[Array, " n"]:
        real = self.nu_layers[0].weight.dtype
        if self.num_observations is not None:
            return jax.nn.one_hot(observation, self.num_observations, dtype=real)
        return observation.astype(real) / jnp.asarray(self.observation_scale, real)

    def _apply(self, layers: tuple[eqx.nn.Linear, ...], inputs: Array) -> Array:
        for layer in layers[:-1]:
            inputs = _ACTIVATIONS[self.activation](layer(inputs))
        return layers[-1](inputs)


def _layers(key: Key[Array, ""], sizes: tuple[int, ...]) -> tuple[eqx.nn.Linear, ...]:
    keys = jax.random.split(key, len(sizes) - 1)
    return tuple(
        eqx.nn.Linear(before, after, key=layer_key)
        for before, after, layer_key in zip(sizes[:-1], sizes[1:], keys, strict=True)
    )
