"""What was seen and done, what a teacher would do there, and how far a student is from that."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Shaped

from asmpg.experience import Experience
from asmpg.policies import AgentMemory, HistoryPolicy, windows_along


class Histories(eqx.Module):
    """`N` sequences of `T` steps, each from the start of an episode, through as many as fit.

    `time` is the number of actions played before in the same episode. Rows that are not `valid` are
    resets of environments on the host, and mean nothing.
    """

    observations: Shaped[Array | np.ndarray, "T N *observation"]
    actions: Int[Array | np.ndarray, "T N"]
    time: Int[Array | np.ndarray, "T N"]
    valid: Bool[Array | np.ndarray, "T N"]

    @classmethod
    def of(cls, experience: Experience) -> "Histories":
        """Those of rollouts that began with a reset."""
        return cls(experience.observations, experience.actions, experience.time, experience.valid)

    @property
    def num_steps(self) -> int:
        return int(np.asarray(self.valid).sum())

    @property
    def num_episodes(self) -> int:
        """Episodes that began."""
        return int((np.asarray(self.valid) & (np.asarray(self.time) == 0)).sum())


class Examples(eqx.Module):
    """Histories, and the probabilities that a teacher gives to each action along them."""

    histories: Histories
    labels: Float[Array | np.ndarray, "T N A"]

    @classmethod
    def joined(cls, parts: Sequence["Examples"]) -> "Examples":
        """All sequences of `parts`, in the memory of the host."""
        return jax.tree.map(
            lambda *leaves: np.concatenate([np.asarray(leaf) for leaf in leaves], axis=1), *parts
        )

    def sequences(self, chosen: Int[np.ndarray, " M"]) -> "Examples":
        """Some of the sequences."""
        return jax.tree.map(lambda leaf: leaf[:, chosen], self)

    @property
    def num_sequences(self) -> int:
        return self.labels.shape[1]


def log_probabilities(policy: HistoryPolicy, histories: Histories) -> Float[Array, "T N A"]:
    """`log p(a | history)` of `policy` at every step, whoever played."""
    observations, actions = jnp.asarray(histories.observations), jnp.asarray(histories.actions)
    keys = jax.random.split(jax.random.key(0), actions.shape[1])
    start = jax.vmap(policy.actor().start)(keys)
    past = AgentMemory(
        jnp.zeros_like(actions),
        jnp.concatenate([jnp.zeros_like(actions[:1]), actions[:-1]]),
        jnp.asarray(histories.time),
        windows_along(getattr(start, "window", None), observations, actions),
    )
    found = policy.distributions(start, past, observations, actions).log_probabilities
    assert found is not None
    return found


def cross_entropy(
    labels: Float[Array | np.ndarray, "T N A"], log_probabilities: Float[Array, "T N A"]
) -> Float[Array, "T N"]:
    """`-sum_a q(a | history) log p(a | history)` at every step: the teacher's `q`, our `p`."""
    return -(jnp.asarray(labels) * log_probabilities).sum(axis=-1)


def entropy(labels: Float[Array | np.ndarray, "T N A"]) -> Float[Array, "T N"]:
    """That of the labels: the least that the cross-entropy can be."""
    labels = jnp.asarray(labels)
    return -jnp.where(labels > 0, labels * jnp.log(jnp.where(labels > 0, labels, 1.0)), 0.0).sum(-1)
