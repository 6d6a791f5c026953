"""Checkpoints of many seeds, put together on the device: their files but for both ends.

A thousand checkpoints are written in the time that a disk takes, if Python does hardly anything for
each: its threads wait for one lock. So a device lays out the entries of the files, with their
checksums, for a block of seeds at a time. A checksum is a constant and, without carry, a sum
`xor_i T_i` over the bits `i` that are set, where the number `T_i` depends on how many bytes follow.
"""

import collections
import functools
import io
import itertools
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, UInt8, UInt32

from asmpg.runs._checkpoint import META, Contents, named_leaves
from asmpg.runs._npz import CHECKSUM, Entry, blank_checksums, framed, headings

#: The polynomial of zip's checksums, its bits reversed.
_POLYNOMIAL = 0xEDB88320
#: An array may have so many words of 32 bits; for each, the table of `T_i` has 128 bytes.
_MOST_WORDS = 2**17
_BITS = np.arange(32, dtype=np.uint32)


class _Packed(Contents):
    """The entries of one file, and the checksum of each."""

    def __init__(
        self,
        entries: tuple[Entry, ...],
        image: UInt8[np.ndarray, " bytes"],
        checksums: UInt32[np.ndarray, " n"],
    ):
        self._entries, self._image, self._checksums = entries, image, checksums

    def pieces(self, meta: bytes) -> list[Any]:
        before, after = framed(META, meta, self._entries, self._checksums)
        return [before, self._image.data, after]


def can_be_packed(tree: Any, size: int) -> bool:
    """Whether the device at hand packs `tree`, stacked over seeds, as it should.

    It is tried with one seed, and `zlib` looks at every checksum. Arrays must not be too large.
    """
    if max((_num_words(leaf) for _, leaf in named_leaves(tree)), default=0) > _MOST_WORDS:
        return False
    try:
        (contents,) = packed(tree, [0], size)
        file = io.BytesIO(b"".join(contents.pieces(b"{}")))
        return zipfile.ZipFile(file).testzip() is None
    except (jax.errors.JaxRuntimeError, zipfile.BadZipFile):
        return False


def packed(tree: Any, places: Sequence[int], size: int) -> Iterator[Contents]:
    """What checkpoints hold of `tree` for the seeds at these places, of all that are stacked.

    The device prepares a block of `size` while the one before is being looked at.
    """
    names, leaves = zip(*named_leaves(tree), strict=True)
    entries = tuple(
        (name, np.dtype(leaf.dtype).str, leaf.shape[1:])
        for name, leaf in zip(names, leaves, strict=True)
    )
    table = _table(max(map(_num_words, leaves)))
    before, ends = headings(entries)
    constants = (jnp.frombuffer(before, jnp.uint8), jnp.asarray(blank_checksums(entries)), table)
    blocks: collections.deque[tuple[int, Any]] = collections.deque()
    for begin in range(0, len(places), size):
        some = np.asarray(places[begin : begin + size], np.int32)
        # The last block is filled up: one program for all of them.
        block = _pack(leaves, jnp.asarray(np.resize(some, size)), *constants, ends=ends)
        for array in block:
            array.copy_to_host_async()
        blocks.append((len(some), block))
        if len(blocks) > 1:
            yield from _contents(entries, *blocks.popleft())
    while blocks:
        yield from _contents(entries, *blocks.popleft())


def _contents(entries: tuple[Entry, ...], count: int, block: Any) -> Iterator[Contents]:
    images, checksums = jax.device_get(block)
    for row in range(count):
        yield _Packed(entries, images[row], checksums[row])


def _num_bytes(leaf: Array) -> int:
    return leaf.nbytes // len(leaf)


def _num_words(leaf: Array) -> int:
    return -(-_num_bytes(leaf) // 4)


@functools.partial(jax.jit, static_argnames="ends")
def _pack(
    leaves: tuple[Array, ...],
    places: Int[Array, " k"],
    before: UInt8[Array, " headings"],
    blank: UInt32[Array, " n"],
    table: UInt32[Array, "most 32"],
    *,
    ends: tuple[int, ...],
) -> tuple[UInt8[Array, "k bytes"], UInt32[Array, "k n"]]:
    """The entries of each file as they stand in it, and the checksum of each entry."""
    rows = [_bytes(leaf[places]) for leaf in leaves]
    checksums = blank ^ _sums(rows, table)
    pieces = []
    for number, (begin, end) in enumerate(itertools.pairwise((0, *ends))):
        heading = jnp.broadcast_to(before[begin:end], (len(places), end - begin))
        own = jax.lax.bitcast_convert_type(checksums[:, number], jnp.uint8)
        pieces += [heading.at[:, CHECKSUM : CHECKSUM + 4].set(own), rows[number]]
    return jnp.concatenate(pieces, axis=1), checksums


def _bytes(rows: Array) -> UInt8[Array, "k bytes"]:
    if rows.dtype == bool:
        rows = rows.astype(jnp.uint8)
    return jax.lax.bitcast_convert_type(rows, jnp.uint8).reshape(len(rows), -1)


def _sums(
    rows: Sequence[UInt8[Array, "k _"]], table: UInt32[Array, "most 32"]
) -> UInt32[Array, "k n"]:
    """`xor_i T_i` for each of the arrays; those of the same length go together."""
    alike = collections.defaultdict(list)
    for number, row in enumerate(rows):
        alike[-(-row.shape[1] // 4)].append(number)
    sums: dict[int, Array] = {}
    for size, numbers in alike.items():
        words = jnp.stack([_words(rows[number], size) for number in numbers])
        set_bits = -((words[..., None] >> _BITS) & 1)
        chosen = table[len(table) - size :] & set_bits
        found = jax.lax.reduce(chosen, np.uint32(0), jax.lax.bitwise_xor, (2, 3))
        sums |= dict(zip(numbers, found, strict=True))
    return jnp.stack([sums[number] for number in range(len(rows))], axis=1)


def _words(row: UInt8[Array, "k _"], size: int) -> UInt32[Array, "k words"]:
    """The bytes as words; the zeros that may have to stand before them change no sum."""
    filled = jnp.pad(row, ((0, 0), (4 * size - row.shape[1], 0)))
    return jax.lax.bitcast_convert_type(filled.reshape(len(row), size, 4), jnp.uint32)


@functools.lru_cache(maxsize=4)
def _table(words: int) -> UInt32[Array, "words 32"]:
    """`T_i` of each bit of each word; the last word of the table is the last of an array."""
    bits = np.uint32(1) << _BITS
    for _ in range(32):
        bits = (bits >> 1) ^ np.where(bits & 1, np.uint32(_POLYNOMIAL), np.uint32(0))
    table = bits[None]
    while len(table) < words:
        # The same bits, with as many more words after them.
        table = np.concatenate([_followed(table, by=table[0]), table])
    return jnp.asarray(table[len(table) - words :])


def _followed(numbers: np.ndarray, *, by: np.ndarray) -> np.ndarray:
    moved = np.zeros_like(numbers)
    for bit, number in zip(_BITS, by, strict=True):
        moved ^= ((numbers >> bit) & 1) * number
    return moved
