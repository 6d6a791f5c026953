"""Critics: the value of a history, used in training only."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key, Shaped

from asmpg.experience import Experience
from asmpg.methods.critics._value import MemoryValue, ReturnScale, rescale_output
from asmpg.policies import (
    ActionDistributions,
    Encoding,
    HistoryEncoder,
    Layers,
    MinGRUEncoder,
    Number,
    apply_layers,
    linear_layers,
    with_observations,
)


class Values(eqx.Module):
    """Values in units of the scale: of each history, and of what really came next.

    `memory` is what the critic itself remembers at the end.
    """

    now: Float[Array, "T N"]
    following: Float[Array, "T N"]
    memory: Float[Array, "N d"]


class Critic(eqx.Module):
    """Estimates the return to come, in units of a `ReturnScale`, by a network."""

    @abc.abstractmethod
    def start(self, num_environments: int) -> Float[Array, "N d"]:
        """What is remembered before anything was seen."""

    @abc.abstractmethod
    def values(
        self,
        memory: Float[Array, "N d"],
        experience: Experience,
        distributions: ActionDistributions,
    ) -> Values:
        """The values along the histories of `experience`."""

    @abc.abstractmethod
    def rescaled(self, before: ReturnScale, after: ReturnScale) -> "Critic":
        """The same values in units of another scale."""

    def having_seen(self, experience: Experience) -> "Critic":
        """With its running statistics of observations brought up to date."""
        return with_observations(self, experience.observations, experience.valid)


class HistoryCritic(Critic):
    """`V(o_1:t, a_1:t-1)`: a tanh layer on a recurrent memory, and on the policy's if wanted."""

    layers: eqx.AbstractVar[Layers]
    #: The length of what it reads of the policy's memory.
    memory_size: eqx.AbstractVar[int]

    @abc.abstractmethod
    def follow(
        self, memory: Float[Array, "N d"], experience: Experience
    ) -> tuple[Float[Array, "N d"], Float[Array, "T N n"], Float[Array, "T N n"]]:
        """Its memory at the end, the features of each history, and of what really came next."""

    def values(
        self,
        memory: Float[Array, "N d"],
        experience: Experience,
        distributions: ActionDistributions,
    ) -> Values:
        """Follow the histories; the value of what came next is a look one step ahead."""
        memory, now, ahead = self.follow(memory, experience)
        return Values(
            self._output(now, distributions.before),
            self._output(ahead, distributions.after),
            memory,
        )

    def rescaled(self, before: ReturnScale, after: ReturnScale) -> "HistoryCritic":
        layers = rescale_output(self.layers, before, after)
        return eqx.tree_at(lambda critic: critic.layers, self, layers)

    def _output(
        self, features: Float[Array, "*batch n"], remembered: Float[Array, "*batch m"]
    ) -> Float[Array, "*batch"]:
        remembered = jax.lax.stop_gradient(remembered[..., : self.memory_size])
        inputs = jnp.concatenate([features, remembered], axis=-1)
        return apply_layers(self.layers, inputs)[..., 0]


class RecurrentCritic(HistoryCritic):
    """With a gated recurrent unit."""

    encoder: HistoryEncoder
    layers: Layers
    memory_size: int = eqx.field(static=True)

    def __init__(
        self,
        *,
        width: int,
        memory_size: int,
        encoding: Encoding,
        key: Key[Array, ""],
        orthogonal: bool = False,
        keep_bias: Number = 0.0,
    ):
        """`width` is that of the recurrent memory and of the layer on top.

        `memory_size` is the length of the policy's memory, or 0 to do without it; `orthogonal` and
        `keep_bias` say how the `HistoryEncoder` starts.
        """
        encoder_key, layers_key = jax.random.split(key)
        self.encoder = HistoryEncoder(
            width=width,
            encoding=encoding,
            key=encoder_key,
            orthogonal=orthogonal,
            keep_bias=keep_bias,
        )
        self.layers = linear_layers(layers_key, width + memory_size, width, 1)
        self.memory_size = memory_size

    def start(self, num_environments: int) -> Float[Array, "N d"]:
        return jnp.zeros((num_environments, self.encoder.width))

    def follow(
        self, memory: Float[Array, "N d"], experience: Experience
    ) -> tuple[Float[Array, "N d"], Float[Array, "T N n"], Float[Array, "T N n"]]:
        past, never = experience.past, jnp.zeros_like(experience.ended)
        hidden = self.encoder.along(memory, experience.observations, past.action, past.first)
        ahead = self.encoder.step(hidden, experience.next_observations, experience.actions, never)
        return hidden[-1], hidden, ahead


class LinearCritic(HistoryCritic):
    """With minimal gated recurrent units: no loop over the steps, but a parallel scan."""

    encoder: MinGRUEncoder
    layers: Layers
    memory_size: int = eqx.field(static=True)

    def __init__(
        self,
        *,
        width: int,
        memory_size: int,
        encoding: Encoding,
        key: Key[Array, ""],
        keep_bias: Number = 0.0,
    ):
        """As `RecurrentCritic`; there are no recurrent weights that could be orthogonal."""
        encoder_key, layers_key = jax.random.split(key)
        self.encoder = MinGRUEncoder(
            width=width, encoding=encoding, key=encoder_key, keep_bias=keep_bias
        )
        self.layers = linear_layers(layers_key, width + memory_size, width, 1)
        self.memory_size = memory_size

    def start(self, num_environments: int) -> Float[Array, "N d"]:
        return jnp.zeros((num_environments, self.encoder.memory_size))

    def follow(
        self, memory: Float[Array, "N d"], experience: Experience
    ) -> tuple[Float[Array, "N d"], Float[Array, "T N n"], Float[Array, "T N n"]]:
        past, never = experience.past, jnp.zeros_like(experience.ended)
        hidden, now = self.encoder.along(memory, experience.observations, past.action, past.first)
        _, ahead = self.encoder.step(
            hidden, experience.next_observations, experience.actions, never
        )
        return hidden[-1], now, ahead


class MemoryCritic(Critic):
    """`V(c_{t-1}, a_{t-1}, o_t)`: reads the memory of the policy, and has none itself."""

    value: MemoryValue

    def start(self, num_environments: int) -> Float[Array, "N d"]:
        return jnp.zeros((num_environments, 0))

    def values(
        self,
        memory: Float[Array, "N d"],
        experience: Experience,
        distributions: ActionDistributions,
    ) -> Values:
        """Each from the memory of the policy at that step."""
        past = experience.past
        now = self.value(distributions.before, past.action, past.first, experience.observations)
        never = jnp.zeros_like(experience.ended)
        following = self.value(
            distributions.after, experience.actions, never, experience.next_observations
        )
        return Values(now, following, memory)

    def rescaled(self, before: ReturnScale, after: ReturnScale) -> "MemoryCritic":
        layers = rescale_output(self.value.layers, before, after)
        return MemoryCritic(eqx.tree_at(lambda value: value.layers, self.value, layers))


class LatentCritic(Critic):
    """`V(x_t, c_{t-1}, a_{t-1}, o_t)`: is shown the latent state `x_t` as well, in training only.

    `x_t` is known before `(S_t, A_t)` is drawn, so as a baseline it leaves the gradient unbiased.
    And as it says all that the past can say about what is to come, the value of the next step
    stands for later rewards without the error that a critic on memories makes wherever one memory
    may mean several latent states (Baisero and Amato, 2022; Lambrechts et al., 2025).
    """

    layers: Layers
    encoding: Encoding
    #: How latent states are shown: as observations are.
    latents: Encoding

    def __init__(
        self,
        *,
        width: int,
        memory_size: int,
        encoding: Encoding,
        latents: Encoding,
        key: Key[Array, ""],
    ):
        """Two tanh layers of width `width`; `memory_size` is that of the policy's memory."""
        size = encoding.action_size + encoding.observation_size + latents.observation_size
        self.layers = linear_layers(key, memory_size + size, width, width, 1)
        self.encoding = encoding
        self.latents = latents

    def start(self, num_environments: int) -> Float[Array, "N d"]:
        return jnp.zeros((num_environments, 0))

    def values(
        self,
        memory: Float[Array, "N d"],
        experience: Experience,
        distributions: ActionDistributions,
    ) -> Values:
        """Each from the latent state and the memory of the policy at that step."""
        past = experience.past
        assert experience.latents is not None
        assert experience.next_latents is not None
        now = self._value(
            experience.latents,
            distributions.before,
            past.action,
            past.first,
            experience.observations,
        )
        following = self._value(
            experience.next_latents,
            distributions.after,
            experience.actions,
            jnp.zeros_like(experience.ended),
            experience.next_observations,
        )
        return Values(now, following, memory)

    def rescaled(self, before: ReturnScale, after: ReturnScale) -> "LatentCritic":
        layers = rescale_output(self.layers, before, after)
        return eqx.tree_at(lambda critic: critic.layers, self, layers)

    def having_seen(self, experience: Experience) -> "LatentCritic":
        assert experience.latents is not None
        known = (
            with_observations(self.encoding, experience.observations, experience.valid),
            with_observations(self.latents, experience.latents, experience.valid),
        )
        return eqx.tree_at(lambda critic: (critic.encoding, critic.latents), self, known)

    def _value(
        self,
        latent: Shaped[Array, "T N *latent"],
        remembered: Float[Array, "T N m"],
        action: Shaped[Array, "T N *action"],
        first: Bool[Array, "T N"],
        observation: Shaped[Array, "T N *observation"],
    ) -> Float[Array, "T N"]:
        real = self.layers[0].weight.dtype
        done = self.encoding.action(action, real)
        past = jnp.concatenate([jax.lax.stop_gradient(remembered).astype(real), done], axis=-1)
        seen = self.encoding.observation(observation, real)
        shown = self.latents.observation(latent, real)
        past = jnp.where(first[..., None], 0, past)
        return apply_layers(self.layers, jnp.concatenate([past, seen, shown], axis=-1))[..., 0]
