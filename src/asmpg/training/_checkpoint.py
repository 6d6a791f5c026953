"""Checkpoints: the arrays of a pytree and some JSON in one `.npz` file, and nothing executable."""

import json
import os
import zipfile
import zlib
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import keystr, tree_flatten_with_path

from asmpg._errors import CheckpointError
from asmpg.training._atomic import write_atomically

Tree = TypeVar("Tree")
#: The entry that holds the JSON; no array has this name, as fields start with a letter.
_META = "_meta"
_DAMAGE = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error, RuntimeError)


def save(path: str | os.PathLike[str], tree: Any, meta: dict[str, Any]) -> None:
    """Write the arrays of `tree`, named by their place in it, and `meta`, atomically.

    Typed PRNG keys are stored as `jax.random.key_data`. Equal contents give equal files.
    """
    text = json.dumps(meta, allow_nan=False, sort_keys=True)
    entries = {_META: np.frombuffer(text.encode(), np.uint8)}
    entries |= {name: np.asarray(raw(leaf)) for name, leaf in _arrays(tree)}

    def write(file: BinaryIO) -> None:
        np.savez(file, allow_pickle=False, **entries)

    write_atomically(Path(path), write)


def load(path: str | os.PathLike[str], like: Tree) -> tuple[Tree, dict[str, Any]]:
    """Read what `save` wrote, into the shape of `like`: arrays or `jax.ShapeDtypeStruct`s.

    Raises a `CheckpointError` for a file that is damaged, foreign or does not fit `like`.
    """
    stored = _read(Path(path), only_meta=False)
    meta = _decode(Path(path), stored.pop(_META))
    leaves, structure = tree_flatten_with_path(like)
    wanted = dict(_arrays(like))
    if wanted.keys() != stored.keys():
        missing, foreign = sorted(wanted.keys() - stored), sorted(stored.keys() - wanted)
        parts = [f"no array {missing[0]!r}"] * bool(missing)
        parts += [f"an array {foreign[0]!r} it should not have"] * bool(foreign)
        raise CheckpointError(f"{path} does not fit: it has {' and '.join(parts)}")
    for name, leaf in wanted.items():
        expected = _expected(leaf)
        if (stored[name].shape, stored[name].dtype) != (expected.shape, expected.dtype):
            raise CheckpointError(
                f"{path} does not fit: {name!r} is {_kind(stored[name])}, not {_kind(expected)}"
            )
    restored = [
        _restore(stored[keystr(place, simple=True, separator="/")], leaf)
        if _is_array(leaf)
        else leaf
        for place, leaf in leaves
    ]
    return jax.tree.unflatten(structure, restored), meta


def load_meta(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the JSON only."""
    return _decode(Path(path), _read(Path(path), only_meta=True)[_META])


def raw(leaf: Any) -> Any:
    """A PRNG key as the integers it consists of; anything else as it is."""
    return jax.random.key_data(leaf) if _is_key(leaf) else leaf


def _read(path: Path, *, only_meta: bool) -> dict[str, np.ndarray]:
    if not path.exists():
        raise CheckpointError(f"{path} does not exist")
    try:
        with np.load(path, allow_pickle=False) as file:
            stored = {name: file[name] for name in ([_META] if only_meta else file.files)}
        if not all(isinstance(entry, np.ndarray) for entry in stored.values()):
            raise ValueError("an entry is not an array")
        stored[_META]  # noqa: B018
    except PermissionError:
        raise
    except _DAMAGE as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise CheckpointError(f"{path} is not a checkpoint, or is damaged: {reason}") from None
    return stored


def _decode(path: Path, entry: np.ndarray) -> dict[str, Any]:
    try:
        meta = json.loads(entry.astype(np.uint8, casting="no").tobytes())
    except (ValueError, TypeError):
        meta = None
    if not isinstance(meta, dict):
        raise CheckpointError(f"{path} is not a checkpoint, or is damaged: it has no readable meta")
    return meta


def _arrays(tree: Any) -> list[tuple[str, Any]]:
    leaves, _ = tree_flatten_with_path(tree)
    named = [(keystr(place, simple=True, separator="/"), leaf) for place, leaf in leaves]
    return [(name, leaf) for name, leaf in named if _is_array(leaf)]


def _is_array(leaf: Any) -> bool:
    return eqx.is_array(leaf) or isinstance(leaf, np.ndarray | np.generic | jax.ShapeDtypeStruct)


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(getattr(leaf, "dtype", np.dtype(bool)), jax.dtypes.prng_key)


def _expected(leaf: Any) -> jax.ShapeDtypeStruct:
    stored = jax.eval_shape(jax.random.key_data, leaf) if _is_key(leaf) else leaf
    return jax.ShapeDtypeStruct(stored.shape, stored.dtype)


def _restore(entry: np.ndarray, leaf: Any) -> jax.Array:
    array = jnp.asarray(entry)
    return jax.random.wrap_key_data(array) if _is_key(leaf) else array


def _kind(array: np.ndarray | jax.ShapeDtypeStruct) -> str:
    return f"{array.dtype}{list(array.shape)}"
