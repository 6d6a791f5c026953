"""Checkpoints come back as they were, or not at all; reading one never executes anything."""

import errno
import io
import os
import pickle
import zipfile

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from asmpg._support.errors import CheckpointError
from asmpg._support.files import write_pieces_atomically
from asmpg.runs import load_checkpoint, load_meta, save_checkpoint


class Layer(eqx.Module):
    weight: jax.Array
    width: int = eqx.field(static=True)


def tree():
    layers = (Layer(jnp.arange(6.0).reshape(2, 3), 3), Layer(jnp.zeros((), jnp.int32), 0))
    return {"layers": layers, "key": jax.random.key(7), "flag": jnp.asarray(True), "none": None}


def raw(leaf):
    return jax.random.key_data(leaf) if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else leaf


def assert_same(one, other):
    assert jax.tree.structure(one) == jax.tree.structure(other)
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(raw(a), raw(b))


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "last.npz"
    save_checkpoint(path, tree(), {"seed": 1952})
    return path


def test_what_was_saved_is_loaded(path):
    loaded, meta = load_checkpoint(path, tree())
    assert_same(loaded, tree())
    assert meta == load_meta(path) == {"seed": 1952}
    assert jax.random.uniform(loaded["key"]) == jax.random.uniform(jax.random.key(7))


def test_shapes_are_enough_to_load_into(path):
    loaded, _ = load_checkpoint(path, eqx.filter_eval_shape(tree))
    assert_same(loaded, tree())


def test_names_tell_the_place_in_the_tree(path):
    assert zipfile.ZipFile(path).testzip() is None
    with np.load(path, allow_pickle=False) as file:
        assert set(file.files) == {
            "_meta",
            "flag",
            "key",
            "layers/0/weight",
            "layers/1/weight",
        }


def test_equal_contents_give_equal_files(path, tmp_path):
    save_checkpoint(tmp_path / "again.npz", tree(), {"seed": 1952})
    assert (tmp_path / "again.npz").read_bytes() == path.read_bytes()


def test_slices_and_empty_arrays_are_saved(tmp_path):
    numbers = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    arrays = {"plain": numbers[1], "turned": numbers[0].T, "scalar": numbers[0, 0, 3], "no": {}}
    arrays["empty"] = numbers[:0]
    save_checkpoint(tmp_path / "odd.npz", arrays, {})
    assert_same(load_checkpoint(tmp_path / "odd.npz", arrays)[0], arrays)


def test_a_damaged_file_is_refused_or_harmless(path):
    whole, generator = path.read_bytes(), np.random.default_rng(0)
    messages = []
    for case in range(300):
        damaged = bytearray(whole)
        if case % 3 == 0:
            damaged = damaged[: generator.integers(len(whole))]
        else:
            damaged[generator.integers(len(whole))] ^= 1 << int(generator.integers(8))
        path.write_bytes(damaged)
        try:
            loaded, meta = load_checkpoint(path, tree())
        except CheckpointError as error:
            messages.append(str(error))
        else:
            assert_same(loaded, tree())
            assert meta == {"seed": 1952}
    assert len(messages) > 150
    assert all(str(path) in message and "\n" not in message for message in messages)


class ExecutedError(Exception):
    pass


class Payload:
    def __reduce__(self):
        return (_raise, ())


def _raise():
    raise ExecutedError


def _object_archive():
    buffer = io.BytesIO()
    np.savez(buffer, _meta=np.asarray([Payload()], object))
    return buffer.getvalue()


def _plain_archive():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("_meta", "{}")
    return buffer.getvalue()


def _plain_array():
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(3))
    return buffer.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not an archive",
        pickle.dumps(Payload()),
        _plain_array(),
        _object_archive(),
        _plain_archive(),
    ],
    ids=["empty", "text", "pickle", "npy", "objects", "zip"],
)
def test_a_foreign_file_is_refused_and_not_executed(path, content):
    path.write_bytes(content)
    for read in (lambda: load_checkpoint(path, tree()), lambda: load_meta(path)):
        with pytest.raises(CheckpointError, match=r"last\.npz is not a checkpoint, or is damaged"):
            read()


def test_an_archive_without_meta_is_refused(path):
    np.savez(path, flag=np.zeros(3))
    with pytest.raises(CheckpointError, match="is not a checkpoint"):
        load_checkpoint(path, tree())
    np.savez(path, _meta=np.frombuffer(b"[1, 2]", np.uint8))
    with pytest.raises(CheckpointError, match="no readable meta"):
        load_meta(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"flag": jnp.zeros(2, bool)}, r"'flag' is bool\[\], not bool\[2\]"),
        ({"flag": jnp.zeros(())}, r"'flag' is bool\[\], not float32\[\]"),
        ({"more": jnp.zeros(())}, "lacks the array 'more'"),
        ({"key": None}, "should not have the array 'key'"),
    ],
)
def test_what_does_not_fit_is_named(path, change, message):
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(path, tree() | change)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(CheckpointError, match=r"nowhere\.npz does not exist"):
        load_checkpoint(tmp_path / "nowhere.npz", tree())


def test_a_full_disk_leaves_the_old_checkpoint(path, monkeypatch):
    before = path.read_bytes()

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left on device"):
        save_checkpoint(path, tree(), {"seed": 5235})
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("most", [None, 0, 1, 7, 1000])
def test_pieces_are_written_whole_however_few_bytes_the_system_takes(tmp_path, monkeypatch, most):
    """At most so many bytes a call; 0 is a system without such calls, `None` this one."""
    pieces = [b"abc", b"", np.arange(12.0).reshape(3, 4).data, b"x" * 20, np.float32(2).data]
    writev = os.writev

    def write_some(descriptor, pieces):
        return writev(descriptor, [b"".join(bytes(piece) for piece in pieces)[:most]])

    if most == 0:
        monkeypatch.delattr(os, "writev")
    elif most is not None:
        monkeypatch.setattr(os, "writev", write_some)
    write_pieces_atomically(tmp_path / "file", pieces)
    assert (tmp_path / "file").read_bytes() == b"".join(map(bytes, pieces))
    assert os.listdir(tmp_path) == ["file"]
