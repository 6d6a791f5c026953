"""How observations of Gymnasium's spaces are read."""

import itertools

import numpy as np
import pytest
from gymnasium import spaces

from asmpg.environments import Box, Discrete
from asmpg.interop import IntegerWriter, Interface, reader_from_dict
from asmpg.interop.host import read_observation_space

SPACES = [
    spaces.Discrete(5, start=-2),
    spaces.MultiDiscrete([3, 4, 2]),
    spaces.MultiDiscrete([[3, 4], [2, 2]], start=[[1, 0], [0, 5]]),
    spaces.MultiBinary(8),
    spaces.MultiBinary([5, 5]),
    spaces.MultiDiscrete([30, 40]),
    spaces.Box(-1, 1, (3,)),
    spaces.Box(-np.inf, np.inf, (2, 2)),
    spaces.Box(0, 9, (4,), np.int64),
]


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_what_is_read_is_in_the_space_it_is_read_as(space):
    reader = read_observation_space(space)
    space.seed(0)
    batch = np.stack([space.sample() for _ in range(50)])
    read = reader.read(batch)
    assert all(reader.space.contains(element) for element in read)
    for single, element in zip(batch, read, strict=True):
        np.testing.assert_array_equal(reader.read_any(single), element)
    np.testing.assert_array_equal(reader.read_any(batch), read)
    # Different observations stay different.
    assert len(np.unique(read, axis=0)) == len(np.unique(batch.reshape(50, -1), axis=0))


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_an_interface_survives_json(space):
    import json

    reader = read_observation_space(space)
    interface = Interface("name", reader, IntegerWriter(3, 2), 100, on_host=True)
    stored = json.loads(json.dumps(interface.to_dict(), allow_nan=False))
    assert Interface.from_dict(stored) == interface


def test_few_combinations_are_one_symbol_each():
    reader = read_observation_space(spaces.MultiDiscrete([3, 4, 2], start=[1, 0, 0]))
    assert reader.space == Discrete(24)
    every = list(itertools.product(range(1, 4), range(4), range(2)))
    assert reader.read(np.asarray(every)).tolist() == list(range(24))


def test_many_combinations_are_written_out():
    reader = read_observation_space(spaces.MultiDiscrete([30, 40, 2]))
    assert isinstance(reader.space, Box)
    assert reader.space.shape == (71,)
    read = reader.read(np.asarray([[3, 7, 1]]))[0]
    assert np.flatnonzero(read).tolist() == [3, 37, 70]


def test_what_lies_outside_is_refused():
    reader = read_observation_space(spaces.MultiDiscrete([3, 4]))
    with pytest.raises(ValueError, match=r"declared space, got \[0 4\]"):
        reader.read(np.asarray([[0, 0], [0, 4]]))
    with pytest.raises(ValueError, match="must hold integers"):
        reader.read(np.asarray([[0.0, 0.0]]))
    with pytest.raises(ValueError, match=r"must have shape \(2,\)"):
        reader.read_any(np.zeros(3, int))
    with pytest.raises(ValueError, match="reader must be one of"):
        reader_from_dict({"reader": "os.system"})


class MissionSpace(spaces.Space):
    """As MiniGrid has it: Gymnasium does not know how to flatten it."""

    @property
    def is_np_flattenable(self):
        return super().is_np_flattenable


def test_advice_on_flattening_works():
    grid = spaces.Dict(
        direction=spaces.Discrete(4),
        image=spaces.Box(0, 255, (7, 7, 3), np.uint8),
        mission=MissionSpace(),
    )
    filtered = r"mission cannot be .*FilterObservation\(env, \['direction', 'image'\]\).*FlatObsW"
    with pytest.raises(ValueError, match=filtered):
        read_observation_space(grid)
    with pytest.raises(ValueError, match=r"; 1 cannot be flattened: .*\.TransformObservation"):
        read_observation_space(spaces.Tuple([spaces.Discrete(2), MissionSpace()]))
    with pytest.raises(ValueError, match=r"; wrap the environment in \S+\.FlattenObservation$"):
        read_observation_space(spaces.Dict(one=spaces.Discrete(2)))
    # What is advised fits.
    del grid.spaces["mission"]
    assert read_observation_space(spaces.flatten_space(grid)).space.shape == (151,)
