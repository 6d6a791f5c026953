"""Kernels made by networks: the paper's, and one that makes a matrix of each observation."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, Shaped

from asmpg.policies._action_head import picked
from asmpg.policies._input_codes import InputCodes, Inputs
from asmpg.policies._kernel_tables import AgentMemory
from asmpg.policies._networks import (
    Activation,
    Encoding,
    InitialWeights,
    Layers,
    Number,
    apply_layers,
    linear_layers,
    scale_last,
)
from asmpg.policies._policy import NetworkPolicy


class MLPPolicy(NetworkPolicy):
    """`nu` and `phi` as multilayer perceptrons with softmax outputs.

    `nu` takes one-hot `S_{t-1}` and `A_{t-1}` (both zero for the dummy pair) and `O_t` (one-hot, or
    real and divided by `observation_scale`) through hidden layers of widths `2d, 2d, d`; `phi`
    takes one-hot `S_t` through `d, d`. With `codes`, what is one of a few becomes other numbers
    than one-hot. Weights and biases start uniform in `+-1/sqrt(fan_in)` unless told otherwise.
    """

    nu_layers: Layers
    phi_layers: Layers
    #: Added to the logits of the network, by the agent state before; `None` as in the paper.
    nu_logits: Float[Array, "S S"] | None
    codes: InputCodes | None
    activation: Activation = eqx.field(static=True)

    def __init__(
        self,
        *,
        num_states: int,
        encoding: Encoding,
        hidden: int,
        activation: Activation = "tanh",
        initial_weights: InitialWeights = "uniform",
        inputs: Inputs = "one-hot",
        nu_scale: Number = 1.0,
        bias: Float[Array, "S S"] | None = None,
        key: Key[Array, ""],
    ):
        """`hidden` is the paper's `d_h`; embeddings have as many numbers.

        `nu_scale` multiplies the last weights of `nu`: a large one makes it start nearly
        deterministic, so that agent states carry something from the first episode on. `bias[s, s']`
        is added to the logits of going from `s` to `s'`, and learned from there.
        """
        super().__init__(num_states, encoding)
        if inputs == "one-hot":
            nu_key, phi_key = jax.random.split(key)
            codes, parts = None, (num_states, encoding.action_size, encoding.observation_size)
        else:
            nu_key, phi_key, code_key = jax.random.split(key, 3)
            codes = InputCodes.fresh(
                inputs, num_states=num_states, encoding=encoding, width=hidden, key=code_key
            )
            parts = (
                codes.previous_state.size,
                codes.action.size if codes.action else encoding.action_size,
                codes.observation.size if codes.observation else encoding.observation_size,
            )
        self.codes = codes
        nu_sizes = (sum(parts), 2 * hidden, 2 * hidden, hidden, num_states)
        nu_layers = linear_layers(nu_key, *nu_sizes, initial_weights=initial_weights)
        self.nu_layers = scale_last(nu_layers, nu_scale)
        phi_sizes = (codes.state.size if codes else num_states, hidden, hidden, encoding.head.size)
        self.phi_layers = linear_layers(phi_key, *phi_sizes, initial_weights=initial_weights)
        self.nu_logits = bias
        self.activation = activation

    def log_nu(
        self, memory: AgentMemory, observation: Shaped[Array, "*observation"]
    ) -> Float[Array, " S"]:
        """Softmax output of the state-update network."""
        real = self.nu_layers[0].weight.dtype
        past = jnp.where(memory.first, 0, 1).astype(real)
        codes = self.codes
        state = (
            codes.previous_state(memory.state, real)
            if codes
            else jax.nn.one_hot(memory.state, self.num_states, dtype=real)
        )
        own_action = codes.action if codes else None
        own_observation = codes.observation if codes else None
        parts = (
            past * state,
            past * (own_action or self.encoding.action)(memory.action, real),
            (own_observation or self.encoding.observation)(observation, real),
        )
        logits = apply_layers(self.nu_layers, jnp.concatenate(parts), self.activation)
        if self.nu_logits is not None:
            logits = logits + past * self.nu_logits[memory.state]
        return jax.nn.log_softmax(logits)

    def log_phi(
        self, memory: AgentMemory, observation: Shaped[Array, "*observation"]
    ) -> Float[Array, "S A"]:
        """Softmax output of the policy network, for every agent state."""
        del memory, observation
        real = self.phi_layers[0].weight.dtype
        states = self.codes.state.rows(real) if self.codes else jnp.eye(self.num_states, dtype=real)
        return self.head.normalise(apply_layers(self.phi_layers, states, self.activation))

    @property
    def one_hot_layers(self) -> Layers:
        """`nu_layers` as they would be with one-hot inputs: a code is a product with these."""
        if self.codes is None:
            return self.nu_layers
        first, *later = self.nu_layers
        codes = (self.codes.previous_state, self.codes.action, self.codes.observation)
        columns, begin = [], 0
        sizes = (self.num_states, self.encoding.action_size, self.encoding.observation_size)
        for code, size in zip(codes, sizes, strict=True):
            own = first.weight[:, begin : begin + (code.size if code else size)]
            columns.append(own @ code.rows(own.dtype).T if code else own)
            begin += own.shape[1]
        weight = jnp.concatenate(columns, axis=1)
        plain = eqx.nn.Linear(weight.shape[1], weight.shape[0], key=jax.random.key(0))
        own = eqx.tree_at(lambda layer: (layer.weight, layer.bias), plain, (weight, first.bias))
        return (own, *later)


#: By how much the last weights of the network are larger than its other layers' at the start.
_NETWORK_SCALE = 4.0


class MatrixPolicy(NetworkPolicy):
    """`nu(. | s, a, o)` is row `(s, a)` of logits that a tanh network makes of `o`; `phi` a table.

    Where actions are not one of a few, it is row `s` of logits made of `o` and `a`.

    `logits(o) = table + network(o)`: the table, normal with standard deviation `nu_scale`, says
    what an agent state does whatever is seen, and makes `nu` remember from the first episode on;
    the last weights of the network start `4 nu_scale` times as large as is usual. The dummy pair
    has a row of its own. The network is asked once for all agent states, so filtering costs no
    more than sampling.
    """

    nu_layers: Layers
    nu_logits: Float[Array, "rows S"]
    phi_logits: Float[Array, "S A"]

    def __init__(
        self,
        *,
        num_states: int,
        encoding: Encoding,
        hidden: int = 64,
        nu_scale: Number = 1.0,
        phi_scale: Number = 1.0,
        bias: Float[Array, "S S"] | None = None,
        key: Key[Array, ""],
    ):
        """The network has two hidden layers of width `hidden`.

        `bias[s, s']` is added to the logits of going from `s` to `s'`.
        """
        network_key, nu_key, phi_key = jax.random.split(key, 3)
        super().__init__(num_states, encoding)
        rows = 1 + num_states * self._actions_apart
        inputs = encoding.observation_size + (0 if self.num_actions else encoding.action_size)
        sizes = (inputs, hidden, hidden, rows * num_states)
        layers = linear_layers(network_key, *sizes)
        self.nu_layers = scale_last(layers, _NETWORK_SCALE * nu_scale)
        self.nu_logits = nu_scale * jax.random.normal(nu_key, (rows, num_states))
        if bias is not None:
            bias = jnp.repeat(bias, self._actions_apart, axis=0)
            self.nu_logits = self.nu_logits.at[1:].add(bias)
        self.phi_logits = encoding.head.start(phi_key, (num_states,), phi_scale)

    @property
    def _actions_apart(self) -> int:
        """For how many actions there are rows of their own."""
        return self.num_actions or 1

    def log_nu(
        self, memory: AgentMemory, observation: Shaped[Array, "*observation"]
    ) -> Float[Array, " S"]:
        """Softmax over one row."""
        action = memory.action if self.num_actions else 0
        row = jnp.where(memory.first, 0, 1 + memory.state * self._actions_apart + action)
        return jax.nn.log_softmax(self._logits(memory, observation)[row])

    def log_phi(
        self, memory: AgentMemory, observation: Shaped[Array, "*observation"]
    ) -> Float[Array, "S A"]:
        """Softmax over the actions."""
        del memory, observation
        return self.head.normalise(self.phi_logits)

    def log_updates(
        self, past: AgentMemory, observation: Shaped[Array, "*batch_and_observation"]
    ) -> Float[Array, "*batch S S"]:
        """Softmax over all rows of one action, from a single pass through the network."""
        logits = self._logits(past, observation)
        start, rows = logits[..., :1, :], logits[..., 1:, :]
        if self.num_actions:
            shape = (*rows.shape[:-2], self.num_states, self.num_actions, self.num_states)
            rows = jnp.moveaxis(rows.reshape(shape), -2, -1)
            rows = picked(rows, jnp.broadcast_to(past.action[..., None, None], rows.shape[:-1]))
        return jax.nn.log_softmax(jnp.where(past.first[..., None, None], start, rows))

    def _logits(
        self, past: AgentMemory, observation: Shaped[Array, "*batch_and_observation"]
    ) -> Float[Array, "*batch rows S"]:
        inputs = self.encoding.observation(observation, self.nu_logits.dtype)
        if not self.num_actions:
            done = self.encoding.action(past.action, inputs.dtype)
            done = jnp.where(past.first[..., None], 0, done)
            inputs = jnp.concatenate([inputs, done], axis=-1)
        flat = apply_layers(self.nu_layers, inputs)
        return self.nu_logits + flat.reshape(*flat.shape[:-1], *self.nu_logits.shape)
