"""Checkpoints that the device puts together: the very files that are written one by one."""

import io
import zipfile

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from asmpg.runs import _packing, can_be_packed, load_checkpoint, packed, save_checkpoint
from asmpg.runs._checkpoint import save_contents

SEEDS = 5


def stacked(random):
    """Arrays of seeds, of lengths that fill words and that do not."""
    return {
        "table": jnp.asarray(random.normal(size=(SEEDS, 90, 32)), jnp.float32),
        "moments": jnp.asarray(random.normal(size=(SEEDS, 2880)), jnp.float32),
        "halves": jnp.asarray(random.normal(size=(SEEDS, 3)), jnp.float16),
        "bytes": jnp.asarray(random.integers(256, size=(SEEDS, 7)), jnp.uint8),
        "finite": jnp.asarray(random.integers(2, size=SEEDS), bool),
        "count": jnp.asarray(random.integers(-9, 9, size=SEEDS), jnp.int32),
        "none": jnp.zeros((SEEDS, 8, 0)),
        "key": jax.vmap(jax.random.key)(jnp.arange(SEEDS)),
        "name": "not an array",
    }


def of_seed(tree, seed):
    return {name: leaf[seed] if hasattr(leaf, "shape") else leaf for name, leaf in tree.items()}


@pytest.mark.parametrize("size", [1, 2, 5])
def test_files_are_the_same_byte_for_byte(tmp_path, size):
    tree, places = stacked(np.random.default_rng(1952)), [4, 0, 3]
    for place, contents in zip(places, packed(tree, places, size), strict=True):
        meta = {"seed": place, "value": 10.0**place}
        save_contents(tmp_path / "packed.npz", contents, meta)
        save_checkpoint(tmp_path / "plain.npz", of_seed(tree, place), meta)
        content = (tmp_path / "packed.npz").read_bytes()
        assert content == (tmp_path / "plain.npz").read_bytes()
        assert zipfile.ZipFile(io.BytesIO(content)).testzip() is None


def test_what_is_packed_is_read_like_any_checkpoint(tmp_path):
    tree = stacked(np.random.default_rng(5235))
    (contents,) = packed(tree, [2], 1)
    save_contents(tmp_path / "last.npz", contents, {"seed": 2})
    expected = of_seed(tree, 2)
    found, meta = load_checkpoint(tmp_path / "last.npz", expected)
    assert meta == {"seed": 2}
    assert jax.random.key_data(found.pop("key")).tolist() == [0, 2]
    for name, leaf in found.items():
        np.testing.assert_array_equal(leaf, expected[name])


def test_arrays_beyond_the_table_are_not_packed(monkeypatch):
    tree = stacked(np.random.default_rng(0))
    assert can_be_packed(tree, 2)
    monkeypatch.setattr(_packing, "_MOST_WORDS", 90 * 32 - 1)
    assert not can_be_packed(tree, 2)


def test_a_device_that_adds_up_wrongly_is_not_trusted(monkeypatch):
    table = _packing._table
    monkeypatch.setattr(_packing, "_table", lambda words: table(words).at[-1, 3].add(1))
    assert not can_be_packed(stacked(np.random.default_rng(0)), 2)
