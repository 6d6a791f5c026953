"""What was played, in one data type, and what a method may ask for."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Shaped

from asmpg._support.checks import check_integer
from asmpg.policies import AgentMemory, with_windows


@dataclasses.dataclass(frozen=True)
class WholeEpisodes:
    """`number` episodes from their first to their last step, each in an environment of its own."""

    number: int

    def __post_init__(self):
        check_integer("number", self.number, low=1)

    @property
    def environments(self) -> int:
        """How many environments are played side by side."""
        return self.number


@dataclasses.dataclass(frozen=True)
class Rollouts:
    """`steps` steps in each of `environments`, through as many episodes as fit.

    They continue where the last rollouts ended, or start from a reset if not `continuing`. Latent
    states come along if `latent` says what they are called: of compiled environments anything, on
    the host the name of an entry of `info`.
    """

    environments: int
    steps: int
    continuing: bool = True
    latent: str | None = None

    def __post_init__(self):
        check_integer("environments", self.environments, low=1)
        check_integer("steps", self.steps, low=1)


#: What is collected for one update.
Collection = WholeEpisodes | Rollouts


class Experience(eqx.Module):
    """`T` steps in each of `N` environments, time first.

    Row `t` holds `o_t`, the number of actions played before it in its episode (`time`), `a_t`,
    `r_t`, the observation that really came next (not the first one of the next episode), whether
    the episode terminated there, and whether it ended there, by termination or by the time limit.
    Rows that are not `valid` are padding and mean nothing.

    `start` is the actor's memory before the first row, `memories` that after each step. `masks`
    say which actions were allowed, where the environment has any to say so, and `latents` what the
    latent states were before and after each step, where that was asked for.
    """

    observations: Shaped[Array, "T N *observation"]
    time: Int[Array, "T N"]
    actions: Shaped[Array, "T N *action"]
    rewards: Float[Array, "T N"]
    next_observations: Shaped[Array, "T N *observation"]
    terminated: Bool[Array, "T N"]
    ended: Bool[Array, "T N"]
    valid: Bool[Array, "T N"]
    start: Any
    memories: Any
    masks: Bool[Array, "T N M"] | None = None
    latents: Shaped[Array, "T N *latent"] | None = None
    next_latents: Shaped[Array, "T N *latent"] | None = None

    @classmethod
    def from_episodes(
        cls,
        observations: Shaped[Array, "T N *observation"],
        states: Int[Array, "T N"],
        actions: Shaped[Array, "T N *action"],
        rewards: Float[Array, "T N"],
        valid: Bool[Array, "T N"],
        masks: Bool[Array, "T N M"] | None = None,
    ) -> "Experience":
        """Whole episodes with agent states, one in each environment, none cut off by a limit."""
        steps, number = valid.shape
        time = jnp.broadcast_to(jnp.arange(steps, dtype=jnp.int32)[:, None], valid.shape)
        zero = jnp.zeros(number, jnp.int32)
        goes_on = jnp.concatenate([valid[1:], jnp.zeros_like(valid[:1])])
        return cls(
            observations,
            time,
            actions,
            rewards,
            jnp.concatenate([observations[1:], observations[-1:]]),
            ~goes_on,
            ~goes_on,
            valid,
            AgentMemory(zero, jnp.zeros_like(actions[0]), zero),
            AgentMemory(states, actions, time + 1),
            masks,
        )

    @property
    def states(self) -> Int[Array, "T N"]:
        """The agent states `S_t`, of an actor that has any."""
        return self.memories.state

    @property
    def first(self) -> Bool[Array, "T N"]:
        """Where episodes start."""
        return self.time == 0

    @property
    def num_steps(self) -> Int[Array, ""]:
        """Environment steps."""
        return self.valid.sum(dtype=jnp.int32)

    @property
    def num_episodes(self) -> Int[Array, ""]:
        """Episodes that ended."""
        return (self.ended & self.valid).sum(dtype=jnp.int32)

    @property
    def lengths(self) -> Int[Array, " N"]:
        """Steps in each environment."""
        return self.valid.sum(axis=0, dtype=jnp.int32)

    @property
    def previous_actions(self) -> Shaped[Array, "T N *action"]:
        """`a_{t-1}`; means nothing where an episode starts."""
        return jnp.concatenate([self.start.action[None], self.actions[:-1]])

    @property
    def past(self) -> AgentMemory:
        """`(S_{t-1}, A_{t-1})`, the time, the window; the dummy pair where an episode starts.

        Where the actor has no agent state, that of the pair is zero.
        """
        action = self.previous_actions
        state = jnp.zeros_like(self.time)
        if hasattr(self.memories, "state"):
            state = jnp.concatenate([self.start.state[None], self.memories.state[:-1]])
        past = AgentMemory(state, action, self.time)
        start = getattr(self.start, "window", None)
        return with_windows(past, start, self.observations, self.actions)

    def returns(self, discount: float | Float[Array, ""]) -> Float[Array, " N"]:
        """`sum_t discount^(t-1) r_t` of each episode, where there is one in each environment."""
        discounting = discount ** jnp.arange(self.rewards.shape[0], dtype=self.rewards.dtype)
        return discounting @ jnp.where(self.valid, self.rewards, 0.0)

    def environments(self, chosen: Int[Array, " M"]) -> "Experience":
        """The part of some of the environments."""
        rows = dataclasses.replace(self, start=None)
        rows = jax.tree.map(lambda leaf: leaf[:, chosen], rows)
        return dataclasses.replace(rows, start=jax.tree.map(lambda leaf: leaf[chosen], self.start))

    @property
    def finite(self) -> Bool[Array, ""]:
        """Whether no observation and no reward is infinite or NaN, and some action allowed."""
        finite = all_finite((self.observations, self.rewards))
        if self.masks is None:
            return finite
        return finite & (self.masks.any(axis=-1) | ~self.valid).all()


def all_finite(tree: Any) -> Bool[Array, ""]:
    """Whether no number in `tree` is infinite or NaN."""
    real = [leaf for leaf in jax.tree.leaves(tree) if jnp.issubdtype(leaf.dtype, jnp.floating)]
    return jnp.stack([jnp.isfinite(leaf).all() for leaf in real]).all()
