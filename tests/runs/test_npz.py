"""The writer of `.npz` files: numpy reads what it wrote, and `numpy.savez` writes the same."""

import io
import zipfile

import numpy as np
import pytest

from asmpg.runs import _npz
from asmpg.runs._npz import npz


def arrays(seed):
    """The same names, kinds and shapes for every seed."""
    random = np.random.default_rng(seed)
    turned = random.normal(size=(4, 3)).T
    return {
        "weights/0": random.normal(size=(5, 7)).astype(np.float32),
        "turned": turned,
        "flag": random.integers(2, size=()) > 0,
        "none": np.zeros((0, 3), np.int32),
        "key": random.integers(2**32, size=2, dtype=np.uint32),
    }


def written(contents):
    return b"".join(bytes(piece) for piece in npz(contents))


@pytest.fixture(params=[False, True], ids=["plain", "too large for the plain format"])
def kind(request, monkeypatch):
    if request.param:
        monkeypatch.setattr(_npz, "_MOST_BYTES", 100)
        _npz._layout.cache_clear()
    yield request.param
    _npz._layout.cache_clear()


@pytest.mark.usefixtures("kind")
def test_files_of_one_layout_keep_their_own_numbers():
    for seed in range(3):
        expected = arrays(seed)
        content = written(expected)
        assert zipfile.ZipFile(io.BytesIO(content)).testzip() is None
        with np.load(io.BytesIO(content), allow_pickle=False) as read:
            assert list(read) == list(expected)
            for name, array in expected.items():
                assert read[name].dtype == array.dtype
                np.testing.assert_array_equal(read[name], array)


def test_entries_lie_where_savez_puts_them():
    own, theirs = io.BytesIO(written(arrays(0))), io.BytesIO()
    np.savez(theirs, **{name: np.array(array, order="C") for name, array in arrays(0).items()})
    described = [
        [(i.filename, i.CRC, i.file_size, i.date_time) for i in zipfile.ZipFile(file).infolist()]
        for file in (own, theirs)
    ]
    assert described[0] == described[1]
