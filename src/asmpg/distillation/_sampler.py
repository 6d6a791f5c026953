"""Where histories are played and scores are measured: compiled, or on the host."""

from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Key

from asmpg.distillation._histories import Histories
from asmpg.distillation._teachers import PolicyTeacher, PredictPlayer, PredictTeacher, Teacher
from asmpg.environments import Environment
from asmpg.experience import (
    EpisodeReturns,
    Experience,
    HostEnvironments,
    HostPlayer,
    Rollouts,
    collect,
    play_for_returns,
)
from asmpg.interop import ResolvedEnvironment, resolve, to_gymnasium_vector
from asmpg.policies import HistoryPolicy
from asmpg.training import episode_statistics

#: Far from the streams of random numbers by which training and evaluation split a seed.
_STREAM = 2_000_000
#: Episodes as short as these are played one after another in the same sequence.
_SHORT = 128
#: Sequences are cut after so many steps.
_LONG = 1000
_COMPILED_SEQUENCES, _HOST_SEQUENCES = 64, 16


class Sampler:
    """An environment to play `sequences` sequences in, each of `steps` steps from a reset on.

    Policies play compiled where the environment is. Who has nothing but `predict` plays on the
    host, in the environment itself or in Gymnasium's view of it.
    """

    def __init__(self, resolved: ResolvedEnvironment, *, sequences: int | None, steps: int | None):
        """By default a sequence is as long as an episode, from 128 to 1,000 steps."""
        compiled = resolved.environment is not None
        self.resolved = resolved
        self._sequences = sequences or (_COMPILED_SEQUENCES if compiled else _HOST_SEQUENCES)
        self._steps = steps or min(_LONG, max(_SHORT, resolved.interface.max_steps))
        self._on_host: dict[bool, HostEnvironments] = {}

    def histories(self, player: HistoryPolicy | Teacher, *seeds: int) -> Histories:
        """Play; all chance is a function of `seeds`, but for what a foreign teacher draws."""
        collection = Rollouts(self._sequences, self._steps, continuing=False)
        policy, greedy = _policy_of(player)
        if policy is not None and self.resolved.environment is not None:
            key = _key(*seeds)
            return jax.device_get(_play(self.resolved.environment, policy, collection, greedy, key))
        environments = self._environments(player, *seeds)
        environments.begin(seeded=True)
        # As if they went on from earlier ones: no row is left out.
        fields = environments.collect(Rollouts(self._sequences, self._steps))
        names = ("observations", "actions", "time", "valid", "masks")
        return Histories(*(fields[name] for name in names))

    def score(
        self, player: HistoryPolicy | Teacher, *seeds: int, episodes: int
    ) -> dict[str, float]:
        """What fresh episodes yield: the numbers of `asmpg evaluate`, undiscounted."""
        policy, greedy = _policy_of(player)
        if policy is not None and self.resolved.environment is not None:
            key = _key(*seeds)
            returns = _returns(self.resolved.environment, policy, episodes, greedy, key)
            names = ("discounted", "undiscounted", "lengths")
            played = [np.asarray(getattr(returns, name), float) for name in names]
        else:
            environments = self._environments(player, *seeds)
            played = environments.returns(num_episodes=episodes, discount=1.0)[:3]
        return episode_statistics(*played)

    def close(self) -> None:
        for environments in self._on_host.values():
            environments.driver.close()
        self._on_host = {}

    def _environments(self, player: HistoryPolicy | Teacher, *seeds: int) -> HostEnvironments:
        policy, greedy = _policy_of(player)
        foreign = policy is None
        if foreign not in self._on_host:
            driver = self._source().open(self._sequences, exactly=False)
            host = HostPlayer(lambda actor: actor, driver.copies)
            acts = PredictPlayer(driver.copies) if foreign else host
            self._on_host[foreign] = HostEnvironments(driver, acts)
        environments = self._on_host[foreign]
        environments.reseed(*seeds, _STREAM)
        environments.player.prepare(player if policy is None else policy.actor(greedy=greedy))
        return environments

    def _source(self) -> Any:
        if self.resolved.source is not None:
            return self.resolved.source
        environment = self.resolved.environment
        assert environment is not None
        viewed = resolve(
            lambda: to_gymnasium_vector(
                environment, num_envs=self._sequences, autoreset_mode="SameStep"
            ),
            {},
            name=environment.name,
        )
        return viewed.source


def _policy_of(player: HistoryPolicy | Teacher) -> tuple[HistoryPolicy | None, bool]:
    """The policy that plays, and whether greedily; `None` where there is only `predict`."""
    if isinstance(player, HistoryPolicy):
        return player, False
    if isinstance(player, PolicyTeacher):
        return player.policy, player.deterministic
    assert isinstance(player, PredictTeacher)
    return None, player.deterministic


def _key(*seeds: int) -> Key[Array, ""]:
    key = jax.random.key(seeds[0])
    for number in (_STREAM, *seeds[1:]):
        key = jax.random.fold_in(key, number)
    return key


@eqx.filter_jit
def _play(
    environment: Environment[Any],
    policy: HistoryPolicy,
    collection: Rollouts,
    greedy: bool,
    key: Key[Array, ""],
) -> Histories:
    experience: Experience
    _, experience = collect(environment, policy.actor(greedy=greedy), collection, None, key)
    return Histories.of(experience)


@eqx.filter_jit
def _returns(
    environment: Environment[Any],
    policy: HistoryPolicy,
    episodes: int,
    greedy: bool,
    key: Key[Array, ""],
) -> EpisodeReturns:
    actor = policy.actor(greedy=greedy)
    return play_for_returns(environment, actor, key, num_episodes=episodes, discount=1.0)
