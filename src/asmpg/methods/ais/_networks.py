"""The networks of AIS: history encoder, prediction heads, policy; and acting on them."""

import functools
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, Shaped

from asmpg._support.checks import check_integer, check_number, check_one_of
from asmpg.policies import (
    Activation,
    Actor,
    Categorical,
    Encoding,
    InitialWeights,
    Layers,
    activate,
    apply_layers,
    apply_linear,
    draw_action,
    linear_layer,
    linear_layers,
)

Variant = Literal["kl", "mmd"]
Start = Literal["normal", "zeros"]
#: Components of the Gaussian mixture that predicts real observations in the KL variant.
MIXTURE_COMPONENTS = 5


class LSTMState(eqx.Module):
    """The recurrent state: `hidden` is the information state `z`, `cell` is memory only."""

    hidden: Float[Array, "*batch d"]
    cell: Float[Array, "*batch d"]


class LSTM(eqx.Module):
    """One layer: `c' = sigma(f) c + sigma(i) tanh(g)`, `h' = sigma(o) tanh(c')`.

    Rows are in blocks, one for each of the gates `i, f, g, o`. The two biases add up (an optimiser
    moves their sum twice). Everything starts uniform in `+-1/sqrt(d)`.
    """

    input_weight: Float[Array, "gates n"]
    recurrent_weight: Float[Array, "gates d"]
    input_bias: Float[Array, " gates"]
    recurrent_bias: Float[Array, " gates"]

    def __init__(self, inputs: int, dimension: int, *, key: Key[Array, ""]):
        """`inputs` is the number of inputs."""
        shape, bound = (4 * dimension, inputs + dimension + 2), dimension**-0.5
        columns = jax.random.uniform(key, shape, minval=-bound, maxval=bound)
        self.input_weight, self.recurrent_weight = columns[:, :inputs], columns[:, inputs:-2]
        self.input_bias, self.recurrent_bias = columns[:, -2], columns[:, -1]

    def advance(self, state: LSTMState, drive: Float[Array, "*batch gates"]) -> LSTMState:
        """One step; `drive` is the part of the gates that does not depend on the state."""
        gates = drive + state.hidden @ self.recurrent_weight.T
        take, keep, candidate, show = jnp.split(gates, 4, axis=-1)
        cell = jax.nn.sigmoid(keep) * state.cell + jax.nn.sigmoid(take) * jnp.tanh(candidate)
        return LSTMState(jax.nn.sigmoid(show) * jnp.tanh(cell), cell)


class Encoder(eqx.Module):
    """An input layer with its activation (or none), then an LSTM."""

    input_layer: eqx.nn.Linear | None
    lstm: LSTM


class Heads(eqx.Module):
    """The reward head and the observation head, two layers each."""

    reward: Layers
    observation: Layers


class AISNetworks(eqx.Module):
    """The encoder `z_t = LSTM(o_t, a_{t-1}, r_{t-1})`, heads on `(z_t, a_t)`, policy on `z_t`.

    Hidden layers are tanh, or all ReLU. Widths are tied to the dimension `d` of `z` by default, as
    in the reference: `input_width = policy_width = d`, `head_width = max(1, floor(d / 2))`; 0
    leaves the input or policy layer out. Linear layers start uniform in `+-1/sqrt(fan_in)` unless
    told otherwise.

    Observations enter one-hot, or real and divided by `observation_scale`, and are predicted in
    that form. The methods take any batch of steps.
    """

    encoder: Encoder
    heads: Heads
    policy: Layers
    variant: Variant = eqx.field(static=True)
    start: Start = eqx.field(static=True)
    dimension: int = eqx.field(static=True)
    activation: Activation = eqx.field(static=True)
    encoding: Encoding

    def __init__(
        self,
        *,
        dimension: int,
        num_actions: int,
        num_observations: int | None,
        observation_scale: tuple[float, ...] = (),
        variant: Variant,
        start: Start = "normal",
        input_width: int | None = None,
        head_width: int | None = None,
        policy_width: int | None = None,
        activation: Activation = "tanh",
        initial_weights: InitialWeights = "uniform",
        key: Key[Array, ""],
    ):
        """`observation_scale` has a number per component where `num_observations` is `None`."""
        d = self.dimension = check_integer("dimension", dimension, low=1)
        check_integer("num_actions", num_actions, low=1)
        scale = tuple(
            check_number("observation_scale", part, low=1e-6) for part in observation_scale
        )
        self.encoding = Encoding(num_actions, num_observations, scale)
        real = num_observations is None and len(scale) > 0
        size = len(scale) if real else num_observations
        size = check_integer("num_observations", size, low=1)
        check_one_of("variant", variant, ("kl", "mmd"))
        check_one_of("start", start, ("normal", "zeros"))
        self.variant, self.start, self.activation = variant, start, activation
        keys = jax.random.split(key, 5)
        inputs = size + num_actions + 1
        width = d if input_width is None else check_integer("input_width", input_width, low=0)
        layers = functools.partial(linear_layers, initial_weights=initial_weights)
        input_layer = None
        if width:
            input_layer = linear_layer(keys[0], inputs, width, initial_weights=initial_weights)
        self.encoder = Encoder(input_layer, LSTM(width or inputs, d, key=keys[1]))
        outputs = MIXTURE_COMPONENTS * (1 + 2 * size) if real and variant == "kl" else size
        head_width = max(1, d // 2) if head_width is None else head_width
        width = check_integer("head_width", head_width, low=1)
        self.heads = Heads(
            layers(keys[2], d + num_actions, width, 1),
            layers(keys[3], d + num_actions, width, outputs),
        )
        width = d if policy_width is None else check_integer("policy_width", policy_width, low=0)
        widths = [width] if width else []
        self.policy = layers(keys[4], d, *widths, num_actions)

    def start_state(self, key: Key[Array, ""], batch: tuple[int, ...] = ()) -> LSTMState:
        """The recurrent state an episode starts from: fresh standard normal noise, or zeros."""
        shape = (2, *batch, self.dimension)
        both = jax.random.normal(key, shape) if self.start == "normal" else jnp.zeros(shape)
        return LSTMState(both[0], both[1])

    def encode_step(
        self,
        state: LSTMState,
        observation: Shaped[Array, "*batch_and_observation"],
        previous_action: Int[Array, "*batch"],
        previous_reward: Float[Array, "*batch"],
        first: Bool[Array, "*batch"],
    ) -> LSTMState:
        """Take in `o_t`; `z_t` is the `hidden` of what comes back.

        Where `first`, the previous action and reward are ignored, and `state` is a start state.
        """
        drive = self.drive(observation, previous_action, previous_reward, first)
        return self.encoder.lstm.advance(state, drive)

    def drive(
        self,
        observation: Shaped[Array, "*batch_and_observation"],
        previous_action: Int[Array, "*batch"],
        previous_reward: Float[Array, "*batch"],
        first: Bool[Array, "*batch"],
    ) -> Float[Array, "*batch gates"]:
        """What the inputs of a step add to the gates: `W tanh(V (e(o), e(a), r) + v) + w`."""
        seen = self.encode_observation(observation)
        action = self.encoding.action(previous_action, seen.dtype)
        past = jnp.concatenate([action, previous_reward[..., None].astype(seen.dtype)], axis=-1)
        inputs = jnp.concatenate([seen, jnp.where(first[..., None], 0, past)], axis=-1)
        if self.encoder.input_layer is not None:
            inputs = activate(self.activation, apply_linear(self.encoder.input_layer, inputs))
        lstm = self.encoder.lstm
        return inputs @ lstm.input_weight.T + (lstm.input_bias + lstm.recurrent_bias)

    def encode_observation(
        self, observation: Shaped[Array, "*batch_and_observation"]
    ) -> Float[Array, "*batch n"]:
        """One-hot, or scaled: the encoder's input and the heads' target."""
        return self.encoding.observation(observation, self.encoder.lstm.input_weight.dtype)

    def predict(
        self, z: Float[Array, "*batch d"], action: Int[Array, "*batch"]
    ) -> tuple[Float[Array, "*batch"], Float[Array, "*batch outputs"]]:
        """The reward of `action` in `z`, and the observation head's output for what follows."""
        inputs = jnp.concatenate([z, self.encoding.action(action, z.dtype)], axis=-1)
        reward = apply_layers(self.heads.reward, inputs, self.activation)[..., 0]
        return reward, apply_layers(self.heads.observation, inputs, self.activation)

    def log_policy(self, z: Float[Array, "*batch d"]) -> Float[Array, "*batch A"]:
        """`log pi(a | z)` for every action."""
        return jax.nn.log_softmax(apply_layers(self.policy, z, self.activation))


class AISMemory(eqx.Module):
    """The recurrent state, that which the episode started from, the last action, and the time."""

    recurrent: LSTMState
    start: LSTMState
    action: Int[Array, "*batch"]
    time: Int[Array, "*batch"]


class AISActor(Actor[AISMemory]):
    """Encodes `(o_t, a_{t-1}, r_{t-1})`, then draws `a_t` from the policy on `z_t`."""

    networks: AISNetworks
    greedy: bool = eqx.field(static=True, default=False)

    @property
    def head(self) -> Categorical:
        return Categorical(self.networks.encoding.num_actions)

    def start(self, key: Key[Array, ""]) -> AISMemory:
        """A start state of the encoder: fresh noise or zeros."""
        recurrent, zero = self.networks.start_state(key), jnp.zeros((), jnp.int32)
        return AISMemory(recurrent, recurrent, zero, zero)

    def act(
        self,
        memory: AISMemory,
        observation: Shaped[Array, "*observation"],
        reward: Float[Array, ""],
        uniforms: Float[Array, " draws"],
        mask: Bool[Array, " M"] | None = None,
    ) -> AISMemory:
        """One step of the encoder and one draw."""
        recurrent = self.networks.encode_step(
            memory.recurrent, observation, memory.action, reward, memory.time == 0
        )
        log_policy = self.networks.log_policy(recurrent.hidden)
        action = draw_action(self.head, log_policy, uniforms, mask, greedy=self.greedy)
        return AISMemory(recurrent, memory.start, action, memory.time + 1)
