"""What was seen and done, what a teacher would do there, and how far a student is from that."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Shaped

from asmpg.experience import Experience
from asmpg.policies import ActionDistributions, AgentMemory, HistoryPolicy, with_windows


class Histories(eqx.Module):
    """`N` sequences of `T` steps, each from the start of an episode, through as many as fit.

    `time` is the number of actions played before in the same episode. Rows that are not `valid` are
    resets of environments on the host, and mean nothing. `masks` say which actions were allowed,
    where the environment does.
    """

    observations: Shaped[Array | np.ndarray, "T N *observation"]
    actions: Shaped[Array | np.ndarray, "T N *action"]
    time: Int[Array | np.ndarray, "T N"]
    valid: Bool[Array | np.ndarray, "T N"]
    masks: Bool[Array | np.ndarray, "T N M"] | None = None

    @classmethod
    def of(cls, experience: Experience) -> "Histories":
        """Those of rollouts that began with a reset."""
        return cls(
            experience.observations,
            experience.actions,
            experience.time,
            experience.valid,
            experience.masks,
        )

    @property
    def num_steps(self) -> int:
        return int(np.asarray(self.valid).sum())

    @property
    def num_episodes(self) -> int:
        """Episodes that began."""
        return int((np.asarray(self.valid) & (np.asarray(self.time) == 0)).sum())


class Labels(eqx.Module):
    """What a teacher would do at every step.

    A probability for each action; or, where they are not finitely many, an action that it drew,
    with the logarithm of its density, which is NaN if nobody knows it.
    """

    probabilities: Float[Array | np.ndarray, "T N A"] | None = None
    actions: Shaped[Array | np.ndarray, "T N *action"] | None = None
    log_density: Float[Array | np.ndarray, "T N"] | None = None


class Examples(eqx.Module):
    """Histories, and what a teacher would do along them."""

    histories: Histories
    labels: Labels

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
        return self.histories.time.shape[1]


def distributions(policy: HistoryPolicy, histories: Histories) -> ActionDistributions:
    """Those of `policy` at every step, whoever played."""
    observations, actions = jnp.asarray(histories.observations), jnp.asarray(histories.actions)
    keys = jax.random.split(jax.random.key(0), actions.shape[1])
    start = jax.vmap(policy.actor().start)(keys)
    time = jnp.asarray(histories.time)
    before = jnp.concatenate([jnp.zeros_like(actions[:1]), actions[:-1]])
    past = AgentMemory(jnp.zeros_like(time), before, time)
    past = with_windows(past, getattr(start, "window", None), observations, actions)
    masks = None if histories.masks is None else jnp.asarray(histories.masks)
    return policy.distributions(start, past, observations, actions, masks)


def log_probabilities(policy: HistoryPolicy, histories: Histories) -> Float[Array, "T N A"]:
    """`log p(a | history)` of every action, where they are finitely many."""
    found = distributions(policy, histories).log_probabilities
    assert found is not None
    return found


def surprise(policy: HistoryPolicy, examples: Examples) -> Float[Array, "T N"]:
    """`-sum_a q(a | history) log p(a | history)` at every step: the teacher's `q`, our `p`.

    Where actions are not finitely many, `-log p(a | history)` of the action that was drawn from
    `q`, which is the same on average.
    """
    labels, found = examples.labels, distributions(policy, examples.histories)
    if labels.probabilities is not None:
        assert found.log_probabilities is not None
        return cross_entropy(labels.probabilities, found.log_probabilities)
    assert found.mixtures is not None
    return -found.mixtures.log_density(policy.actor().head, jnp.asarray(labels.actions))


def cross_entropy(
    labels: Float[Array | np.ndarray, "T N A"], log_probabilities: Float[Array, "T N A"]
) -> Float[Array, "T N"]:
    """`-sum_a q(a) log p(a)`."""
    return -(jnp.asarray(labels) * log_probabilities).sum(axis=-1)


def entropy(labels: Labels) -> Float[Array, "T N"]:
    """The least that the surprise can be on average; NaN where that is not known."""
    if labels.probabilities is None:
        return -jnp.asarray(labels.log_density)
    q = jnp.asarray(labels.probabilities)
    return -jnp.where(q > 0, q * jnp.log(jnp.where(q > 0, q, 1.0)), 0.0).sum(-1)
