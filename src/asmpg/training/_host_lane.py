"""A seed on its way where environments are stepped on the host."""

from collections.abc import Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from asmpg.experience import (
    HostPlayer,
    HostRows,
    HostStage,
    Stream,
    gather,
    host_returns,
    standard_error,
)
from asmpg.methods import Metrics
from asmpg.training._lanes import Lane, OneSeedLane, Outcome, make_outcome
from asmpg.training._program import MEASURES, Program, SeedState
from asmpg.training._standing import SavedSeed, Standing

#: So many environments are evaluated in at a time.
_EVALUATION_COPIES = 16
#: The streams of random numbers of a seed: numpy takes `(1, 2)` and `(1, 2, 0)` for the same seed,
#: so all have as many numbers, and the last says what they are for.
_RESETS, _TRAINING, _EVALUATION = 1, 2, 3


class HostLane(OneSeedLane):
    """One seed in environments of its own: those it learns in, and those it is evaluated in.

    Acting and learning are compiled. All chance is a function of the seed and of the number of
    updates done; a lane that goes on from a checkpoint begins new episodes.
    """

    together = 1

    def __init__(self, program: Program, source: Any, seed: int, saved: SavedSeed | None):
        """Start `seed`, or go on from where it was saved."""
        self.program = program
        self.seeds = (seed,)
        self.standings = [saved.standing if saved else Standing()]
        self.state = saved.last if saved else program.start(jnp.asarray(seed))
        self.best = saved.best if saved else self.state
        self._source = source
        self._training: HostStage | None = None
        self._evaluation: HostStage | None = None

    def warm_up(self) -> None:
        """Make the environments, play a little and learn nothing from it."""
        method = self.program.method
        stage = HostStage(*self._open_training(), seed=0)
        try:
            stage.player.prepare(self.state.learner)
            stage.begin(seeded=True)
            state = _restarted(self.program, self.state, stage.stream())
            if method.gathering.steps is not None:
                _learn(self.program, state, gather(stage, method.gathering))
        finally:
            stage.driver.close()

    def advance(self, until: Sequence[int]) -> Outcome:
        """Play and learn by turns, then evaluate."""
        state = self.state
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
        return make_outcome(state, self._evaluate(state) | average, axis=True)

    def close(self) -> None:
        """Close the environments."""
        for stage in (self._training, self._evaluation):
            if stage is not None:
                stage.driver.close()
        self._training = self._evaluation = None

    def _update(self, state: SeedState) -> tuple[SeedState, Metrics]:
        updates = int(state.updates)
        stage = self._training
        if stage is None:
            stage = self._training = HostStage(*self._open_training(), seed=0)
            stage.reseed(self.seeds[0], updates, _RESETS)
            stage.player.prepare(state.learner)
            stage.begin(seeded=True)
            state = _restarted(self.program, state, stage.stream())
        stage.reseed(self.seeds[0], updates, _TRAINING)
        stage.player.prepare(state.learner)
        return _learn(self.program, state, gather(stage, self.program.method.gathering))

    def _evaluate(self, state: SeedState) -> dict[str, np.floating[Any]]:
        stage = self._evaluation
        if stage is None:
            stage = self._evaluation = open_evaluation(
                self.program, self._source, self.program.evaluation_episodes, self.program.greedy
            )
        stage.reseed(self.seeds[0], int(state.updates), _EVALUATION)
        stage.player.prepare(state.learner)
        discounted, undiscounted, lengths = host_returns(
            stage,
            num_episodes=self.program.evaluation_episodes,
            discount=self.program.discount,
        )
        undiscounted_objective = self.program.objective[0] == "undiscounted_return"
        measured = {
            "standard_error": standard_error(
                undiscounted if undiscounted_objective else discounted
            ),
            "discounted_return": discounted.mean(),
            "undiscounted_return": undiscounted.mean(),
            "reward_per_step": undiscounted.sum() / lengths.sum(),
            "episode_length": lengths.mean(),
        }
        return {name: np.float32(measured.get(name, np.nan)) for name in MEASURES}

    def _open_training(self) -> tuple[Any, HostPlayer]:
        method = self.program.method
        driver = self._source.open(method.gathering.environments)
        return driver, HostPlayer(method.player, driver.copies, method.note)


def make_host_lanes(
    program: Program, source: Any, seeds: Sequence[int], saved: Mapping[int, SavedSeed]
) -> list[Lane]:
    """A lane for each seed."""
    return [HostLane(program, source, seed, saved.get(seed)) for seed in seeds]


def open_evaluation(program: Program, source: Any, episodes: int, greedy: bool) -> HostStage:
    """Environments of their own to evaluate in, and who plays in them."""
    driver = source.open(min(_EVALUATION_COPIES, episodes), exactly=False)

    def make_actor(learner: Any) -> Any:
        return program.method.actor(learner, greedy=greedy)

    return HostStage(driver, HostPlayer(make_actor, driver.copies, _nothing), seed=0)


def _nothing(before: Any, after: Any) -> tuple[()]:
    del before, after
    return ()


@eqx.filter_jit
def _learn(
    program: Program, state: SeedState, gathered: dict[str, Any]
) -> tuple[SeedState, dict[str, Array]]:
    key, learn_key = jax.random.split(state.key)
    learner, experience, metrics = program.method.learn_from(
        state.learner, HostRows.build(gathered), learn_key, progress=program.progress(state)
    )
    return state.after(learner, key, experience), metrics


@eqx.filter_jit
def _restarted(program: Program, state: SeedState, stream: dict[str, Any]) -> SeedState:
    learner = program.method.restarted(state.learner, Stream(**stream))
    return eqx.tree_at(lambda state: state.learner, state, learner)
