"""The filter as one kernel of a GPU: the loop over time is inside, beliefs never leave the chip.

A loop outside launches several kernels at every step, and products of matrices are more work than
the loop; this is neither. Matrices are read where they lie, in a table that many steps share.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton
from jaxtyping import Array, Bool, Float, Int

from asmpg._support.devices import current_device
from asmpg.policies._parallel_filter import TINY, before_each

#: More agent states than this do not fit into the registers of a block of threads.
MOST_FUSED = 128


def can_fuse(num_states: int) -> bool:
    """Whether the device at hand compiles such kernels, and beliefs of this length fit into one."""
    device = current_device()
    cuda = device.platform == "gpu" and "cuda" in device.client.platform_version.lower()
    return cuda and num_states <= MOST_FUSED


@jax.custom_vjp
def beliefs_by_kernel(
    start: Float[Array, "N S"],
    first: Bool[Array, "T N"],
    matrices: Float[Array, "K S S"],
    index: Int[Array, "T N"],
    likelihood: Float[Array, "T N S"],
) -> tuple[Float[Array, "T N S"], Float[Array, "T N S"]]:
    """As `beliefs_by_steps`, with the moves `matrices[index]`."""
    return _forward(start, first, matrices, index, likelihood)[0]


def _forward(
    start: Float[Array, "N S"],
    first: Bool[Array, "T N"],
    matrices: Float[Array, "K S S"],
    index: Int[Array, "T N"],
    likelihood: Float[Array, "T N S"],
) -> tuple[tuple[Float[Array, "T N S"], Float[Array, "T N S"]], tuple[Any, ...]]:
    steps, lanes, states = likelihood.shape
    # Blocks have powers of two: states are added that are never entered.
    more = pl.next_power_of_2(states) - states
    start, likelihood = _padded(start, more), _padded(likelihood, more)
    matrices = _padded(matrices, more, axes=2)
    restarts = first.astype(jnp.int32)

    def kernel(start, restarts, matrices, index, likelihood, nows, afters) -> None:
        lane = pl.program_id(0)

        def step(time: Int[Array, ""], belief: Float[Array, " S"]) -> Float[Array, " S"]:
            before = jnp.where(restarts[time, lane] > 0, 1 / states, belief)
            now = jnp.sum(before[:, None] * matrices[index[time, lane]], axis=0)
            mass = now * likelihood[time, lane] + TINY
            after = mass / jnp.sum(mass)
            nows[time, lane], afters[time, lane] = now, after
            return after

        jax.lax.fori_loop(0, steps, step, start[lane])

    shape = jax.ShapeDtypeStruct(likelihood.shape, likelihood.dtype)
    arguments = (start, restarts, matrices, index, likelihood)
    now, after = _call(kernel, lanes, (shape, shape))(*arguments)
    kept = (start, first, matrices, index, likelihood, now, after)
    return (now[..., :states], after[..., :states]), kept


def _backward(
    kept: tuple[Any, ...], slopes: tuple[Float[Array, "T N S"], Float[Array, "T N S"]]
) -> tuple[Array | None, ...]:
    """As that of `beliefs_by_steps`, the slopes of the matrices added up in a table for each lane.

    Those of one lane come one after another, those of all lanes are added at the end: always in the
    same order.
    """
    start, first, matrices, index, likelihood, now, after = kept
    states = slopes[0].shape[-1]
    more = likelihood.shape[-1] - states
    of_now, of_after = (_padded(slope, more) for slope in slopes)
    before = _padded(before_each(start[:, :states], first, after[..., :states]), more)
    mass = jnp.sum(now * likelihood + TINY, axis=-1, keepdims=True)
    rate = likelihood / mass
    restarts = first.astype(jnp.int32)
    steps, lanes, width = likelihood.shape
    rows = len(matrices)

    def kernel(
        restarts, matrices, index, rate, before, after, of_now, of_after, starts, centreds, totals
    ) -> None:
        lane = pl.program_id(0)

        def clear(row: Int[Array, ""], nothing: None) -> None:
            totals[lane, row] = jnp.zeros((width, width), matrices.dtype)

        jax.lax.fori_loop(0, rows, clear, None)

        def step(count: Int[Array, ""], later: Float[Array, " S"]) -> Float[Array, " S"]:
            time = steps - 1 - count
            row = index[time, lane]
            slope = of_after[time, lane] + later
            centred = slope - jnp.sum(after[time, lane] * slope)
            of_mass = of_now[time, lane] + rate[time, lane] * centred
            earlier = jnp.sum(matrices[row] * of_mass[None, :], axis=1)
            totals[lane, row] = totals[lane, row] + before[time, lane][:, None] * of_mass[None, :]
            centreds[time, lane] = centred
            return jnp.where(restarts[time, lane] > 0, 0.0, earlier)

        starts[lane] = jax.lax.fori_loop(0, steps, step, jnp.zeros(width, matrices.dtype))

    shapes = (start.shape, likelihood.shape, (lanes, *matrices.shape))
    out = tuple(jax.ShapeDtypeStruct(shape, likelihood.dtype) for shape in shapes)
    arguments = (restarts, matrices, index, rate, before, after, of_now, of_after)
    of_start, centred, totals = _call(kernel, lanes, out)(*arguments)
    of_likelihood = (now * centred / mass)[..., :states]
    of_matrices = totals.sum(axis=0)[:, :states, :states]
    return of_start[:, :states], None, of_matrices, None, of_likelihood


beliefs_by_kernel.defvjp(_forward, _backward)


def _call(kernel: Any, lanes: int, out_shape: tuple[jax.ShapeDtypeStruct, ...]) -> Any:
    """One block of threads for each lane; where there is no GPU, step by step in Python."""
    return pl.pallas_call(
        kernel,
        out_shape=out_shape,
        grid=(lanes,),
        interpret=current_device().platform == "cpu",
        compiler_params=triton.CompilerParams(num_warps=4, num_stages=2),
    )


def _padded(array: Array, more: int, axes: int = 1) -> Array:
    """With so many zeros at the end of the last axes."""
    if not more:
        return array
    return jnp.pad(array, [(0, 0)] * (array.ndim - axes) + [(0, more)] * axes)
