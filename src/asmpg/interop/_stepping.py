"""The contract of what steps environments on the host."""

import abc
import dataclasses
from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Shaped

from asmpg.environments import Discrete
from asmpg.interop._interface import Interface
from asmpg.interop._writers import mask_size


@dataclasses.dataclass(frozen=True)
class HostStart:
    """The first observations of episodes, what may be played, and the latent states if asked for.

    `masks` are `None` where the environment does not say what may be played.
    """

    observations: Shaped[np.ndarray, "n *observation"]
    masks: Bool[np.ndarray, "n M"] | None = None
    latents: Float[np.ndarray, "n L"] | None = None


@dataclasses.dataclass(frozen=True)
class HostStep:
    """What one step of all copies led to.

    Where `played` is false, the copy was only reset and its action ignored: nothing of that step
    may be learned from. `seen` is what really came next, the last observation of the episode where
    it ended; `observations` are what is to be acted upon next, the first ones of an episode where
    it `started`.
    """

    played: Bool[np.ndarray, " n"]
    seen: Shaped[np.ndarray, "n *observation"]
    rewards: Float[np.ndarray, " n"]
    terminated: Bool[np.ndarray, " n"]
    ended: Bool[np.ndarray, " n"]
    observations: Shaped[np.ndarray, "n *observation"]
    started: Bool[np.ndarray, " n"]
    #: What may be played next, where the environment says so.
    masks: Bool[np.ndarray, "n M"] | None = None
    #: Latent states, where asked for: those that come with `seen`, and with `observations`.
    seen_latents: Float[np.ndarray, "n L"] | None = None
    latents: Float[np.ndarray, "n L"] | None = None


class HostDriver(abc.ABC):
    """Resets and steps `copies` environments together.

    Observations are read, actions written by the driver. Whatever the environment raises, and
    numbers that are not finite, become a `TrainingError`.
    """

    name: str
    copies: int

    @abc.abstractmethod
    def reset(self, seeds: Sequence[int] | None = None) -> HostStart:
        """Start an episode in every copy; with `seeds`, all that follows depends on them alone."""

    @abc.abstractmethod
    def step(self, actions: Shaped[np.ndarray, "n *action"]) -> HostStep:
        """Play one action in each copy."""

    @abc.abstractmethod
    def close(self) -> None:
        """Close the environments."""


class BlankDriver(HostDriver):
    """Environments where nothing is seen, nothing is paid, and every episode ends at once."""

    def __init__(self, interface: Interface, copies: int, *, latent: str | None = None):
        """They look like those of `interface`; `latent` names the latent states, if wanted."""
        self.name = interface.name
        self.copies = copies
        space = interface.observation_space
        kind = np.int32 if isinstance(space, Discrete) else np.float32
        self._blank = np.zeros((copies, *space.shape), kind)
        self._masks = None
        if interface.masked:
            self._masks = np.ones((copies, mask_size(interface.action_space)), bool)

        self._latents = None
        if latent is not None:
            shape = (copies, *interface.latent_space(latent).shape)
            self._latents = np.zeros(shape, np.float32)

    def reset(self, seeds: Sequence[int] | None = None) -> HostStart:
        return HostStart(self._blank, self._masks, self._latents)

    def step(self, actions: Shaped[np.ndarray, "n *action"]) -> HostStep:
        true, blank, latents = np.ones(self.copies, bool), self._blank, self._latents
        rewards = np.zeros(self.copies, np.float32)
        known = (true, blank, rewards, true, true, blank, true, self._masks)
        return HostStep(*known, latents, latents)

    def close(self) -> None:
        pass
