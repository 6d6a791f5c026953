"""Seeds being trained: each on its own, or all in one program where the device likes width."""

import abc
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Bool, Float, Int

from asmpg._support.devices import all_devices
from asmpg.methods import Method
from asmpg.runs import (
    Arrays,
    Contents,
    SavedSeed,
    SeedStatus,
    can_be_packed,
    is_array,
    is_key,
    named_arrays,
    packed,
    raw,
)
from asmpg.training._program import HASTILY, Program, SeedState, compiled, start_seed

#: The axis of the mesh of devices.
_SEEDS = "seeds"
#: So many seeds' states are fetched from a device at a time: little memory, used again and again.
_FETCHED = 32


@dataclasses.dataclass(frozen=True)
class Chunk:
    """The end of a chunk: the state to continue from, and the rest as numpy arrays, one per seed.

    `state` is the device's; the numbers of `counts` are its steps, episodes and updates.
    """

    state: SeedState
    counts: Mapping[str, Any]
    finite: Any
    evaluation: Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Seat:
    """A seed of one of the runs that are trained together."""

    run: int
    seed: int


class SeedBatch(abc.ABC):
    """Some seeds that advance together."""

    seats: tuple[Seat, ...]
    statuses: list[SeedStatus]
    state: SeedState
    best: SeedState
    #: How many such batches may advance at once; 0: all.
    together: int = 0
    #: Whether the next chunk begins before the last one is looked at and written down, unless its
    #: scores decide which seeds go on; it is dropped if training ends there.
    hurries: bool = False

    @abc.abstractmethod
    def advance(self, state: SeedState, until: Sequence[int]) -> Chunk:
        """Advance each seed from `state` to a number of steps of its own.

        Changes nothing in the batch.
        """

    @abc.abstractmethod
    def best_after(self, state: SeedState, improved: Sequence[bool]) -> SeedState:
        """The best so far: `state` of the seeds that `improved`. Changes nothing in the batch."""

    @abc.abstractmethod
    def split(self, state: SeedState) -> Iterator[SeedState]:
        """The states of the seeds, one by one."""

    @abc.abstractmethod
    def contents(
        self, state: SeedState, places: Sequence[int], *, at_rest: bool = False
    ) -> Iterator[Contents]:
        """What checkpoints hold of the states of the seeds at these places, one by one.

        `at_rest`, no chunk is being computed, and devices may be given something to do.
        """

    def warm_up(self) -> None:
        """Compile whatever needs compiling; nothing else changes."""
        self.advance(self.state, [0] * len(self.seats))

    def close(self) -> None:  # noqa: B027
        """Let go of what is not memory."""

    def save(self) -> Iterator[tuple[Seat, SavedSeed]]:
        """Each seed with what it could resume from."""
        states = (self.split(state) for state in (self.state, self.best))
        for seat, last, best, status in zip(self.seats, *states, self.statuses, strict=True):
            yield seat, SavedSeed(last, best, status)


class OneSeed(SeedBatch):
    """One seed alone, its states without an axis for seeds."""

    def __init__(self, program: Program, seat: Seat, saved: SavedSeed | None):
        """Start the seed, or resume it from where it was saved."""
        self.program = program
        self.seats = (seat,)
        self.statuses = [saved.status if saved else SeedStatus()]
        self.state = saved.last if saved else start_seed(program, seat.seed)
        self.best = saved.best if saved else self.state

    def best_after(self, state: SeedState, improved: Sequence[bool]) -> SeedState:
        return state if improved[0] else self.best

    def split(self, state: SeedState) -> Iterator[SeedState]:
        yield state

    def contents(
        self, state: SeedState, places: Sequence[int], *, at_rest: bool = False
    ) -> Iterator[Contents]:
        if places:
            yield Arrays(named_arrays(state))


class CompiledSeed(OneSeed):
    """One seed in a compiled environment: nothing beside it can change its results."""

    def advance(self, state: SeedState, until: Sequence[int]) -> Chunk:
        state, average = self.program.update_until(state, jax.device_put(np.int32(until[0])))
        return end_of_chunk(state, self.program.evaluate(state) | average)


class StackedSeeds(SeedBatch):
    """Many seeds in one program, with `vmap` over all of them.

    They may be of several runs whose methods differ in numbers only. Where there are several
    devices, each has its share of the seeds, and none waits for another before the next evaluation.
    If the seeds cannot be shared evenly, copies of the last one fill up; they take no step, and
    nobody sees them.
    """

    hurries = True

    def __init__(
        self,
        programs: Sequence[Program],
        seats: Sequence[Seat],
        saved: Mapping[Seat, SavedSeed],
    ):
        """Start the seeds, or resume them from where they were saved."""
        self.seats = tuple(seats)
        self._program = programs[0]
        self._devices = devices_for(len(seats))
        self._copies = -len(seats) % len(self._devices)
        filled = [*seats, *[seats[-1]] * self._copies]
        places = jnp.asarray([seat.run for seat in filled])
        methods = [program.method for program in programs]
        stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves)[places], *methods)
        self.statuses = [saved[n].status if n in saved else SeedStatus() for n in seats]
        seeds = jnp.asarray([seat.seed for seat in filled])
        state = best = _start_all(self._program, stacked, seeds)
        if saved:
            fresh = dict(zip(seats, self.split(state), strict=True))
            pairs = [
                (saved[n].last, saved[n].best) if n in saved else (fresh[n],) * 2 for n in filled
            ]
            state, best = (_stack(states) for states in zip(*pairs, strict=True))
        self._methods, self.state, self.best = map(self._shared, (stacked, state, best))
        self._advance_all = compiled(_advance_all)
        self._block = min(_FETCHED, len(seats))
        self._packs = False

    def warm_up(self) -> None:
        super().warm_up()
        self.best_after(self.state, [True] * len(self.seats))
        self._packs = len(self._devices) == 1 and can_be_packed(self.state, self._block)

    def advance(self, state: SeedState, until: Sequence[int]) -> Chunk:
        targets = jnp.asarray(np.array([*until, *[0] * self._copies], np.int32))
        state, evaluation = self._advance_all(
            self._program, self._methods, state, targets, self._devices
        )
        return end_of_chunk(state, evaluation, len(self.seats))

    def best_after(self, state: SeedState, improved: Sequence[bool]) -> SeedState:
        """Picked on the device."""
        if not any(improved):
            return self.best
        chosen = jnp.asarray(np.array([*improved, *[False] * self._copies]))
        return _pick(chosen, state, self.best)

    def split(self, state: SeedState) -> Iterator[SeedState]:
        """Slices, in the host's memory, with PRNG keys as plain integers."""
        leaves, structure = jax.tree.flatten(state)
        leaves = jax.device_get([raw(leaf) for leaf in leaves])
        count = len(self.seats)
        columns = [[*leaf[:count]] if is_array(leaf) else [leaf] * count for leaf in leaves]
        for row in zip(*columns, strict=True):
            yield jax.tree.unflatten(structure, row)

    def contents(
        self, state: SeedState, places: Sequence[int], *, at_rest: bool = False
    ) -> Iterator[Contents]:
        """At rest, while some are being written, the next come from the device."""
        if at_rest and self._packs:
            yield from packed(state, places, self._block)
        elif places:
            fetched = named_arrays(state)
            for place in places:
                yield Arrays({name: stacked[place, ...] for name, stacked in fetched.items()})

    def _shared(self, tree: Any) -> Any:
        """With each device's share of the seeds on it."""
        if len(self._devices) == 1:
            return tree
        sharding = NamedSharding(_mesh(self._devices), PartitionSpec(_SEEDS))
        arrays, rest = eqx.partition(tree, eqx.is_array)
        return eqx.combine(jax.device_put(arrays, sharding), rest)


def devices_for(seeds: int) -> tuple[Any, ...]:
    """Those that share so many seeds: all of this process, but no more than there are seeds."""
    return tuple(all_devices()[:seeds])


def end_of_chunk(
    state: SeedState, evaluation: Mapping[str, Any], seeds: int | None = None
) -> Chunk:
    """What happened to the first so many `seeds`; if `None`, numbers lack the axis of seeds."""
    counts = {name: getattr(state, name) for name in ("steps", "episodes", "updates")}
    numbers = jax.device_get((counts, state.finite, dict(evaluation)))
    numbers = jax.tree.map(lambda number: np.atleast_1d(number)[:seeds], numbers)
    return Chunk(state, *numbers)


def _with_method(program: Program, method: Method[Any]) -> Program:
    return eqx.tree_at(lambda program: program.method, program, method)


@eqx.filter_jit(**HASTILY)
def _start_all(program: Program, methods: Method[Any], seeds: Int[Array, " n"]) -> SeedState:
    def start(method: Method[Any], seed: Int[Array, ""]) -> SeedState:
        return _with_method(program, method).start(seed)

    return eqx.filter_vmap(start)(methods, seeds)


def _advance_all(
    program: Program,
    methods: Method[Any],
    states: SeedState,
    until: Int[Array, " n"],
    devices: tuple[Any, ...],
) -> tuple[SeedState, dict[str, Float[Array, " n"]]]:
    """Each device runs a program of its own on its share: nothing passes between them."""
    shared, rest = eqx.partition((methods, states, until), eqx.is_array)
    everywhere, plain = eqx.partition(program, eqx.is_array)

    def advance(
        program: Program, method: Method[Any], state: SeedState, until: Int[Array, ""]
    ) -> tuple[SeedState, dict[str, Float[Array, ""]]]:
        return _with_method(program, method).advance(state, until)

    def share(everywhere: Any, shared: Any) -> tuple[Any, dict[str, Float[Array, " k"]]]:
        program, (methods, states, until) = (
            eqx.combine(everywhere, plain),
            eqx.combine(shared, rest),
        )
        each = eqx.filter_vmap(advance, in_axes=(None, *[eqx.if_array(0)] * 3))
        states, evaluation = each(program, methods, states, until)
        return eqx.filter(states, eqx.is_array), evaluation

    if len(devices) > 1:
        seeds = PartitionSpec(_SEEDS)
        share = jax.shard_map(
            share,
            mesh=_mesh(devices),
            in_specs=(PartitionSpec(), seeds),
            out_specs=seeds,
            check_vma=False,
        )
    arrays, evaluation = share(everywhere, shared)
    return eqx.combine(arrays, rest[1]), evaluation


def _mesh(devices: tuple[Any, ...]) -> Mesh:
    return Mesh(np.array(devices), (_SEEDS,))


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
