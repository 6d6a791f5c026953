"""Whichever way a vector environment resets itself, what is learned from is the same."""

import functools

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

from asmpg.experience import HostEnvironments, HostPlayer, Rollouts, WholeEpisodes
from asmpg.interop.host import HostSource, VectorDriver
from asmpg.policies import AgentMemory, AgentMemoryActor, Categorical
from host_environments import RandomWalk, WalkInParts

COPIES, STEPS = 5, 40
COLUMNS = ("observations", "time", "actions", "rewards", "next_observations", "terminated", "ended")


class Scripted(AgentMemoryActor):
    """Plays `(o + number of actions played) mod 3`: wrong wherever memory is not reset in time."""

    greedy: bool = eqx.field(static=True, default=False)

    @property
    def head(self):
        return Categorical(3)

    def act(self, memory, observation, reward, uniforms, mask=None):
        # The reward before enters too: at the start of an episode it must be zero.
        number = jnp.int32(observation[0] + reward) + memory.time
        return AgentMemory(memory.state, number % 3, memory.time + 1)


def reference(seed, number, *, skip=False):
    """One copy, by hand: rows of `number` steps, from the episode of the seed or the next one."""
    env, rows = RandomWalk(), []
    (observation, _), time, before = env.reset(seed=seed), 0, 0.0
    if skip:
        observation, _ = env.reset()
    while len(rows) < number:
        observation = observation.copy()
        action = (int(observation[0] + before) + time) % 3
        following, reward, terminated, truncated, _ = env.step(action + 5)
        ended = terminated or truncated
        rows.append((observation, time, action, reward, following.copy(), terminated, ended))
        observation, time, before = following, time + 1, reward
        if ended:
            (observation, _), time, before = env.reset(), 0, 0.0
    return [np.asarray(column) for column in zip(*rows, strict=True)]


def begun(driver):
    player = HostPlayer(lambda actor: actor, driver.copies)
    player.prepare(Scripted())
    environments = HostEnvironments(driver, player)
    environments.reseed(3)
    seeds = np.random.default_rng((3,)).integers(2**31, size=driver.copies).tolist()
    environments.begin(seeded=True)
    return environments, seeds


in_each_mode = pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda mode: mode.value)


@in_each_mode
@pytest.mark.parametrize("walk", [RandomWalk, WalkInParts])
def test_rows_are_those_of_a_loop_by_hand(mode, walk):
    in_place = mode is not AutoresetMode.SAME_STEP
    makers = [lambda: walk(in_place=in_place)] * COPIES
    vector = SyncVectorEnv(makers, autoreset_mode=mode)
    environments, seeds = begun(VectorDriver("walk", vector))
    parts = [environments.collect(Rollouts(COPIES, STEPS)) for _ in range(2)]
    rows = {name: np.concatenate([part[name] for part in parts]) for name in (*COLUMNS, "valid")}
    for copy, seed in enumerate(seeds):
        valid = rows["valid"][:, copy]
        expected = reference(seed, int(valid.sum()))
        for name, column in zip(COLUMNS, expected, strict=True):
            np.testing.assert_array_equal(rows[name][valid, copy], column, err_msg=name)
    resets = ~rows["valid"]
    assert resets.any() == (mode is AutoresetMode.NEXT_STEP)
    # A reset is padding that nothing leaks through: an episode of its own.
    assert rows["ended"][resets].all()
    assert (rows["time"][resets] == 0).all()
    assert parts[1]["start"].action.tolist() == rows["actions"][STEPS - 1].tolist()
    environments.driver.close()


@in_each_mode
def test_whole_episodes_are_those_of_a_loop_by_hand(mode):
    in_place = mode is not AutoresetMode.SAME_STEP
    makers = [lambda: RandomWalk(in_place=in_place)] * COPIES
    vector = SyncVectorEnv(makers, autoreset_mode=mode)
    environments, seeds = begun(VectorDriver("walk", vector))
    rows = environments.collect(WholeEpisodes(COPIES))
    for copy, seed in enumerate(seeds):
        length = int(rows["valid"][:, copy].sum())
        # `collect` begins episodes of its own, so the one that the seed begins is skipped.
        expected = reference(seed, length, skip=True)
        for name, column in zip(COLUMNS[2:], expected[2:], strict=True):
            np.testing.assert_array_equal(rows[name][:length, copy], column, err_msg=name)
        assert rows["ended"][length - 1, copy]
        assert not rows["ended"][: length - 1, copy].any()
        assert not rows["valid"][length:, copy].any()
    assert len(rows["valid"]) == 16
    environments.driver.close()


@pytest.mark.parametrize(
    ("walk", "mode"),
    [
        (RandomWalk, AutoresetMode.DISABLED),
        (functools.partial(WalkInParts, in_place=False), AutoresetMode.SAME_STEP),
    ],
    ids=["array", "parts"],
)
def test_processes_of_their_own_give_the_same_rows(walk, mode):
    vector = AsyncVectorEnv([walk] * 2, autoreset_mode=mode, context="spawn")
    environments, seeds = begun(VectorDriver("walk", vector))
    rows = environments.collect(Rollouts(2, STEPS))
    for copy, seed in enumerate(seeds):
        for name, column in zip(COLUMNS, reference(seed, STEPS), strict=True):
            np.testing.assert_array_equal(rows[name][:, copy], column, err_msg=name)
    environments.driver.close()


@pytest.mark.parametrize("walk", [RandomWalk, WalkInParts])
def test_what_we_make_ourselves_gives_the_same_rows(walk):
    environments, seeds = begun(HostSource("walk", walk, False).open(COPIES))
    rows = environments.collect(Rollouts(COPIES, STEPS))
    assert rows["valid"].all()
    for copy, seed in enumerate(seeds):
        for name, column in zip(COLUMNS, reference(seed, STEPS), strict=True):
            np.testing.assert_array_equal(rows[name][:, copy], column, err_msg=name)
    environments.driver.close()


def test_a_single_copy_leaves_its_resets_out():
    vector = SyncVectorEnv([RandomWalk], autoreset_mode=AutoresetMode.NEXT_STEP)
    environments, _ = begun(VectorDriver("walk", vector))
    rows = environments.collect(Rollouts(1, STEPS, continuing=False))
    assert rows["valid"].all()
    assert rows["valid"].shape == (STEPS, 1)
    starts = np.flatnonzero(rows["time"][:, 0] == 0)
    np.testing.assert_array_equal(starts[1:], np.flatnonzero(rows["ended"][:-1, 0]) + 1)
    environments.driver.close()
