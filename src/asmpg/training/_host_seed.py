"""A seed being trained where environments are stepped on the host."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Array

from asmpg.experience import (
    Collection,
    Experience,
    HostEnvironments,
    HostPlayer,
    Rollouts,
    standard_error,
)
from asmpg.interop import BlankDriver
from asmpg.methods import Metrics
from asmpg.policies import watched
from asmpg.runs import MEASURES, MEMORY_MEASURES, SavedSeed
from asmpg.training._program import Program, SeedState, compiled
from asmpg.training._seed_batches import Chunk, OneSeed, Seat, end_of_chunk

#: So many environments are evaluated in at a time.
_EVALUATION_COPIES = 16
#: The streams of random numbers of a seed: numpy takes `(1, 2)` and `(1, 2, 0)` for the same seed,
#: so all have as many numbers, and the last says what they are for.
_WARM_UP, _RESETS, _TRAINING, _EVALUATION = range(4)


class HostSeed(OneSeed):
    """One seed in environments of its own: those it learns in, and those it is evaluated in.

    Acting and learning are compiled. All chance is a function of the seed and of the number of
    updates done; a seed that resumes from a checkpoint begins new episodes.
    """

    together = 1

    def __init__(self, program: Program, source: Any, seat: Seat, saved: SavedSeed | None):
        """`source` opens environments."""
        super().__init__(program, seat, saved)
        method = program.method
        self._source = source
        self._learn = compiled(_learn)
        self._player = HostPlayer(
            lambda learner: method.actor(learner, training=True), method.collects.environments
        )
        self._training: HostEnvironments | None = None
        self._evaluation: HostEnvironments | None = None

    def warm_up(self) -> None:
        """Compile acting and learning, in environments where nothing happens."""
        collects = self.program.method.collects
        driver = BlankDriver(
            self.program.interface, collects.environments, latent=latent_of(collects)
        )
        environments = HostEnvironments(driver, self._player)
        self._reseed(environments, self.state, _WARM_UP)
        self._player.prepare(self.state.learner)
        environments.begin(seeded=True)
        self._learn(self.program, self.state, environments.collect(collects))

    def advance(self, state: SeedState, until: Sequence[int]) -> Chunk:
        """Play and learn by turns, then evaluate."""
        totals = dict.fromkeys(self.program.method.metric_names, 0.0)
        updates = 0
        while int(state.steps) < until[0] and bool(state.finite):
            state, metrics = self._update(state)
            totals = {name: total + float(metrics[name]) for name, total in totals.items()}
            updates += 1
        average = {
            name: np.float32(total / updates if updates else np.nan)
            for name, total in totals.items()
        }
        return end_of_chunk(state, self._evaluate(state) | average)

    def close(self) -> None:
        for environments in (self._training, self._evaluation):
            if environments is not None:
                environments.driver.close()
        self._training = self._evaluation = None

    def _update(self, state: SeedState) -> tuple[SeedState, Metrics]:
        self._player.prepare(state.learner)
        environments = self._training
        if environments is None:
            collects = self.program.method.collects
            driver = self._source.open(collects.environments, latent=latent_of(collects))
            environments = self._training = HostEnvironments(driver, self._player)
            self._reseed(environments, state, _RESETS)
            environments.begin(seeded=True)
        self._reseed(environments, state, _TRAINING)
        return self._learn(self.program, state, environments.collect(self.program.method.collects))

    def _evaluate(self, state: SeedState) -> dict[str, np.floating[Any]]:
        program = self.program
        if self._evaluation is None:
            self._evaluation = open_evaluation(
                program, self._source, program.evaluation_episodes, greedy=program.greedy
            )
        environments = self._evaluation
        self._reseed(environments, state, _EVALUATION)
        environments.player.prepare(state.learner)
        discounted, undiscounted, lengths, use = environments.returns(
            num_episodes=program.evaluation_episodes, discount=float(program.discount)
        )
        optimised = discounted if program.objective == "discounted" else undiscounted
        measured = {
            "discounted_return": discounted.mean(),
            "undiscounted_return": undiscounted.mean(),
            "reward_per_step": undiscounted.sum() / lengths.sum(),
            "episode_length": lengths.mean(),
            "standard_error": standard_error(optimised),
        }
        if use is not None:
            measured["memory_entropy"] = use.mean_entropy
            measured["states_in_use"] = use.states_in_use
        names = (*MEASURES, *MEMORY_MEASURES)
        return {name: np.float32(measured.get(name, np.nan)) for name in names}

    def _reseed(self, environments: HostEnvironments, state: SeedState, purpose: int) -> None:
        environments.reseed(self.seats[0].seed, int(state.updates), purpose)


def open_evaluation(
    program: Program, source: Any, episodes: int, *, greedy: bool
) -> HostEnvironments:
    """Environments of their own to evaluate in, and who plays in them."""
    driver = source.open(min(_EVALUATION_COPIES, episodes), exactly=False)

    def make_actor(learner: Any) -> Any:
        kernels = program.method.kernels(learner)
        return watched(program.method.actor(learner, greedy=greedy), kernels)

    return HostEnvironments(driver, HostPlayer(make_actor, driver.copies))


def latent_of(collection: Collection) -> str | None:
    """The entry of `info` that latent states are read from, if they are collected."""
    return collection.latent if isinstance(collection, Rollouts) else None


def _learn(
    program: Program, state: SeedState, fields: dict[str, Any]
) -> tuple[SeedState, dict[str, Array]]:
    return program.learn(state, Experience(**fields))
