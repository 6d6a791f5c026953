"""Arrays as an `.npz` file, as `numpy.savez` writes it, many times as fast.

A run of a thousand seeds writes thousands of files with dozens of arrays each, and `zipfile` takes
longer for the entry of a small array than a disk does for its numbers. Such files differ in their
numbers and checksums alone, so everything else is worked out once.
"""

import functools
import io
import itertools
import math
import struct
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

#: The first day that a zip file knows, as `numpy.savez` has it: equal contents give equal files.
_TIME, _DATE = 0, (1 << 5) | 1
_VERSION, _STORED, _UNIX, _MODE = 20, 0, 3, 0o600 << 16
_MOST_BYTES, _MOST_ENTRIES = 2**32 - 1, 2**16 - 1
_LOCAL, _CENTRAL, _END = map(struct.Struct, ("<4s5H3I2H", "<4sH5H3I2H3H2I", "<4s4H2IH"))
#: Where the checksum stands in what comes before an entry, and in the directory.
CHECKSUM, _CRC_CENTRAL = 14, 16


class _Layout(NamedTuple):
    """All but the numbers and their checksums, for which zeros stand."""

    #: What stands before the numbers of the entries, one after another, and where each one ends.
    headings: bytes
    ends: tuple[int, ...]
    directory: bytes
    #: For each entry, where its checksum stands in the headings and in the directory.
    places: np.ndarray
    places_in_directory: np.ndarray
    #: The checksum of what numpy writes before the numbers, from which theirs goes on.
    begun: tuple[int, ...]


#: The name, the kind and the shape of an array.
Entry = tuple[str, str, tuple[int, ...]]


def npz(arrays: Mapping[str, np.ndarray]) -> list[Any]:
    """The pieces of the file that `numpy.load` reads these arrays from; nothing is compressed.

    The numbers themselves are not copied.
    """
    layout = _layout(tuple((name, a.dtype.str, a.shape) for name, a in arrays.items()))
    if layout is None:
        return _large(arrays)
    numbers = [a.data if a.flags.c_contiguous else a.tobytes() for a in arrays.values()]
    checksums = np.array(list(map(zlib.crc32, numbers, layout.begun)), "<u4")
    before = memoryview(_filled(layout.headings, layout.places, checksums))
    directory = _filled(layout.directory, layout.places_in_directory, checksums)
    each = (before[begin:end] for begin, end in itertools.pairwise((0, *layout.ends)))
    pairs = zip(each, numbers, strict=True)
    return [*itertools.chain.from_iterable(pairs), directory]


def headings(entries: tuple[Entry, ...]) -> tuple[bytes, tuple[int, ...]]:
    """What stands before the numbers of each entry, one after another, and where each one ends.

    Zeros stand for the checksums. Where the entries lie in a file makes no difference.
    """
    layout = _small_layout(entries)
    return layout.headings, layout.ends


def blank_checksums(entries: tuple[Entry, ...]) -> np.ndarray:
    """The checksums of entries that hold zeros; what else they hold changes them by a xor."""
    sizes = (np.dtype(kind).itemsize * math.prod(shape) for _, kind, shape in entries)
    return np.array(list(map(zlib.crc32, map(bytes, sizes), _small_layout(entries).begun)), "<u4")


def framed(
    name: str, content: bytes, entries: tuple[Entry, ...], checksums: np.ndarray
) -> tuple[bytes, bytearray]:
    """What stands in a file before and after `entries`, if bytes of some name come first."""
    layout = _small_layout(((name, "|u1", (len(content),)), *entries))
    checksum = zlib.crc32(content, layout.begun[0])
    before = layout.headings[: layout.ends[0]]
    before = before[:CHECKSUM] + checksum.to_bytes(4, "little") + before[CHECKSUM + 4 :]
    every = np.array([checksum, *checksums], "<u4")
    return before + content, _filled(layout.directory, layout.places_in_directory, every)


def _small_layout(entries: tuple[Entry, ...]) -> "_Layout":
    layout = _layout(entries)
    if layout is None:
        raise ValueError("the arrays are beyond what the plain format can count")
    return layout


def _filled(template: bytes, places: np.ndarray, checksums: np.ndarray) -> bytearray:
    content = bytearray(template)
    np.frombuffer(content, np.uint8)[places] = checksums.view(np.uint8).reshape(-1, 4)
    return content


@functools.lru_cache(maxsize=64)
def _layout(entries: tuple[Entry, ...]) -> _Layout | None:
    """That of a file with entries of these names, kinds and shapes, in C order.

    `None` if it is beyond what the plain format can count.
    """
    headings, directory, ends, position, begun = b"", b"", [], 0, []
    places, places_in_directory = [], []
    for name, kind, shape in entries:
        file = io.BytesIO()
        described = {"descr": kind, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, described)
        label, first = f"{name}.npy".encode(), file.getvalue()
        size = len(first) + np.dtype(kind).itemsize * math.prod(shape)
        if position + size > _MOST_BYTES:
            return None
        shared = (_VERSION, 0, _STORED, _TIME, _DATE, 0, size, size, len(label), 0)
        places.append(len(headings) + CHECKSUM)
        headings += _LOCAL.pack(b"PK\3\4", *shared) + label + first
        ends.append(len(headings))
        begun.append(zlib.crc32(first))
        made_by = (_UNIX << 8) | _VERSION
        places_in_directory.append(len(directory) + _CRC_CENTRAL)
        directory += _CENTRAL.pack(b"PK\1\2", made_by, *shared, 0, 0, 0, _MODE, position) + label
        position += _LOCAL.size + len(label) + size
    if position + len(directory) > _MOST_BYTES or len(entries) > _MOST_ENTRIES:
        return None
    count = len(entries)
    directory += _END.pack(b"PK\5\6", 0, 0, count, count, len(directory), position, 0)
    bytes_of = np.arange(4)
    return _Layout(
        headings,
        tuple(ends),
        directory,
        np.add.outer(places, bytes_of),
        np.add.outer(places_in_directory, bytes_of),
        tuple(begun),
    )


def _large(arrays: Mapping[str, np.ndarray]) -> list[Any]:
    """Beyond what the plain format can count."""
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **arrays)
    return [file.getbuffer()]
