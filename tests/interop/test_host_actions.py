"""Actions of every space on the host: written as the environment takes them; masks."""

import functools
import json

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import asmpg
from asmpg.environments import Box, Discrete, MultiDiscrete
from asmpg.interop import Interface, reader_of
from asmpg.interop.host import read_action_space
from asmpg.methods import AIS, ASMPG, ASMPPO, GRUPPO, MemorylessPPO, MinGRUPPO
from quick import long

SPACES = [
    spaces.Discrete(3, start=-1),
    spaces.MultiDiscrete([2, 3]),
    spaces.MultiDiscrete([[9, 9], [2, 3]], start=[[1, 0], [0, -5]]),
    spaces.MultiBinary(7),
    spaces.MultiBinary([2, 2]),
    spaces.Box(-2, 3, (1,)),
    spaces.Box(np.asarray([-1.0, 0.0]), np.asarray([1.0, 9.0]), dtype=np.float64),
    spaces.Box(-1, 1, (2, 2)),
]
QUICK = {"steps": 64, "seeds": (0,), "evaluation_episodes": 2, "verbose": 0}
SMALL = {
    "num_environments": 2,
    "rollout_steps": 16,
    "epochs": 1,
    "minibatches": 1,
    "critic": "memory",
    "critic_width": 4,
}


class Anything(gymnasium.Env):
    """Takes any action of its space, and nothing else."""

    observation_space = spaces.Discrete(2)

    def __init__(self, space):
        self.action_space = space

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time = 0
        return 0, {}

    def step(self, action):
        assert self.action_space.contains(action), action
        self.time += 1
        return self.time % 2, 1.0, self.time >= 5, False, {}


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_what_is_written_is_in_the_space(space):
    writer = read_action_space(space)
    own = writer.space
    generator = np.random.default_rng(0)
    match own:
        case Discrete():
            chosen = generator.integers(own.n, size=50)
        case MultiDiscrete():
            chosen = generator.integers(own.sizes, size=(50, len(own.sizes)))
        case Box():
            chosen = generator.uniform(own.low, own.high, (50, len(own.low))).astype(np.float32)
            chosen[0], chosen[1] = own.low, own.high
    written = writer.write(chosen)
    assert all(space.contains(action) for action in written)
    interface = Interface("name", reader_of(Discrete(2)), writer, 100, on_host=True, masked=False)
    stored = json.loads(json.dumps(interface.to_dict(), allow_nan=False))
    assert Interface.from_dict(stored) == interface


FEW, PARTS, REAL = SPACES[1], SPACES[2], SPACES[6]
ASM = {**SMALL, "num_states": 2}
CASES = {
    "asm-ppo, few": (ASMPPO(**ASM), FEW),
    "asm-ppo, parts": (ASMPPO(**ASM), PARTS),
    "asm-ppo, real": (ASMPPO(**ASM), REAL),
    "gru-ppo, real": (GRUPPO(**SMALL, width=4), REAL),
    "mingru-ppo, parts": (MinGRUPPO(**SMALL, width=4), PARTS),
    "memoryless-ppo, real": (MemorylessPPO(**SMALL), REAL),
    "asmpg, real": (ASMPG(num_states=2, policy="auto"), REAL),
}


@functools.cache
def trained(case):
    method, space = CASES[case]
    return method.learn(lambda: Anything(space), **QUICK), space


@pytest.mark.parametrize(
    "case",
    [
        *("asm-ppo, parts", "gru-ppo, real", "asmpg, real"),
        *map(long, ("asm-ppo, few", "asm-ppo, real", "mingru-ppo, parts", "memoryless-ppo, real")),
    ],
)
def test_methods_train_and_their_agents_act(case, tmp_path):
    """What is saved and loaded plays as before, alone and in batches."""
    agent, space = trained(case)
    agent.save(tmp_path / "agent.npz")
    again = asmpg.load(tmp_path / "agent.npz")
    action, state = agent.predict(1, deterministic=True)
    assert space.contains(action)
    actions, _ = agent.predict([1, 0, 1], deterministic=True)
    np.testing.assert_allclose(actions[[0, 2]], [action] * 2, rtol=1e-6)
    both = [each.predict(1, state, deterministic=True)[0] for each in (agent, again)]
    np.testing.assert_allclose(*both, rtol=1e-6)
    drawn = [agent.predict(1)[0] for _ in range(5)]
    assert all(space.contains(action) for action in drawn)


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (spaces.Box(-np.inf, 1, (2,)), "finite bounds, got Box.*RescaleAction"),
        (spaces.Box(1, 1, (2,)), "low below high"),
        (spaces.Box(0, 3, (2,), np.int64), "or a Box of floats, got Box"),
        (spaces.Box(-1, 1, (0,)), "at least one part"),
        (spaces.Dict(a=spaces.Discrete(2)), "TransformAction"),
    ],
    ids=str,
)
def test_spaces_that_do_not_fit_are_refused(space, message):
    with pytest.raises(ValueError, match=message):
        read_action_space(space)


class Doors(gymnasium.Env):
    """A corridor of rooms: in each, one of many doors leads on, another stays; others are walls.

    Walking into a wall ends the episode. The first room shows which door of the last one pays.
    """

    observation_space = spaces.MultiDiscrete([7, 3])

    def __init__(self, *, told="method", rooms=6, doors=12):
        self.action_space = spaces.Discrete(doors)
        self.rooms, self.doors, self.told = rooms, doors, told
        if told == "method":
            self.action_masks = self.mask

    def mask(self):
        mask = np.zeros(self.doors, bool)
        mask[[self.room % self.doors, (self.room + 5) % self.doors]] = True
        return mask

    def _seen(self):
        shown = np.asarray([self.room, self.cue + 1 if self.room == 0 else 0])
        return shown, {"action_mask": self.mask().astype(np.int8)} if self.told == "info" else {}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.room, self.cue = 0, int(self.np_random.integers(2))
        return self._seen()

    def step(self, action):
        if not self.mask()[action]:
            seen, info = self._seen()
            return seen, 0.0, True, False, info
        last = self.room == self.rooms
        reward = float((action == self.room % self.doors) == bool(self.cue)) if last else 0.0
        self.room = self.room if last else self.room + 1
        seen, info = self._seen()
        return seen, reward, last, False, info


@pytest.mark.long
def test_a_masked_task_is_learned_that_is_not_without():
    """After 4,000 steps the mean return of 100 episodes is above 0.9; below 0.2 without masks."""
    options = {"steps": 4_000, "seeds": (1,), "evaluation_episodes": 2, "verbose": 0}
    method = ASMPPO(num_states=4, critic="memory", rollout_steps=32, epochs=2)
    agent = method.learn(lambda: Doors(rooms=3), **options)
    assert played(agent, Doors(rooms=3), masked=True) > 0.9
    agent = method.learn(lambda: Doors(rooms=3, told="never"), **options)
    assert played(agent, Doors(rooms=3), masked=False) < 0.2


def played(agent, env, *, masked):
    total, (observation, _) = 0.0, env.reset(seed=0)
    state, first = None, True
    for _ in range(100):
        ended = False
        while not ended:
            masks = env.mask() if masked else None
            action, state = agent.predict(
                observation, state, episode_start=[first], action_masks=masks
            )
            assert not masked or masks[action]
            observation, reward, ended, _, _ = env.step(action)
            total, first = total + reward, ended
        observation, _ = env.reset()
    return total / 100


@functools.cache
def trained_with_masks(mode):
    def make():
        return SyncVectorEnv([lambda: Doors(told="info")] * 2, autoreset_mode=mode)

    return ASMPPO(**ASM).learn(make, **QUICK)


@pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda mode: mode.value)
def test_masks_of_vector_environments_follow_their_resets(mode):
    """No wall is ever walked into: all episodes go through all rooms."""
    agent = trained_with_masks(mode)
    assert agent.result.rows[-1]["episode_length"] == 7


class Stuck(Doors):
    """Where the last room has no door."""

    def mask(self):
        return super().mask() & (self.room < 3)


class Short(Doors):
    """Masks are too short."""

    def mask(self):
        return super().mask()[:-1]


class Masked(Anything):
    """Real actions that are said to be masked."""

    def __init__(self):
        super().__init__(SPACES[5])

    def action_masks(self):
        return [True]


def test_masks_that_do_not_fit_are_told():
    from asmpg import TrainingError

    method = MemorylessPPO(**SMALL)
    for told in ("method", "info"):
        with pytest.raises(TrainingError, match=r"action_mask .* allows none after step 3"):
            method.learn(lambda told=told: Stuck(told=told), **QUICK)
        with pytest.raises(TrainingError, match="action_mask must be an array of 2 x 12 booleans"):
            method.learn(lambda told=told: Short(told=told), **QUICK)
    with pytest.raises(ValueError, match="masked actions must be Discrete or MultiDiscrete"):
        method.learn(Masked, **QUICK)
    with pytest.raises(ValueError, match="AIS does not support action masks"):
        AIS(dimension=2).learn(Doors, **QUICK)


def test_masks_given_to_an_agent_are_checked():
    agent = trained_with_masks(AutoresetMode.NEXT_STEP)
    for masks, message in (
        (np.ones(11, bool), "12 truth values for each of 1"),
        (np.zeros(12, bool), "allow some action"),
        (np.ones((2, 12)), "12 truth values"),
    ):
        with pytest.raises(ValueError, match=message):
            agent.predict([0, 1], action_masks=masks)
    plain, _ = trained("asm-ppo, real")
    with pytest.raises(ValueError, match="real actions have none"):
        plain.predict(1, action_masks=[True])
    with pytest.raises(ValueError, match="one of several actions"):
        plain.machine()
