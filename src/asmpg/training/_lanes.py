"""Seeds on their way: each in a lane of its own, or all abreast where the device likes width."""

import abc
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from asmpg.training._checkpoint import is_array, is_key, raw
from asmpg.training._program import Program, SeedState
from asmpg.training._standing import SavedSeed, Standing

#: For what runs once: with all optimisations, compiling it takes three times as long.
_HASTILY: Any = {"compiler_options": {"xla_backend_optimization_level": 1}}


class Outcome(eqx.Module):
    """The end of a chunk: the state to go on from, and the rest as numpy arrays, an entry a seed.

    `state` is the device's; the numbers of `counts` are its steps, episodes and updates.
    """

    state: SeedState
    counts: Mapping[str, Any]
    finite: Any
    evaluation: Mapping[str, Any]


class Lane(abc.ABC):
    """Some seeds that advance together."""

    program: Program
    seeds: tuple[int, ...]
    standings: list[Standing]
    state: SeedState
    best: SeedState
    #: How many lanes may be on their way at once; 0: all.
    together: int = 0

    @abc.abstractmethod
    def advance(self, until: Sequence[int]) -> Outcome:
        """Advance each seed to a number of steps of its own. Changes nothing in the lane."""

    @abc.abstractmethod
    def commit(self, state: SeedState, improved: Sequence[bool]) -> None:
        """Go on from `state`; it is the best so far of the seeds that `improved`."""

    @abc.abstractmethod
    def split(self, state: SeedState) -> Iterator[SeedState]:
        """The states of the seeds, one by one."""

    def warm_up(self) -> None:
        """Compile whatever needs compiling; nothing else changes."""
        self.advance([0] * len(self.seeds))

    def close(self) -> None:  # noqa: B027
        """Let go of what is not memory."""

    def save(self) -> Iterator[tuple[int, SavedSeed]]:
        """Each seed with what it could go on from."""
        states = (self.split(state) for state in (self.state, self.best))
        for seed, last, best, standing in zip(self.seeds, *states, self.standings, strict=True):
            yield seed, SavedSeed(last, best, standing)


class OneSeedLane(Lane):
    """One seed alone, its states without an axis for seeds."""

    def commit(self, state: SeedState, improved: Sequence[bool]) -> None:
        """Keep the states."""
        self.state = state
        if improved[0]:
            self.best = state

    def split(self, state: SeedState) -> Iterator[SeedState]:
        """The state itself."""
        yield state


class SingleLane(OneSeedLane):
    """One seed: nothing beside it can change its results."""

    def __init__(self, program: Program, seed: int, saved: SavedSeed | None):
        """Start `seed`, or go on from where it was saved."""
        self.program = program
        self.seeds = (seed,)
        self.standings = [saved.standing if saved else Standing()]
        self.state = saved.last if saved else program.start(jnp.asarray(seed))
        self.best = saved.best if saved else self.state

    def advance(self, until: Sequence[int]) -> Outcome:
        """Run the compiled program."""
        state, evaluation = self.program.advance(self.state, jnp.asarray(until[0]))
        return make_outcome(state, evaluation, axis=True)


class StackedLane(Lane):
    """Many seeds in one program, with `vmap` over all of them."""

    def __init__(self, program: Program, seeds: Sequence[int], saved: Mapping[int, SavedSeed]):
        """Start the seeds, or go on from where they were saved."""
        self.program = program
        self.seeds = tuple(seeds)
        self.standings = [saved[n].standing if n in saved else Standing() for n in seeds]
        self.state = self.best = _start_all(program, jnp.asarray(seeds))
        if saved:
            fresh = dict(zip(seeds, self.split(self.state), strict=True))
            pairs = [
                (saved[n].last, saved[n].best) if n in saved else (fresh[n],) * 2 for n in seeds
            ]
            self.state, self.best = (_stack(states) for states in zip(*pairs, strict=True))

    def advance(self, until: Sequence[int]) -> Outcome:
        """Run the compiled program for all seeds at once."""
        state, evaluation = _advance_all(self.program, self.state, jnp.asarray(until))
        return make_outcome(state, evaluation, axis=False)

    def commit(self, state: SeedState, improved: Sequence[bool]) -> None:
        """Keep the states; the best ones are picked on the device."""
        self.state = state
        if any(improved):
            self.best = _pick(jnp.asarray(improved), state, self.best)

    def split(self, state: SeedState) -> Iterator[SeedState]:
        """Slices, in the host's memory, with PRNG keys as plain integers."""
        arrays, rest = eqx.partition(state, eqx.is_array)
        arrays = jax.tree.map(lambda leaf: np.asarray(raw(leaf)), arrays)
        for place in range(len(self.seeds)):
            yield eqx.combine(jax.tree.map(lambda leaf, i=place: leaf[i], arrays), rest)


def make_lanes(
    program: Program, seeds: Sequence[int], saved: Mapping[int, SavedSeed], *, abreast: bool
) -> list[Lane]:
    """A lane for each seed, or one for all of them `abreast`."""
    if abreast:
        return [StackedLane(program, seeds, saved)]
    return [SingleLane(program, seed, saved.get(seed)) for seed in seeds]


def make_outcome(state: SeedState, evaluation: Mapping[str, Any], *, axis: bool) -> Outcome:
    """The end of a chunk; `axis`: of one seed, whose numbers lack the axis of seeds."""
    counts = {name: getattr(state, name) for name in ("steps", "episodes", "updates")}
    numbers = jax.device_get((counts, state.finite, dict(evaluation)))
    if axis:
        numbers = jax.tree.map(lambda number: np.asarray(number)[None], numbers)
    return Outcome(state, *numbers)


@eqx.filter_jit(**_HASTILY)
def _start_all(program: Program, seeds: Int[Array, " n"]) -> SeedState:
    return eqx.filter_vmap(program.start)(seeds)


@eqx.filter_jit
def _advance_all(
    program: Program, states: SeedState, until: Int[Array, " n"]
) -> tuple[SeedState, dict[str, Float[Array, " n"]]]:
    return eqx.filter_vmap(program.advance)(states, until)


@eqx.filter_jit
def _pick(chosen: Bool[Array, " n"], these: SeedState, those: SeedState) -> SeedState:
    def pick(this: Any, that: Any) -> Any:
        if not eqx.is_array(this):
            return this
        return jax.vmap(jnp.where)(chosen, this, that)

    return jax.tree.map(pick, these, those)


def _stack(states: Sequence[SeedState]) -> SeedState:
    def stack(*leaves: Any) -> Any:
        if not is_array(leaves[0]):
            return leaves[0]
        stacked = jnp.asarray(np.stack([np.asarray(raw(leaf)) for leaf in leaves]))
        return jax.random.wrap_key_data(stacked) if any(map(is_key, leaves)) else stacked

    return jax.tree.map(stack, *states)
