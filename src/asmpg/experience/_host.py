"""Playing in environments that are stepped on the host; acting is compiled."""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float, Int, Shaped

from asmpg.experience._experience import Collection, Rollouts
from asmpg.experience._player import Player, StepInputs
from asmpg.interop import HostDriver
from asmpg.policies import MemoryUse, WatchedMemory

#: Whole episodes are padded to a power of two, at least this one: few lengths are compiled.
_SHORTEST = 16
#: One step of all copies, by the names of the fields of `Experience`.
Row = dict[str, Any]


class HostReturns(NamedTuple):
    """What `N` episodes yielded, and how agent states were used where that was `watched`."""

    discounted: Float[np.ndarray, " N"]
    undiscounted: Float[np.ndarray, " N"]
    lengths: Int[np.ndarray, " N"]
    use: MemoryUse | None


class HostEnvironments:
    """Environments on the host, where they are in their episodes, and the one who plays in them."""

    def __init__(self, driver: HostDriver, player: Player):
        """Call `reseed` and `begin` before anything else."""
        self.driver = driver
        self.player = player

    def reseed(self, *seeds: int) -> None:
        """Draw all that is drawn here from another stream."""
        self._generator = np.random.default_rng(seeds)

    def begin(self, *, seeded: bool) -> None:
        """Start episodes everywhere; `seeded`, they depend on the stream drawn from alone."""
        seeds = self._generator.integers(2**31, size=self.driver.copies).tolist()
        first = self.driver.reset(seeds if seeded else None)
        self._observations, self._masks, self._latents = (
            first.observations,
            first.masks,
            first.latents,
        )
        self._rewards = np.zeros(self.driver.copies, np.float32)
        self._start = np.ones(self.driver.copies, bool)
        self._time = np.zeros(self.driver.copies, np.int32)
        self._memory = self.player.empty_memory(self._draw_seed())

    def collect(self, collection: Collection) -> dict[str, Any]:
        """Play what `collection` asks for: the fields of an `Experience`, as numpy arrays.

        It is built inside `jit`, by `Experience(**fields)`.
        """
        continuing = isinstance(collection, Rollouts) and collection.continuing
        if not continuing:
            self.begin(seeded=False)
        start = [np.asarray(leaf) for leaf in self._memory]
        if isinstance(collection, Rollouts):
            # Copies go on together; a single one that starts from a reset leaves its resets out.
            kept = self._rollout(collection.steps, keep_resets=continuing)
            fields = _stacked(kept)
        else:
            kept = self._whole_episodes()
            length = max(_SHORTEST, 1 << (len(kept) - 1).bit_length())
            fields = jax.tree.map(lambda leaf: _padded(leaf, length), _stacked(kept))
        fields["memories"] = self.player.rebuilt(fields["memories"])
        return fields | {"start": self.player.rebuilt(start)}

    def returns(self, *, num_episodes: int, discount: float) -> "HostReturns":
        """What `num_episodes` new episodes yield.

        Every environment plays its share, fixed beforehand: were the first ones to end taken, short
        episodes would be too many among them.
        """
        copies = self.driver.copies
        share = np.full(copies, num_episodes // copies)
        share[: num_episodes % copies] += 1
        self.begin(seeded=True)
        discounted, undiscounted = np.zeros(copies), np.zeros(copies)
        lengths = np.zeros(copies, int)
        done: list[tuple[float, float, int]] = []
        used: list[MemoryUse] = []
        for row in self._play():
            counted = row["valid"] & (share > 0)
            reward = np.where(counted, row["rewards"].astype(float), 0.0)
            discounted += discount**lengths * reward
            undiscounted += reward
            lengths += counted
            for i in np.flatnonzero(counted & row["ended"]):
                done.append((discounted[i], undiscounted[i], lengths[i]))
                used += self._use(int(i))
                discounted[i] = undiscounted[i] = lengths[i] = 0
                share[i] -= 1
            if not share.any():
                break
        first, second, third = (np.asarray(column) for column in zip(*done, strict=True))
        use = jax.tree.map(lambda *leaves: np.stack(leaves), *used) if used else None
        return HostReturns(first, second, third, use)

    def _use(self, place: int) -> list[MemoryUse]:
        """How the agent states were used in an episode that has just ended, if that is counted."""
        memory = self.player.rebuilt(self._memory)
        if not isinstance(memory, WatchedMemory):
            return []
        return [jax.tree.map(lambda leaf: np.asarray(leaf)[place, ...], memory.use)]

    def _rollout(self, steps: int, *, keep_resets: bool) -> list[Row]:
        kept: list[Row] = []
        for row in self._play():
            if keep_resets or row["valid"].all():
                kept.append(row)
            if len(kept) == steps:
                break
        return kept

    def _whole_episodes(self) -> list[Row]:
        kept: list[Row] = []
        running = np.ones(self.driver.copies, bool)
        for row in self._play():
            time = np.full_like(row["time"], len(kept))
            kept.append(row | {"valid": running, "time": time})
            running = running & ~row["ended"]
            if not running.any():
                break
        return kept

    def _play(self) -> Iterator[Row]:
        """Step by step."""
        while True:
            shape = (64, self.driver.copies, self.player.draws)
            for uniforms in self._generator.random(shape, np.float32):
                yield self._step(uniforms)

    def _step(self, uniforms: Float[np.ndarray, "n draws"]) -> Row:
        seed = np.int32(self._draw_seed() if self._start.any() else 0)
        inputs = StepInputs(
            self._start, self._observations, self._rewards, uniforms, self._masks, seed
        )
        self._memory, actions, playing = self.player.act(self._memory, inputs)
        step = self.driver.step(playing)
        played = step.played
        row = {
            "observations": self._observations,
            "time": np.where(played, self._time, 0),
            "actions": actions,
            "rewards": step.rewards,
            "next_observations": step.seen,
            "terminated": step.terminated | ~played,
            "ended": step.ended | ~played,
            "valid": played,
            "memories": self._memory,
            "masks": self._masks,
            "latents": self._latents,
            "next_latents": step.seen_latents,
        }
        self._time = np.where(step.started, 0, self._time + 1).astype(np.int32)
        self._rewards = np.where(step.started, np.float32(0), step.rewards)
        self._observations, self._start = step.observations, step.started
        self._masks, self._latents = step.masks, step.latents
        return row

    def _draw_seed(self) -> int:
        return int(self._generator.integers(2**31))


def standard_error(values: Float[np.ndarray, " N"] | Int[np.ndarray, " N"]) -> float:
    """Of the mean of `values`; NaN for a single one."""
    return float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan


def _stacked(rows: list[Row]) -> dict[str, Any]:
    return jax.tree.map(lambda *leaves: np.stack([np.asarray(leaf) for leaf in leaves]), *rows)


def _padded(rows: Shaped[np.ndarray, "t ..."], length: int) -> Shaped[np.ndarray, "T ..."]:
    """Rows that mean nothing at the end: the last one again, and no step played."""
    blank = np.zeros_like(rows[-1:]) if rows.dtype == bool else rows[-1:]
    return np.concatenate([rows, np.repeat(blank, length - len(rows), axis=0)])
