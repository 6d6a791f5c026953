"""Checkpoints: the arrays of a pytree and some JSON in one `.npz` file, and nothing executable."""

import abc
import dataclasses
import functools
import json
import math
import os
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import keystr, tree_flatten_with_path

from asmpg._support.errors import CheckpointError
from asmpg._support.files import one_line, parse_object, write_pieces_atomically
from asmpg.runs._npz import npz

Tree = TypeVar("Tree")
#: The entry that holds the JSON; no array has this name, as fields start with a letter.
META = "_meta"
_META_STEP = 128
#: The heading of an array as `numpy.save` writes it, of plain numbers only.
_HEADING = re.compile(
    rb"\{'descr': '([<>|][biuf]\d{1,2})', 'fortran_order': (True|False), "
    rb"'shape': \(((?:\d{1,18}, ?)*(?:\d{1,18})?)\), \} *\n"
)


class Contents(abc.ABC):
    """What a checkpoint holds besides its JSON."""

    @abc.abstractmethod
    def pieces(self, meta: bytes) -> list[Any]:
        """The file in pieces, with the JSON in it."""


@dataclasses.dataclass(frozen=True)
class Arrays(Contents):
    """Arrays in the host's memory."""

    arrays: Mapping[str, np.ndarray]

    def pieces(self, meta: bytes) -> list[Any]:
        return npz({META: np.frombuffer(meta, np.uint8), **self.arrays})


def save_checkpoint(path: str | os.PathLike[str], tree: Any, meta: dict[str, Any]) -> None:
    """Write the arrays of `tree`, named by their place in it, and `meta`, atomically.

    Typed PRNG keys are stored as `jax.random.key_data`. Equal contents give equal files.
    """
    save_contents(path, Arrays(named_arrays(tree)), meta)


def save_contents(path: str | os.PathLike[str], contents: Contents, meta: dict[str, Any]) -> None:
    """Write a checkpoint."""
    text = json.dumps(meta, allow_nan=False, sort_keys=True).encode()
    # Of few lengths, so that many files have the same layout.
    text = text.ljust(-(-len(text) // _META_STEP) * _META_STEP)
    write_pieces_atomically(Path(path), contents.pieces(text))


def named_arrays(tree: Any) -> dict[str, np.ndarray]:
    """The arrays of `tree` in the host's memory, named by their place in it."""
    names, leaves = zip(*named_leaves(tree), strict=True)
    stored = map(np.asarray, jax.device_get(leaves))
    return dict(zip(names, stored, strict=True))


def load_checkpoint(
    path: str | os.PathLike[str], like: Tree, *, within: str = ""
) -> tuple[Tree, dict[str, Any]]:
    """Read what `save_checkpoint` wrote, into the shape of `like`: arrays or `ShapeDtypeStruct`s.

    With `within`, say `learner/policy/`, `like` is that part of what was saved, and the rest is not
    looked at.

    Raises a `CheckpointError` for a file that is damaged, foreign or does not fit `like`.
    """
    stored = _read(Path(path), only_meta=False)
    meta = _decode(Path(path), stored.pop(META))
    stored = {
        name.removeprefix(within): entry
        for name, entry in stored.items()
        if name.startswith(within)
    }
    leaves, structure = jax.tree.flatten(like)
    wanted = dict(_arrays(like))
    for name in sorted(wanted.keys() ^ stored.keys()):
        verb = "lacks" if name in wanted else "should not have"
        raise CheckpointError(f"{path} does not fit: it {verb} the array {name!r}")
    for name, leaf in wanted.items():
        expected = _expected(leaf)
        if (stored[name].shape, stored[name].dtype) != (expected.shape, expected.dtype):
            raise CheckpointError(
                f"{path} does not fit: {name!r} is {_kind(stored[name])}, not {_kind(expected)}"
            )
    restored = [
        _restore(stored[name], leaf) if is_array(leaf) else leaf
        for name, leaf in zip(_names(structure), leaves, strict=True)
    ]
    return jax.tree.unflatten(structure, restored), meta


def load_meta(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the JSON only."""
    return _decode(Path(path), _read(Path(path), only_meta=True)[META])


def raw(leaf: Any) -> Any:
    """A PRNG key as the integers it consists of; anything else as it is."""
    return jax.random.key_data(leaf) if is_key(leaf) else leaf


def _read(path: Path, *, only_meta: bool) -> dict[str, np.ndarray]:
    if not path.is_file():
        raise CheckpointError(f"{path} does not exist, or is not a file")
    try:
        with open(path, "rb") as file, zipfile.ZipFile(file) as archive:
            entries = _entries(archive, os.fstat(file.fileno()).st_size)
            names = [META] if only_meta else {META, *entries}
            return {name: _array(archive.read(entries[name])) for name in names}
    except (PermissionError, MemoryError):
        raise
    except Exception as error:  # zipfile raises all kinds on damaged files
        reason = one_line(error)
        raise CheckpointError(f"{path} is not a checkpoint, or is damaged: {reason}") from None


def _entries(archive: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    """The arrays by name, none read yet: together they are not larger than the file itself."""
    entries = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
    if len(entries) < len(archive.infolist()):
        raise ValueError("it has two arrays of the same name")
    for name, info in entries.items():
        if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
            raise ValueError(f"{name!r} is compressed")
    if sum(info.file_size for info in entries.values()) > size:
        raise ValueError("its arrays are larger than the file")
    return entries


def _array(content: bytes) -> np.ndarray:
    """What `numpy.save` wrote; unlike `numpy.load`, believes in no size that is not there."""
    if content[:6] != b"\x93NUMPY" or content[6:8] != b"\x01\x00":
        raise ValueError("it holds more than arrays")
    begin = 10 + int.from_bytes(content[8:10], "little")
    heading = _HEADING.fullmatch(content[10:begin])
    if heading is None:
        raise ValueError("it holds more than arrays of plain numbers")
    kind, columns_first, axes = heading.groups()
    dtype, shape = np.dtype(kind.decode()), tuple(map(int, re.findall(rb"\d+", axes)))
    if math.prod(shape) * dtype.itemsize != len(content) - begin:
        raise ValueError(f"an array of shape {shape} has {len(content) - begin} bytes")
    order = "F" if columns_first == b"True" else "C"
    return np.frombuffer(content, dtype, offset=begin).reshape(shape, order=order)


def _decode(path: Path, entry: np.ndarray) -> dict[str, Any]:
    try:
        return parse_object(bytes(entry))
    except ValueError as error:
        raise CheckpointError(
            f"{path} is not a checkpoint, or is damaged: it has no readable meta: {one_line(error)}"
        ) from None


def named_leaves(tree: Any) -> list[tuple[str, Any]]:
    """The arrays of `tree`, keys as the integers they consist of, named by their place in it."""
    return [(name, raw(leaf)) for name, leaf in _arrays(tree)]


def _arrays(tree: Any) -> list[tuple[str, Any]]:
    leaves, structure = jax.tree.flatten(tree)
    named = zip(_names(structure), leaves, strict=True)
    return [(name, leaf) for name, leaf in named if is_array(leaf)]


@functools.lru_cache(maxsize=64)
def _names(structure: Any) -> list[str]:
    """What the leaves are called, by their place; many seeds have the same structure."""
    blank = jax.tree.unflatten(structure, range(structure.num_leaves))
    return [
        keystr(place, simple=True, separator="/") for place, _ in tree_flatten_with_path(blank)[0]
    ]


def is_array(leaf: Any) -> bool:
    """Whether `leaf` is an array, of jax or numpy, or the description of one."""
    return eqx.is_array(leaf) or isinstance(leaf, np.ndarray | np.generic | jax.ShapeDtypeStruct)


def is_key(leaf: Any) -> bool:
    """Whether `leaf` is a typed PRNG key, or an array of them."""
    return jnp.issubdtype(getattr(leaf, "dtype", np.dtype(bool)), jax.dtypes.prng_key)


def _expected(leaf: Any) -> jax.ShapeDtypeStruct:
    return _stored(leaf.shape, leaf.dtype)


@functools.lru_cache(maxsize=1024)
def _stored(shape: tuple[int, ...], dtype: Any) -> jax.ShapeDtypeStruct:
    """What an array of this kind is stored as; many seeds have the same."""
    leaf = jax.ShapeDtypeStruct(shape, dtype)
    return jax.eval_shape(jax.random.key_data, leaf) if is_key(leaf) else leaf


def _restore(entry: np.ndarray, leaf: Any) -> jax.Array:
    array = jnp.asarray(entry)
    return jax.random.wrap_key_data(array) if is_key(leaf) else array


def _kind(array: np.ndarray | jax.ShapeDtypeStruct) -> str:
    return f"{array.dtype}{list(array.shape)}"
