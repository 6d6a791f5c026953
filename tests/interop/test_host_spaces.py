"""How observations of Gymnasium's spaces are read."""

import itertools
import json

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector.utils import concatenate, create_empty_array

from asmpg.environments import Box, Discrete
from asmpg.interop import IntegerWriter, Interface, reader_from_dict, resolve
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
    spaces.Tuple([spaces.Discrete(2), spaces.Discrete(4, start=1)]),
    spaces.Dict(b=spaces.MultiBinary(3), a=spaces.Dict(c=spaces.Discrete(5, start=-1))),
    spaces.Dict({7: spaces.Box(-1, 1, ()), 3: spaces.Tuple([spaces.MultiDiscrete([2, 3])])}),
    spaces.Tuple([spaces.Discrete(2), spaces.Discrete(251)]),
]


def batch_of(space, samples):
    """As a vector environment stacks them."""
    return concatenate(space, samples, create_empty_array(space, len(samples)))


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_what_is_read_is_in_the_space_it_is_read_as(space):
    reader = read_observation_space(space)
    space.seed(0)
    samples = [space.sample() for _ in range(50)]
    batch = batch_of(space, samples)
    read = reader.read(batch)
    assert all(reader.space.contains(element) for element in read)
    for single, element in zip(samples, read, strict=True):
        np.testing.assert_array_equal(reader.read_any(single), element)
    np.testing.assert_array_equal(reader.read_any(batch), read)
    # Different observations stay different, and so do the names of what they are read as.
    flat = [spaces.flatten(space, sample) for sample in samples]
    assert len(np.unique(read, axis=0)) == len(np.unique(np.asarray(flat), axis=0))
    names, read_as = reader.names, reader.space
    count = read_as.n if isinstance(read_as, Discrete) else len(read_as.low)
    assert len({*names}) == len(names) == count


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_an_interface_survives_json(space):
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


def test_parts_with_few_combinations_are_one_symbol():
    cards = spaces.MultiDiscrete([3, 2], start=[1, 0])
    reader = read_observation_space(spaces.Dict({"suit": spaces.Discrete(2), "card": cards}))
    # In the order of the space, which sorts the keys of a dict and keeps those of a list.
    every = list(itertools.product(range(1, 4), range(2), range(2)))
    given = {"suit": np.asarray(every)[:, 2], "card": np.asarray(every)[:, :2]}
    assert reader.read(given).tolist() == list(range(12))
    assert reader.names[7] == "card[0]=2 card[1]=1 suit=1"
    unsorted = spaces.Dict([("suit", spaces.Discrete(2)), ("card", spaces.Discrete(3))])
    assert read_observation_space(unsorted).names[1] == "suit=0 card=1"


def test_other_parts_are_one_vector():
    robot = spaces.Dict(arm=spaces.Box(-1, 2, (2, 1)), grip=spaces.Discrete(2, start=4))
    space = spaces.Tuple([spaces.Discrete(3), robot, spaces.MultiDiscrete([4, 2])])
    reader = read_observation_space(space)
    names = "[0]=0 [0]=1 [0]=2 [1].arm[0,0] [1].arm[1,0] [1].grip=5"
    assert reader.names == (*names.split(), *(f"[2][0]={i}" for i in range(4)), "[2][1]=1")
    assert reader.space == Box((0, 0, 0, -1, -1, *[0] * 6), (1, 1, 1, 2, 2, *[1] * 6))
    given = (np.int64(2), {"arm": np.asarray([[0.5], [1.5]]), "grip": 5}, np.asarray([1, 0]))
    assert reader.read_any(given).tolist() == [0, 0, 1, 0.5, 1.5, 1, 0, 1, 0, 0, 0]


TWO = spaces.Dict(card=spaces.Discrete(3), place=spaces.Box(-1, 1, (2,)))
PAIR = spaces.Tuple([spaces.Discrete(3), spaces.Discrete(3)])


@pytest.mark.parametrize(
    ("space", "given", "message"),
    [
        (TWO, {"place": [0, 0]}, "observation must have the key 'card', it has 'place'"),
        (TWO, (1, [0, 0]), r"observation must be a dict of 'card', 'place', got \(1"),
        (TWO, {"card": 1, "place": [0] * 3}, r"part 'place' .* must have shape \(2,\), or be a"),
        (TWO, {"card": 1.5, "place": [0, 0]}, "part 'card' of the observation must be an integer"),
        (TWO, {"card": 1, "place": [[0], [0, 1]]}, "part 'place' .* must be an array"),
        (TWO, {"card": [1], "place": [0, 0]}, "but card is a batch of 1, place is single"),
        (TWO, {"card": [1], "place": [[0, 0]] * 2}, "card is a batch of 1, place is a batch of 2"),
        (PAIR, (1, 2, 0), r"observation must be a tuple of 2, got \(1, 2, 0\)"),
        (PAIR, (1, 3), r"part '\[1\]' of the observation must be an element of .* got 3"),
        (PAIR, [(1, 2), (0, 1)], "observation must be a tuple of 2"),
        (PAIR, np.zeros((2, 2), int), "observation must be a tuple of 2"),
        (spaces.Dict(a=TWO), {"a": {"card": 1}}, "part 'a' of the observation .* key 'place'"),
        (spaces.Dict(a=PAIR), {"a": (1, "x")}, r"part 'a\[1\]' of the observation must be an int"),
    ],
)
def test_what_is_wrong_with_a_part_is_told_by_its_name(space, given, message):
    with pytest.raises(ValueError, match=message):
        read_observation_space(space).read_any(given)


def test_lists_and_flat_arrays_pass_for_tuples_as_in_gymnasium():
    reader = read_observation_space(PAIR)
    for given in ((1, 2), [1, 2], np.asarray([1, 2])):
        assert given in PAIR
        assert reader.read_any(given) == 5
    assert reader.read_any(([1, 0], [2, 2])).tolist() == [5, 2]


def without_bounds():
    box = spaces.Box(-1, 1, (3,))
    box.low[2] = np.nan
    return box


def nested(levels):
    space = spaces.Discrete(2)
    for _ in range(levels):
        space = spaces.Tuple([space])
    return space


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (spaces.Tuple([]), r"must have a part at least, got Tuple\(\)"),
        (spaces.Dict(a=spaces.Dict()), r"must have a part at least, got Dict\(\) as part 'a'"),
        (without_bounds(), "component 2 has nan and 1"),
        (spaces.Dict(a=without_bounds()), r"component a\[2\] has nan and 1"),
        (spaces.Box(0, 1, (3, 0)), r"must have a component at least, got Box\(.* \(3, 0\)"),
        (spaces.Dict(a=spaces.Box(0, 1, (0,))), "must have a component at least, got .* part 'a'"),
        (spaces.Dict(a=spaces.Discrete(10**7)), "part 'a': n must be an integer in"),
        (spaces.Tuple([spaces.Discrete(10**6)] * 2), "at most 1,000,000 values, got 2,000,000"),
        (spaces.Dict({(1, 2): spaces.Discrete(2)}), r"text or integers as keys, got Dict\(\(1, 2"),
        (nested(9), "nested at most 8 levels deep"),
    ],
    ids=str,
)
def test_spaces_that_cannot_be_read(space, message):
    with pytest.raises(ValueError, match=message):
        read_observation_space(space)
    if "nan" not in message:
        assert read_observation_space(nested(8)).names == tuple(f"{'[0]' * 8}={i}" for i in (0, 1))


class MissionSpace(spaces.Space):
    """As MiniGrid has it: Gymnasium does not know how to flatten it."""

    @property
    def is_np_flattenable(self):
        return super().is_np_flattenable


class Shows(gymnasium.Env):
    """An environment that shows samples of a space."""

    action_space = spaces.Discrete(2)

    def __init__(self, space):
        self.observation_space = space

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.observation_space.sample(), {}

    def step(self, action):
        return self.observation_space.sample(), 0.0, False, False, {}


GRID = {"direction": spaces.Discrete(4), "image": spaces.Box(0, 255, (7, 7, 3), np.uint8)}
WORDS = spaces.Text(5)
CARDS = spaces.Sequence(spaces.Discrete(3))
NODES = spaces.Graph(spaces.Discrete(3), None)
EITHER = spaces.OneOf([spaces.Discrete(2), spaces.Box(0, 1, (2,))])
W = "gymnasium.wrappers."


@pytest.mark.parametrize(
    ("space", "part", "advice", "size"),
    [
        (WORDS, "", f"{W}FlattenObservation(env)", 5),
        (EITHER, "", f"{W}FlattenObservation(env)", 3),
        (GRID["image"], "", f"{W}FlattenObservation(env)", 147),
        (spaces.Dict(GRID), "image", f"{W}FlattenObservation(env)", 151),
        (
            spaces.Dict(GRID, mission=CARDS),
            "image",
            f"{W}FlattenObservation({W}FilterObservation(env, ['direction', 'image']))",
            151,
        ),
        (spaces.Dict(a=TWO, b=NODES), "b", f"{W}FilterObservation(env, ['a'])", 5),
        (spaces.Dict(a=TWO, b=WORDS), "b", f"{W}FilterObservation(env, ['a'])", 5),
        (
            spaces.Dict(a=TWO, b=spaces.Tuple([CARDS])),
            "b[0]",
            f"{W}FilterObservation(env, ['a'])",
            5,
        ),
        (spaces.Tuple([CARDS, TWO]), "[0]", f"{W}FilterObservation(env, [1])", 5),
    ],
    ids=str,
)
def test_advice_on_other_spaces_works(space, part, advice, size):
    with pytest.raises(ValueError, match=r"observations must be Discrete, .*, got") as error:
        resolve(Shows(space), {})
    assert advice.removesuffix("(env)") in str(error.value)
    assert (f"as part {part!r}" in str(error.value)) == bool(part)
    wrapped = eval(advice, {"gymnasium": gymnasium, "env": Shows(space)})
    driver = resolve(wrapped, {}).source.open(2)
    assert driver.reset([0, 1]).observations.shape == (2, size)
    driver.close()


@pytest.mark.parametrize(
    "space",
    [CARDS, NODES, spaces.Tuple([CARDS]), spaces.Dict({1: CARDS, 2: spaces.Discrete(2)})],
    ids=str,
)
def test_what_is_left_is_a_vector_of_ones_own(space):
    with pytest.raises(ValueError, match=r"make a vector of .* gymnasium\.wrappers\.TransformObs"):
        read_observation_space(space)


def test_the_mission_of_a_mini_grid_is_left_out_or_kept():
    left_out = r"'mission' cannot be flattened: leave it out, by .*FlatObsWrapper, which keeps it"
    with pytest.raises(ValueError, match=left_out):
        read_observation_space(spaces.Dict(GRID, mission=MissionSpace()))


def test_every_task_of_popgym_is_played():
    """Twenty random steps in two copies of each of the 42 that are no mazes."""
    originals = pytest.importorskip("popgym.envs").ALL
    for number, about in enumerate(originals.values()):
        resolved = resolve(about["id"], {})
        space, actions = resolved.interface.observation_space, resolved.interface.action_space
        driver = resolved.source.open(2)
        seen = driver.reset([0, 1]).observations
        for step in range(20):
            keys = jax.random.split(jax.random.key(20 * number + step))
            seen = driver.step(np.stack([actions.sample(key) for key in keys])).observations
        driver.close()
        assert all(space.contains(each) for each in seen) or "Noisy" in about["id"]
    assert len(originals) == 42
