"""The distributions over actions: one of several, several parts, a real vector."""

import dataclasses
import math

import jax
import jax.numpy as jnp
from jax.scipy.special import ndtri
from jaxtyping import Array, Bool, Float, Int, Key

from asmpg.environments import ActionSpace, Box, Discrete, MultiDiscrete
from asmpg.policies._action_head import ActionHead, draw, picked, split_parts

#: Up to so many combinations of parts are one action each, with a probability of its own.
MOST_COMBINATIONS = 64
#: Logit of what a mask forbids: its probability is exactly zero, its logarithm finite. What is
#: allowed is more probable than that, even where a policy would never do it.
_FORBIDDEN, _ALLOWED = -1e9, -1e6
#: Between these the logarithms of scales of real actions stay.
_LOG_SCALES = (-5.0, 1.0)
#: The largest `tanh` that is undone.
_EDGE = 1 - 1e-6


@dataclasses.dataclass(frozen=True)
class Categorical(ActionHead):
    """One of `n` actions: `n` logits.

    Where actions have several `parts`, each combination of them is one of the `n`.
    """

    n: int
    parts: tuple[int, ...] = ()

    @property
    def space(self) -> Discrete | MultiDiscrete:
        return MultiDiscrete(self.parts) if self.parts else Discrete(self.n)

    @property
    def size(self) -> int:
        return self.n

    @property
    def code_size(self) -> int:
        return self.n

    @property
    def draws(self) -> int:
        return 1

    @property
    def mask_size(self) -> int:
        """A truth value for each action, or for each value of each part."""
        return sum(self.parts) if self.parts else self.n

    def blank(self, batch: tuple[int, ...] = ()) -> Int[Array, "*batch"]:
        return jnp.zeros(batch, jnp.int32)

    def encode(self, action: Int[Array, "*batch"], dtype: jnp.dtype) -> Float[Array, "*batch n"]:
        """One-hot."""
        return jax.nn.one_hot(action, self.n, dtype=dtype)

    def normalise(self, numbers: Float[Array, "*batch P"]) -> Float[Array, "*batch P"]:
        """Logarithms of probabilities."""
        return jax.nn.log_softmax(numbers)

    def masked(
        self, numbers: Float[Array, "*batch P"], mask: Bool[Array, "*batch M"]
    ) -> Float[Array, "*batch P"]:
        return jax.nn.log_softmax(_with_mask(numbers, self.allowed(mask)))

    def allowed(self, mask: Bool[Array, "*batch M"]) -> Bool[Array, "*batch n"]:
        """For each action: a combination is allowed if all of its parts are."""
        if not self.parts:
            return mask
        allowed = jnp.ones((*mask.shape[:-1], 1), bool)
        for part in split_parts(mask, self.parts):
            allowed = (allowed[..., None] & part[..., None, :]).reshape(*mask.shape[:-1], -1)
        return allowed

    def log_probability(
        self, numbers: Float[Array, "*batch P"], action: Int[Array, "*batch"]
    ) -> Float[Array, "*batch"]:
        return picked(numbers, action)

    def entropy(self, numbers: Float[Array, "*batch P"]) -> Float[Array, "*batch"]:
        return -jnp.sum(jnp.exp(numbers) * numbers, axis=-1)

    def log_barrier(self, numbers: Float[Array, "*batch P"]) -> Float[Array, "*batch"]:
        return numbers.mean(axis=-1)

    def draw(
        self, numbers: Float[Array, " P"], uniforms: Float[Array, " n"], *, greedy: bool
    ) -> Int[Array, ""]:
        return draw(jnp.exp(numbers), uniforms[0], greedy=greedy)

    def draw_from_mixture(
        self,
        weights: Float[Array, " S"],
        numbers: Float[Array, "S P"],
        uniforms: Float[Array, " n"],
        *,
        greedy: bool,
    ) -> Int[Array, ""]:
        """From the mixture itself: no component is drawn."""
        return draw(weights @ jnp.exp(numbers), uniforms[1], greedy=greedy)

    @property
    def writes(self) -> bool:
        return bool(self.parts)

    def play(self, action: Int[Array, "*batch"]) -> Int[Array, "*batch_and_parts"]:
        """The parts of a combination, which are numbered in row-major order."""
        if not self.parts:
            return action
        return jnp.stack(jnp.unravel_index(action, self.parts), axis=-1).astype(jnp.int32)

    def unplay(self, played: Int[Array, "*batch_and_parts"]) -> Int[Array, "*batch"]:
        if not self.parts:
            return played
        parts = tuple(jnp.moveaxis(played, -1, 0))
        return jnp.ravel_multi_index(parts, self.parts, mode="clip").astype(jnp.int32)

    def start(
        self, key: Key[Array, ""], shape: tuple[int, ...], scale: float | Float[Array, ""]
    ) -> Float[Array, "*shape P"]:
        return scale * jax.random.normal(key, (*shape, self.n))


@dataclasses.dataclass(frozen=True)
class Product(ActionHead):
    """Several parts, independent given the agent state: logits for each, one after another."""

    parts: tuple[int, ...]

    @property
    def space(self) -> MultiDiscrete:
        return MultiDiscrete(self.parts)

    @property
    def size(self) -> int:
        return sum(self.parts)

    @property
    def code_size(self) -> int:
        return sum(self.parts)

    @property
    def draws(self) -> int:
        return len(self.parts)

    @property
    def mask_size(self) -> int:
        """A truth value for each value of each part."""
        return sum(self.parts)

    def blank(self, batch: tuple[int, ...] = ()) -> Int[Array, "*batch d"]:
        return jnp.zeros((*batch, len(self.parts)), jnp.int32)

    def encode(self, action: Int[Array, "*batch d"], dtype: jnp.dtype) -> Float[Array, "*batch n"]:
        """One-hot, each part."""
        codes = [
            jax.nn.one_hot(action[..., i], size, dtype=dtype) for i, size in enumerate(self.parts)
        ]
        return jnp.concatenate(codes, axis=-1)

    def normalise(self, numbers: Float[Array, "*batch P"]) -> Float[Array, "*batch P"]:
        """Logarithms of probabilities, each part."""
        parts = [jax.nn.log_softmax(part) for part in split_parts(numbers, self.parts)]
        return jnp.concatenate(parts, axis=-1)

    def masked(
        self, numbers: Float[Array, "*batch P"], mask: Bool[Array, "*batch M"]
    ) -> Float[Array, "*batch P"]:
        return self.normalise(_with_mask(numbers, mask))

    def log_probability(
        self, numbers: Float[Array, "*batch P"], action: Int[Array, "*batch d"]
    ) -> Float[Array, "*batch"]:
        first = jnp.cumsum(jnp.asarray((0, *self.parts[:-1]), jnp.int32))
        return jnp.take_along_axis(numbers, action + first, axis=-1).sum(axis=-1)

    def entropy(self, numbers: Float[Array, "*batch P"]) -> Float[Array, "*batch"]:
        return -jnp.sum(jnp.exp(numbers) * numbers, axis=-1)

    def log_barrier(self, numbers: Float[Array, "*batch P"]) -> Float[Array, "*batch"]:
        return numbers.mean(axis=-1)

    def draw(
        self, numbers: Float[Array, " P"], uniforms: Float[Array, " n"], *, greedy: bool
    ) -> Int[Array, " d"]:
        parts = split_parts(jnp.exp(numbers), self.parts)
        chosen = [draw(part, uniforms[i], greedy=greedy) for i, part in enumerate(parts)]
        return jnp.stack(chosen)

    def start(
        self, key: Key[Array, ""], shape: tuple[int, ...], scale: float | Float[Array, ""]
    ) -> Float[Array, "*shape P"]:
        return scale * jax.random.normal(key, (*shape, self.size))


@dataclasses.dataclass(frozen=True)
class Gaussian(ActionHead):
    """A real vector: a mean and the logarithm of a scale for each component.

    In units in which the bounds are -1 and 1. What the environment is given is clipped to them, or,
    if `squash`, is `tanh` of what was drawn, and densities are those of that.
    """

    low: tuple[float, ...]
    high: tuple[float, ...]
    squash: bool = False

    @property
    def space(self) -> Box:
        return Box(self.low, self.high)

    @property
    def size(self) -> int:
        return 2 * len(self.low)

    @property
    def code_size(self) -> int:
        return len(self.low)

    @property
    def draws(self) -> int:
        return len(self.low)

    def blank(self, batch: tuple[int, ...] = ()) -> Float[Array, "*batch d"]:
        return jnp.zeros((*batch, len(self.low)), jnp.float32)

    def encode(
        self, action: Float[Array, "*batch d"], dtype: jnp.dtype
    ) -> Float[Array, "*batch d"]:
        """Within the bounds, in units of them."""
        return self._within(action).astype(dtype)

    def normalise(self, numbers: Float[Array, "*batch P"]) -> Float[Array, "*batch P"]:
        """Scales stay within bounds of their own."""
        mean, log_scale = jnp.split(numbers, 2, axis=-1)
        return jnp.concatenate([mean, jnp.clip(log_scale, *_LOG_SCALES)], axis=-1)

    def masked(
        self, numbers: Float[Array, "*batch P"], mask: Bool[Array, "*batch M"]
    ) -> Float[Array, "*batch P"]:
        raise ValueError("real actions cannot be masked")

    def log_probability(
        self, numbers: Float[Array, "*batch P"], action: Float[Array, "*batch d"]
    ) -> Float[Array, "*batch"]:
        mean, log_scale = jnp.split(numbers, 2, axis=-1)
        distance = (action - mean) * jnp.exp(-log_scale)
        log_density = -0.5 * distance**2 - log_scale - 0.5 * math.log(2 * math.pi)
        if self.squash:
            # log (1 - tanh(u)^2), without rounding to zero where tanh(u) is all but 1.
            log_density -= 2 * (math.log(2) - action - jax.nn.softplus(-2 * action))
            log_density -= jnp.log(self._half_range)
        return log_density.sum(axis=-1)

    def entropy(self, numbers: Float[Array, "*batch P"]) -> Float[Array, "*batch"]:
        _, log_scale = jnp.split(numbers, 2, axis=-1)
        return jnp.sum(log_scale + 0.5 * math.log(2 * math.pi * math.e), axis=-1)

    def log_barrier(self, numbers: Float[Array, "*batch P"]) -> Float[Array, "*batch"]:
        """The mean logarithm of the scales: every action has some density."""
        _, log_scale = jnp.split(numbers, 2, axis=-1)
        return log_scale.mean(axis=-1)

    def draw(
        self, numbers: Float[Array, " P"], uniforms: Float[Array, " n"], *, greedy: bool
    ) -> Float[Array, " d"]:
        mean, log_scale = jnp.split(numbers, 2, axis=-1)
        if greedy:
            return mean
        edge = 2.0**-24
        return mean + jnp.exp(log_scale) * ndtri(jnp.clip(uniforms, edge, 1 - edge))

    def draw_from_mixture(
        self,
        weights: Float[Array, " S"],
        numbers: Float[Array, "S P"],
        uniforms: Float[Array, " n"],
        *,
        greedy: bool,
    ) -> Float[Array, " d"]:
        """Greedily, the mean of the mixture: its mode has no formula."""
        if greedy:
            return self.draw(weights @ numbers, uniforms[1:], greedy=True)
        return super().draw_from_mixture(weights, numbers, uniforms, greedy=False)

    @property
    def writes(self) -> bool:
        return True

    def play(self, action: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
        """Within the bounds, in the units of the environment."""
        middle = (jnp.asarray(self.low) + jnp.asarray(self.high)) / 2
        return middle + self._half_range * self._within(action)

    def unplay(self, played: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
        """Within the bounds, and if `squash` a little away from them, where `tanh` never is."""
        middle = (jnp.asarray(self.low) + jnp.asarray(self.high)) / 2
        scaled = (played - middle) / self._half_range
        return jnp.arctanh(jnp.clip(scaled, -_EDGE, _EDGE)) if self.squash else scaled

    def start(
        self, key: Key[Array, ""], shape: tuple[int, ...], scale: float | Float[Array, ""]
    ) -> Float[Array, "*shape P"]:
        """Means about the middle, scales of half the way to the bounds."""
        mean = 0.5 * scale * jax.random.normal(key, (*shape, len(self.low)))
        return jnp.concatenate([mean, jnp.full_like(mean, math.log(0.5))], axis=-1)

    @property
    def _half_range(self) -> Float[Array, " d"]:
        return (jnp.asarray(self.high) - jnp.asarray(self.low)) / 2

    def _within(self, action: Float[Array, "*batch d"]) -> Float[Array, "*batch d"]:
        return jnp.tanh(action) if self.squash else jnp.clip(action, -1, 1)


def head_of(space: ActionSpace) -> ActionHead:
    """Distributions over the actions of an environment."""
    match space:
        case Discrete():
            return Categorical(space.n)
        case Box():
            return Gaussian(space.low, space.high)
        case _:
            combinations = math.prod(space.sizes)
            if combinations <= MOST_COMBINATIONS:
                return Categorical(combinations, space.sizes)
            return Product(space.sizes)


def _with_mask(
    numbers: Float[Array, "*batch n"], allowed: Bool[Array, "*batch n"]
) -> Float[Array, "*batch n"]:
    return jnp.where(allowed, jnp.maximum(numbers, _ALLOWED), _FORBIDDEN)
