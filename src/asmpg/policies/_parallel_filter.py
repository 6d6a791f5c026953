"""The filter without a loop over time: beliefs are products of matrices, by a parallel scan.

With `M_t(i, s) = nu(s | i, a_{t-1}, o_t) phi(a_t | s)`, the belief after `t` steps is
`c_0 M_1 ... M_t` up to a factor. Products are associative: `log T` of them in a row, then as many
products of a vector and a matrix, give all `T` beliefs, and as many their gradient. That is more
work than a loop of `T` products of a vector and a matrix, and much less waiting.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

#: Keeps a row a distribution where every probability has been rounded to zero.
TINY = 1e-30
#: Products of matrices of at most this size are written out.
_MOST_UNROLLED = 16
#: GPUs would else round the factors to ten bits.
EXACTLY = jax.lax.Precision.HIGHEST


@jax.custom_vjp
def beliefs_along(
    start: Float[Array, "N S"], first: Bool[Array, "T N"], moves: Float[Array, "T N S S"]
) -> Float[Array, "T N S"]:
    """The beliefs `c_t = c_{t-1} M_t / z_t` after each step, from `c_0 = start`.

    `z_t` makes it a distribution. Where `first`, an episode starts, and `c_{t-1}` is uniform
    instead: what came before is forgotten, by the gradient as well.
    """
    return _forward(start, first, moves)[0]


def before_each(
    start: Float[Array, "N S"], first: Bool[Array, "T N"], after: Float[Array, "T N S"]
) -> Float[Array, "T N S"]:
    """`c_{t-1}` at each step, from the beliefs `after` them."""
    earlier = jnp.concatenate([start[None], after[:-1]])
    return jnp.where(first[..., None], 1 / start.shape[-1], earlier)


def scan_states(
    start: Any, elements: Any, compose: Callable[[Any, Any], Any], act: Callable[[Any, Any], Any]
) -> Any:
    """The states `x_t = act(x_{t-1}, e_t)` for `t = 1, ..., T`, from `x_0 = start`.

    `act(act(x, e), f)` must be `act(x, compose(e, f))`. Elements are composed in pairs, pairs of
    pairs, and so on; then states are found at every `T/2` steps, `T/4` and so on. Unlike
    `jax.lax.associative_scan`, it never composes what only states are asked of.
    """
    steps = len(jax.tree.leaves(elements)[0])
    pairs = steps // 2
    before = jax.tree.map(lambda leaf: leaf[None], start)
    odd = None
    if pairs:
        one, two = (
            jax.tree.map(lambda leaf, i=i: leaf[i : 2 * pairs : 2], elements) for i in (0, 1)
        )
        odd = scan_states(start, compose(one, two), compose, act)
        before = jax.tree.map(lambda *parts: jnp.concatenate(parts)[: steps - pairs], before, odd)
    even = act(before, jax.tree.map(lambda leaf: leaf[::2], elements))
    return even if odd is None else jax.tree.map(_interleaved, even, odd)


def _interleaved(even: Array, odd: Array) -> Array:
    pairs = len(odd)
    both = jnp.stack([even[:pairs], odd], axis=1).reshape(2 * pairs, *odd.shape[1:])
    return jnp.concatenate([both, even[pairs:]])


def _forward(
    start: Float[Array, "N S"], first: Bool[Array, "T N"], moves: Float[Array, "T N S S"]
) -> tuple[Float[Array, "T N S"], tuple[Any, ...]]:
    """By products of matrices `exp(scale_i) rows_i`, whose rows are distributions.

    Rows of a product may differ by any factor: as each has a logarithm of its own for its scale,
    none can underflow beside a larger one. Where an episode starts, all rows are equal.
    """
    fresh = jnp.broadcast_to(moves.mean(axis=-2, keepdims=True), moves.shape)
    changed = jnp.where(first[..., None, None], fresh, moves) + TINY
    mass = changed.sum(axis=-1, keepdims=True)
    matrices = (jnp.log(mass[..., 0]), changed / mass)
    nothing = jnp.zeros((*start.shape[:-1], 1), start.dtype)
    _, after = scan_states((nothing, start[..., None, :]), matrices, _product, _product)
    return after[..., 0, :], (start, first, moves, after[..., 0, :])


def _product(one: tuple[Array, Array], other: tuple[Array, Array]) -> tuple[Array, Array]:
    """Of rows with their scales, one or many, and such a matrix."""
    (scale, rows), (other_scale, other_rows) = one, other
    weights = jnp.log(rows + TINY) + other_scale[..., None, :]
    top = weights.max(axis=-1, keepdims=True)
    product = _multiplied(jnp.exp(weights - top), other_rows)
    mass = product.sum(axis=-1, keepdims=True)
    return scale + (top + jnp.log(mass))[..., 0], product / mass


def _backward(kept: tuple[Any, ...], slope: Float[Array, "T N S"]) -> tuple[Array | None, ...]:
    """The slopes of all arguments, by a recurrence that is linear as well.

    Let `g_t` be the slope of `c_t`, and `y_t` that of all that follows from `c_t`, times `c_t` and
    with mean zero:

    ```
    y_t(s) = c_t(s) (g_t(s) - sum_j c_t(j) g_t(j)) + sum_u B_{t+1}(s, u) y_{t+1}(u)
    B_t(i, s) = c_{t-1}(i) M_t(i, s) / sum_j c_{t-1}(j) M_t(j, s)
    ```

    `B_t(i, s)` is the probability of having come from `i`, given `s`: its columns are
    distributions, and so are those of all products, which can neither underflow nor overflow. The
    slope of `M_t(i, s)` is `c_{t-1}(i) y_t(s) / (c_t(s) z_t)`.
    """
    start, first, moves, after = kept
    before = before_each(start, first, after)
    flow = before[..., None] * moves
    arriving = flow.sum(axis=-2)
    mass = arriving.sum(axis=-1, keepdims=True) + TINY
    origins = jnp.where(first[..., None, None], 0, flow / (arriving + TINY)[..., None, :])
    later = jnp.concatenate([origins[1:], jnp.zeros_like(origins[:1])])
    centred = after * (slope - jnp.sum(after * slope, axis=-1, keepdims=True))
    backwards = (jnp.flip(later, 0), jnp.flip(centred, 0)[..., None])
    nothing = jnp.zeros((*start.shape, 1), start.dtype)
    total = jnp.flip(scan_states(nothing, backwards, _affine, _moved)[..., 0], 0)
    of_mass = total / ((after + TINY) * mass)
    of_start = jnp.einsum("nis,ns->ni", moves[0], of_mass[0], precision=EXACTLY)
    of_start = jnp.where(first[0][:, None], 0, of_start)
    return of_start, None, before[..., None] * of_mass[..., None, :]


def _moved(state: Array, element: tuple[Array, Array]) -> Array:
    """`B y + g`."""
    matrix, added = element
    return _multiplied(matrix, state) + added


def _affine(one: tuple[Array, Array], other: tuple[Array, Array]) -> tuple[Array, Array]:
    """`y -> B y + g` for `one`, and then for the `other`."""
    return _multiplied(other[0], one[0]), _moved(one[1], other)


def _multiplied(
    one: Float[Array, "*batch n m"], other: Float[Array, "*batch m k"]
) -> Float[Array, "*batch n k"]:
    """Small matrices by the sum of their outer products: one kernel, where libraries are slow."""
    inner = one.shape[-1]
    if inner > _MOST_UNROLLED:
        return jnp.matmul(one, other, precision=EXACTLY)
    terms = (one[..., :, i, None] * other[..., None, i, :] for i in range(inner))
    return functools.reduce(jnp.add, terms)


beliefs_along.defvjp(_forward, _backward)
