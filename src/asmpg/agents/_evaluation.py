"""Fresh episodes of a policy, in an environment that is compiled or stepped on the host."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Int, Key

from asmpg._support.words import counted
from asmpg.environments import Environment
from asmpg.experience import (
    EpisodeReturns,
    HostEnvironments,
    HostPlayer,
    play_for_returns,
    standard_error,
)
from asmpg.interop import ResolvedEnvironment
from asmpg.policies import Actor, Number

#: The returns of all are held in memory.
MOST_EPISODES = 100_000_000
#: So many episodes are played side by side, compiled and on the host.
_BATCH, _COPIES = 10_000, 16
#: Far from the small numbers by which training splits the key of a seed.
_STREAM = 1_000_000


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """The undiscounted returns of episodes, and how many steps each took."""

    returns: Float[np.ndarray, " N"]
    lengths: Int[np.ndarray, " N"]

    @property
    def mean(self) -> float:
        """The mean return."""
        return float(self.returns.mean())

    @property
    def standard_error(self) -> float:
        """The standard error of the mean; NaN for a single episode."""
        return standard_error(self.returns)

    @property
    def reward_per_step(self) -> float:
        """Pooled: all rewards over all steps."""
        return float(self.returns.sum() / self.lengths.sum())

    def __repr__(self) -> str:
        return (
            f"Evaluation(return {self.mean:.4g} ± {self.standard_error:.2g}, reward per step "
            f"{self.reward_per_step:.4g}, {counted(len(self.returns), 'episode')} of "
            f"{self.lengths.mean():.4g} steps on average)"
        )


def play_fresh_episodes(
    resolved: ResolvedEnvironment,
    actor: Actor[Any],
    *,
    episodes: int,
    seed: int,
    discount: Number,
) -> tuple[Float[np.ndarray, " N"], Float[np.ndarray, " N"], Int[np.ndarray, " N"]]:
    """Discounted and undiscounted returns, and lengths; the same for the same seed."""
    if resolved.environment is None:
        return _play_on_host(resolved.source, actor, episodes, seed, float(discount))
    key = jax.random.fold_in(jax.random.key(seed), _STREAM)
    played = [
        _play(
            resolved.environment,
            actor,
            jax.random.fold_in(key, place),
            min(_BATCH, episodes - begin),
            discount,
        )
        for place, begin in enumerate(range(0, episodes, _BATCH))
    ]
    discounted, undiscounted, lengths = (
        np.concatenate([getattr(returns, name) for returns in played])
        for name in ("discounted", "undiscounted", "lengths")
    )
    return discounted.astype(float), undiscounted.astype(float), lengths


def _play_on_host(
    source: Any, actor: Actor[Any], episodes: int, seed: int, discount: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    driver = source.open(min(_COPIES, episodes), exactly=False)
    environments = HostEnvironments(driver, HostPlayer(lambda actor: actor, driver.copies))
    try:
        environments.reseed(seed, 0, _STREAM)
        environments.player.prepare(actor)
        played = environments.returns(num_episodes=episodes, discount=discount)
        return played[0], played[1], played[2]
    finally:
        driver.close()


@eqx.filter_jit
def _play(
    environment: Environment[Any],
    actor: Actor[Any],
    key: Key[Array, ""],
    number: int,
    discount: Number,
) -> EpisodeReturns:
    return play_for_returns(environment, actor, key, num_episodes=number, discount=discount)
