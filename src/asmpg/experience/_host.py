"""Playing in environments that are stepped on the host; acting is compiled."""

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Shaped

from asmpg.experience._stream import Segment, Stream
from asmpg.interop import HostDriver
from asmpg.policies import Actor

#: What a method wants to know of the memory before and after a step.
Note = Callable[[Any, Any], Any]


class HostPlayer:
    """Plays for `copies` environments at once. The memory stays on the device between steps."""

    def __init__(self, make_actor: Callable[[Any], Actor[Any]], copies: int, note: Note):
        """`make_actor(learner)` is who plays; `note` picks what is to be recorded."""
        self._make_actor = eqx.filter_jit(make_actor)
        self._copies = copies
        self._note = note
        self._structure: Any = None
        self._actor_leaves: list[Array] = []

    def prepare(self, learner: Any) -> None:
        """Play for `learner` from now on."""
        actor = self._make_actor(learner)
        arrays, rest = eqx.partition(actor, eqx.is_array)
        self._actor_leaves, structure = jax.tree.flatten(arrays)
        if self._structure is None or structure != self._structure:
            self._structure = structure
            self._compile(structure, rest)

    def empty_memory(self, seed: int) -> Any:
        """The memory at the start of an episode in every environment."""
        leaves = self._begin(self._actor_leaves, np.int32(seed))
        return jax.tree.unflatten(self._memory_structure, leaves)

    def act(
        self,
        memory: Any,
        start: Bool[np.ndarray, " n"],
        observations: Shaped[np.ndarray, "n *observation"],
        rewards: Float[np.ndarray, " n"],
        uniforms: Float[np.ndarray, "n 2"],
        seed: int,
    ) -> tuple[Any, Int[np.ndarray, " n"], Any]:
        """The new memory, the actions and what was noted; memory is lost where episodes `start`."""
        leaves = jax.tree.leaves(memory)
        leaves, actions, noted = self._act(
            self._actor_leaves, leaves, start, observations, rewards, uniforms, np.int32(seed)
        )
        return leaves, np.asarray(actions), noted

    def memory(self, leaves: Any) -> Any:
        """The memory whose leaves `act` returned."""
        return jax.tree.unflatten(self._memory_structure, jax.tree.leaves(leaves))

    def _compile(self, structure: Any, rest: Any) -> None:
        def rebuilt(leaves: list[Array]) -> Actor[Any]:
            return eqx.combine(jax.tree.unflatten(structure, leaves), rest)

        def fresh(leaves: list[Array], seed: Int[Array, ""]) -> Any:
            keys = jax.random.split(jax.random.key(seed), self._copies)
            return jax.vmap(rebuilt(leaves).start)(keys)

        shape = jax.eval_shape(fresh, self._actor_leaves, np.int32(0))
        self._memory_structure = jax.tree.structure(shape)

        def begin(leaves: list[Array], seed: Int[Array, ""]) -> list[Array]:
            return jax.tree.leaves(fresh(leaves, seed))

        def act(
            leaves: list[Array],
            memory_leaves: list[Array],
            start: Bool[Array, " n"],
            observations: Shaped[Array, "n *observation"],
            rewards: Float[Array, " n"],
            uniforms: Float[Array, "n 2"],
            seed: Int[Array, ""],
        ) -> tuple[list[Array], Int[Array, " n"], Any]:
            actor = rebuilt(leaves)
            memory = jax.tree.unflatten(self._memory_structure, memory_leaves)
            before = jax.tree.map(
                lambda new, old: jax.vmap(jnp.where)(start, new, old), fresh(leaves, seed), memory
            )
            paid = jnp.where(start, 0.0, rewards)
            after = jax.vmap(actor.act)(before, observations, paid, uniforms)
            noted = jax.vmap(self._note)(before, after)
            return jax.tree.leaves(after), after.action, noted

        self._begin = jax.jit(begin)
        self._act = jax.jit(act)


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


def host_returns(
    stage: HostStage, *, num_episodes: int, discount: float
) -> tuple[Float[np.ndarray, " N"], Float[np.ndarray, " N"], Int[np.ndarray, " N"]]:
    """Discounted and undiscounted returns, and lengths, of `num_episodes` episodes.

    Every environment plays its share, fixed beforehand: were the first ones to end taken, short
    episodes would be too many among them.
    """
    copies = stage.driver.copies
    share = np.full(copies, num_episodes // copies)
    share[: num_episodes % copies] += 1
    stage.begin(seeded=True)
    discounted, undiscounted, lengths = np.zeros(copies), np.zeros(copies), np.zeros(copies, int)
    done: list[tuple[float, float, int]] = []
    for row, _ in stage.play():
        counted = row["valid"] & (share > 0)
        reward = np.where(counted, row["rewards"].astype(float), 0.0)
        discounted += discount**lengths * reward
        undiscounted += reward
        lengths += counted
        for i in np.flatnonzero(counted & row["ended"]):
            done.append((discounted[i], undiscounted[i], lengths[i]))
            discounted[i] = undiscounted[i] = lengths[i] = 0
            share[i] -= 1
        if not share.any():
            break
    first, second, third = zip(*done, strict=True)
    return np.asarray(first), np.asarray(second), np.asarray(third)


def standard_error(values: Float[np.ndarray, " N"] | Int[np.ndarray, " N"]) -> float:
    """Of the mean of `values`; NaN for a single one."""
    return float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan
