"""Rows of experience from environments that are stepped on the host."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Shaped

from asmpg.envs.host import HostDriver
from asmpg.rollouts._host_player import HostPlayer
from asmpg.rollouts._stream import Segment, Stream

#: Rows of whole episodes are padded to a power of two, at least this one.
_SHORTEST = 16


class Gathering(NamedTuple):
    """What a method plays for one update.

    One whole episode in each of `environments`; or `steps` steps, through as many episodes, from a
    reset, or `onward` from where they stood.
    """

    environments: int
    steps: int | None = None
    onward: bool = False


class HostRows(eqx.Module):
    """A segment with its `valid` steps, where it led to, and what the method noted at each step."""

    segment: Segment
    stream: Stream
    notes: Any

    @classmethod
    def build(cls, gathered: dict[str, Any]) -> "HostRows":
        """From what `gather` returns, inside `jit`."""
        return cls(Segment(**gathered["rows"]), Stream(**gathered["stream"]), gathered["notes"])


class HostStage:
    """Where the environments and the one who plays in them stand."""

    def __init__(self, driver: HostDriver, player: HostPlayer, seed: int):
        """`seed` decides all that is drawn here: episodes follow the seeds given to `begin`."""
        self.driver = driver
        self.player = player
        self._generator = np.random.default_rng(seed)

    def reseed(self, *seeds: int) -> None:
        """Draw from another stream."""
        self._generator = np.random.default_rng(seeds)

    def begin(self, *, seeded: bool) -> None:
        """Start episodes everywhere; `seeded`, they depend on the stream of this stage alone."""
        seeds = self._generator.integers(2**31, size=self.driver.copies).tolist()
        self.observations = self.driver.reset(seeds if seeded else None)
        self.rewards = np.zeros(self.driver.copies, np.float32)
        self.start = np.ones(self.driver.copies, bool)
        self.time = np.zeros(self.driver.copies, np.int32)
        self.memory = self.player.empty_memory(self._draw_seed())

    def stream(self) -> dict[str, Any]:
        """As a `Stream` whose environments are elsewhere."""
        return {
            "state": (),
            "observation": self.observations,
            "reward": self.rewards,
            "memory": self.player.memory(self.memory),
        }

    def play(self) -> Iterator[tuple[dict[str, np.ndarray], Any]]:
        """Step by step: a row for each environment, and what was noted."""
        while True:
            uniforms = self._generator.random((64, self.driver.copies, 2), np.float32)
            for uniform in uniforms:
                yield self._step(uniform)

    def _step(self, uniform: Shaped[np.ndarray, "n 2"]) -> tuple[dict[str, np.ndarray], Any]:
        seed = self._draw_seed() if self.start.any() else 0
        self.memory, actions, noted = self.player.act(
            self.memory, self.start, self.observations, self.rewards, uniform, seed
        )
        step = self.driver.step(actions)
        played = step.played
        row = {
            "observations": self.observations,
            "time": np.where(played, self.time, 0),
            "actions": actions,
            "rewards": step.rewards,
            "next_observations": step.seen,
            "terminated": step.terminated | ~played,
            "ended": step.ended | ~played,
            "valid": played,
        }
        self.time = np.where(step.started, 0, self.time + 1).astype(np.int32)
        self.rewards = np.where(step.started, np.float32(0), step.rewards)
        self.observations, self.start = step.observations, step.started
        return row, noted

    def _draw_seed(self) -> int:
        return int(self._generator.integers(2**31))


def gather(stage: HostStage, gathering: Gathering) -> dict[str, Any]:
    """Play what `gathering` asks for. The rows come as numpy arrays, to be built inside `jit`."""
    if not gathering.onward:
        stage.begin(seeded=False)
    before = stage.player.memory(stage.memory).action
    if gathering.steps is None:
        rows, notes = _whole_episodes(stage)
    else:
        rows, notes = _some_steps(stage, gathering)
    return {
        "rows": rows | {"action_before": before},
        "stream": stage.stream(),
        "notes": notes,
    }


def _some_steps(stage: HostStage, gathering: Gathering) -> tuple[dict[str, np.ndarray], Any]:
    """All copies go on together; a single one that starts from a reset leaves its resets out."""
    kept: list[Any] = []
    assert gathering.steps is not None
    for row, noted in stage.play():
        if gathering.onward or row["valid"].all():
            kept.append((row, noted))
        if len(kept) == gathering.steps:
            break
    return _stacked(kept)


def _whole_episodes(stage: HostStage) -> tuple[dict[str, np.ndarray], Any]:
    kept: list[Any] = []
    running = np.ones(stage.driver.copies, bool)
    for row, noted in stage.play():
        ended = row["ended"]
        kept.append((row | {"valid": running, "time": np.full_like(row["time"], len(kept))}, noted))
        running = running & ~ended
        if not running.any():
            break
    rows, notes = _stacked(kept)
    length = max(_SHORTEST, 1 << (len(kept) - 1).bit_length())
    return jax.tree.map(lambda leaf: _padded(leaf, length), (rows, notes))


def _stacked(kept: list[tuple[dict[str, np.ndarray], Any]]) -> tuple[dict[str, np.ndarray], Any]:
    rows = {name: np.stack([row[name] for row, _ in kept]) for name in kept[0][0]}
    notes = jax.tree.map(lambda *leaves: np.stack(leaves), *(noted for _, noted in kept))
    return rows, notes


def _padded(rows: Shaped[np.ndarray, "t ..."], length: int) -> Shaped[np.ndarray, "T ..."]:
    """Rows that mean nothing at the end: the last one again, and no step played."""
    blank = np.zeros_like(rows[-1:]) if rows.dtype == bool else rows[-1:]
    return np.concatenate([rows, np.repeat(blank, length - len(rows), axis=0)])
