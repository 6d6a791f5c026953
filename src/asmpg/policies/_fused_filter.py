"""The filter as one kernel of a GPU: the loop over time is inside, beliefs never leave the chip.

A loop outside launches several kernels at every step, and products of matrices are more work than
the loop; this is neither. Where the matrices are in a table, they are read there and nowhere
written out, and the gradient is added up by the rows of the table.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jaxtyping import Array, Bool, Float, Int

from asmpg._support.devices import current_device
from asmpg.policies._kernel_tables import Moves
from asmpg.policies._parallel_filter import TINY

triton: Any
try:
    from jax.experimental.pallas import triton
except ImportError:  # Deprecated since jax 0.11.2: a later version may lack it.
    triton = None

#: More agent states than this do not fit into the registers of a block of threads.
MOST_FUSED = 128
#: How many numbers of a matrix a warp of 32 threads has, but that there are eight warps at most.
_OF_A_WARP = 512
#: How many steps are looked at together for those that have a matrix; fewer where it does not fit.
_TOGETHER = 16


def can_fuse(num_states: int) -> bool:
    """Whether the device at hand compiles such kernels, and beliefs of this length fit into one."""
    device = current_device()
    cuda = device.platform == "gpu" and "cuda" in device.client.platform_version.lower()
    return cuda and triton is not None and num_states <= MOST_FUSED


def beliefs_by_kernel(
    start: Float[Array, "N S"],
    first: Bool[Array, "T N"],
    moves: Moves,
    likelihood: Float[Array, "T N S"],
) -> tuple[Float[Array, "T N S"], Float[Array, "T N S"]]:
    """As `beliefs_by_steps`, with moves that need not be looked up."""
    states = start.shape[-1]
    # Blocks have powers of two: states are added that are never entered.
    width = pl.next_power_of_2(states)
    more = width - states
    if moves.index is None:
        table = _padded(moves.matrices, more, more).reshape(-1, width)
        index = jnp.arange(first.size, dtype=jnp.int32).reshape(first.shape)
        places = _Places(states, first.size, starts=0, stride=1, step=width, shared=False)
    else:
        index, starts = moves.index, moves.starts
        pairs = (len(moves.matrices) - starts) // states
        table = _padded(moves.matrices, more * pairs, more)
        places = _Places(states, pairs, starts=starts, stride=pairs, step=1, shared=True)
    start, likelihood = _padded(start, more), _padded(likelihood, more)
    now, after = _beliefs(places, start, first, table, index, likelihood)
    return now[..., :states], after[..., :states]


def _padded(array: Array, *more: int) -> Array:
    """With so many zeros at the end of each of the last axes."""
    if not any(more):
        return array
    return jnp.pad(array, [(0, 0)] * (array.ndim - len(more)) + [(0, count) for count in more])


class _Places(NamedTuple):
    """Where the rows of matrix `number` are: `starts + stride * state + step * number`.

    Matrices with a `number` of `pairs` or more have one row for all states, `number - pairs`.
    """

    states: int
    pairs: int
    starts: int
    stride: int
    step: int
    #: Whether several steps may have the same matrix.
    shared: bool

    def rows(self, number: Int[Array, ""], width: int) -> Int[Array, " W"]:
        own = self.starts + self.stride * jnp.arange(width) + self.step * number
        return jnp.where(number < self.pairs, own, number - self.pairs)

    def uniform(self, width: int, dtype: Any) -> Float[Array, " W"]:
        """What is believed where an episode starts."""
        return jnp.where(jnp.arange(width) < self.states, 1 / self.states, 0.0).astype(dtype)


def _forward(
    places: _Places,
    start: Float[Array, "N W"],
    first: Bool[Array, "T N"],
    table: Float[Array, "R W"],
    index: Int[Array, "T N"],
    likelihood: Float[Array, "T N W"],
) -> tuple[tuple[Float[Array, "T N W"], Float[Array, "T N W"]], tuple[Any, ...]]:
    steps, lanes, width = likelihood.shape

    def kernel(*arrays: Any) -> None:
        start, restarts, table, index, likelihood, nows, afters = arrays
        lane = pl.program_id(0)
        uniform = places.uniform(width, likelihood.dtype)

        def step(time: Int[Array, ""], belief: Float[Array, " W"]) -> Float[Array, " W"]:
            before = jnp.where(restarts[time, lane] > 0, uniform, belief)
            move = table[places.rows(index[time, lane], width), :]
            now = jnp.sum(before[:, None] * move, axis=0)
            mass = now * likelihood[time, lane] + TINY
            after = mass / jnp.sum(mass)
            nows[time, lane], afters[time, lane] = now, after
            return after

        jax.lax.fori_loop(0, steps, step, start[lane])

    run = _call(kernel, lanes, likelihood.shape, likelihood.shape)
    now, after = run(start, first.astype(jnp.int32), table, index, likelihood)
    return (now, after), (start, first, table, index, likelihood, now, after)


def _backward(
    places: _Places,
    kept: tuple[Any, ...],
    slopes: tuple[Float[Array, "T N W"], Float[Array, "T N W"]],
) -> tuple[Array | None, ...]:
    """As that of `beliefs_by_steps`: along the beliefs first, then of all that they follow from."""
    start, first, table, index, likelihood, now, after = kept
    mass = jnp.sum(now * likelihood + TINY, axis=-1, keepdims=True)
    steps, lanes, width = likelihood.shape

    def kernel(*arrays: Any) -> None:
        restarts, table, index, rate, after, of_now, of_after, *found = arrays
        starts, centreds, masses = found
        lane = pl.program_id(0)

        def step(count: Int[Array, ""], later: Float[Array, " W"]) -> Float[Array, " W"]:
            time = steps - 1 - count
            slope = of_after[time, lane] + later
            centred = slope - jnp.sum(after[time, lane] * slope)
            of_mass = of_now[time, lane] + rate[time, lane] * centred
            move = table[places.rows(index[time, lane], width), :]
            earlier = jnp.sum(move * of_mass[None, :], axis=1)
            centreds[time, lane], masses[time, lane] = centred, of_mass
            return jnp.where(restarts[time, lane] > 0, jnp.zeros_like(later), earlier)

        starts[lane] = jax.lax.fori_loop(0, steps, step, jnp.zeros(width, rate.dtype))

    run = _call(kernel, lanes, start.shape, likelihood.shape, likelihood.shape)
    restarts = first.astype(jnp.int32)
    of_start, centred, of_mass = run(restarts, table, index, likelihood / mass, after, *slopes)
    earlier = jnp.concatenate([start[None], after[:-1]])
    before = jnp.where(first[..., None], places.uniform(width, start.dtype), earlier)
    if places.shared:
        of_table = _slopes_by_row(places, len(table), index, before, of_mass)
    else:
        of_table = (before[..., None] * of_mass[..., None, :]).reshape(table.shape)
    return of_start, None, of_table, None, now * centred / mass


def _slopes_by_row(
    places: _Places,
    rows: int,
    index: Int[Array, "T N"],
    before: Float[Array, "T N W"],
    of_mass: Float[Array, "T N W"],
) -> Float[Array, "R W"]:
    """Each matrix's, added up over the steps that have it, always in the same order."""
    steps, width = index.size, before.shape[-1]
    together = math.gcd(steps, _TOGETHER)

    def kernel(*arrays: Any) -> None:
        index, before, of_mass, totals = arrays
        number = pl.program_id(0)

        def add(
            step: Int[Array, ""], whose: Int[Array, ""], total: Float[Array, "W W"]
        ) -> Float[Array, "W W"]:
            return jax.lax.cond(
                whose == number,
                lambda: total + before[step][:, None] * of_mass[step][None, :],
                lambda: total,
            )

        def add_some(block: Int[Array, ""], total: Float[Array, "W W"]) -> Float[Array, "W W"]:
            # Most steps have another matrix: their numbers are asked for at once, not in turn.
            some = [block * together + place for place in range(together)]
            for step, whose in [(step, index[step]) for step in some]:
                total = add(step, whose, total)
            return total

        nothing = jnp.zeros((width, width), before.dtype)
        total = jax.lax.fori_loop(0, steps // together, add_some, nothing)

        @pl.when(number < places.pairs)
        def _() -> None:
            totals[places.rows(number, width), :] = total

        @pl.when(number >= places.pairs)
        def _() -> None:
            totals[number - places.pairs] = jnp.sum(total, axis=0)

    flat = (array.reshape(steps, width) for array in (before, of_mass))
    run = _call(kernel, places.pairs + places.starts, (rows, width))
    return run(index.ravel(), *flat)[0]


def _only_beliefs(*arguments: Any) -> tuple[Float[Array, "T N W"], Float[Array, "T N W"]]:
    return _forward(*arguments)[0]


_beliefs: Any = jax.custom_vjp(_only_beliefs, nondiff_argnums=(0,))
_beliefs.defvjp(_forward, _backward)


def _call(kernel: Callable[..., None], blocks: int, *shapes: tuple[int, ...]) -> Any:
    """Run a kernel in so many blocks of threads; without a GPU, slowly."""
    if triton is None:
        raise ValueError(
            f'filter must be "auto", "parallel" or "sequential" with jax {jax.__version__}, which '
            'no longer has what "fused" is written in, the Triton backend of Pallas'
        )
    warps = min(8, max(1, shapes[0][-1] ** 2 // _OF_A_WARP))

    def run(*arrays: Array) -> tuple[Array, ...]:
        return pl.pallas_call(
            kernel,
            out_shape=tuple(jax.ShapeDtypeStruct(shape, arrays[-1].dtype) for shape in shapes),
            grid=(blocks,),
            interpret=current_device().platform == "cpu",
            compiler_params=triton.CompilerParams(num_warps=warps, num_stages=2),
        )(*arrays)

    return run
