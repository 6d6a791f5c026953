"""The paper's networks."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, Shaped

from asmpg.policies._encoding import Encoding
from asmpg.policies._layers import Activation, Layers, apply_layers, linear_layers, scale_last
from asmpg.policies._memory import AgentMemory
from asmpg.policies._network_policy import NetworkPolicy


class MLPPolicy(NetworkPolicy):
    """`nu` and `phi` as multilayer perceptrons with softmax outputs.

    `nu` takes one-hot `S_{t-1}` and `A_{t-1}` (both zero for the dummy pair) and `O_t` (one-hot, or
    real and divided by `observation_scale`) through hidden layers of widths `2d, 2d, d`; `phi`
    takes one-hot `S_t` through `d, d`. Weights and biases start uniform in `+-1/sqrt(fan_in)`.
    """

    nu_layers: Layers
    phi_layers: Layers
    activation: Activation = eqx.field(static=True)

    def __init__(
        self,
        *,
        num_states: int,
        num_actions: int,
        num_observations: int | None,
        observation_scale: tuple[float, ...] = (),
        hidden: int,
        activation: Activation = "tanh",
        nu_scale: float = 1.0,
        key: Key[Array, ""],
    ):
        """`hidden` is the paper's `d_h`; `observation_scale` has a number per real component.

        `nu_scale` multiplies the last weights of `nu`: a large one makes it start nearly
        deterministic, so that agent states carry something from the first episode on.
        """
        nu_key, phi_key = jax.random.split(key)
        encoding = Encoding(num_actions, num_observations, observation_scale)
        super().__init__(num_states, encoding)
        nu_input = num_states + num_actions + encoding.observation_size
        nu_sizes = (nu_input, 2 * hidden, 2 * hidden, hidden, num_states)
        self.nu_layers = scale_last(linear_layers(nu_key, *nu_sizes), nu_scale)
        self.phi_layers = linear_layers(phi_key, num_states, hidden, hidden, num_actions)
        self.activation = activation

    def log_nu(
        self, memory: AgentMemory, observation: Shaped[Array, "*observation"]
    ) -> Float[Array, " S"]:
        """Softmax output of the state-update network."""
        real = self.nu_layers[0].weight.dtype
        past = jnp.where(memory.first, 0, 1).astype(real)
        parts = (
            past * jax.nn.one_hot(memory.state, self.num_states, dtype=real),
            past * self.encoding.action(memory.action, real),
            self.encoding.observation(observation, real),
        )
        logits = apply_layers(self.nu_layers, jnp.concatenate(parts), self.activation)
        return jax.nn.log_softmax(logits)

    def log_phi(
        self, memory: AgentMemory, observation: Shaped[Array, "*observation"]
    ) -> Float[Array, "S A"]:
        """Softmax output of the policy network, for every agent state."""
        del memory, observation
        states = jnp.eye(self.num_states, dtype=self.phi_layers[0].weight.dtype)
        return jax.nn.log_softmax(apply_layers(self.phi_layers, states, self.activation))
