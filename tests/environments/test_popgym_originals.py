"""The compiled POPGym tasks do what the originals do, step by step, given the same chance."""

import copy
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import asmpg
from asmpg.environments.popgym import (
    POPGYM_TASKS,
    Battleship,
    Concentration,
    HigherLower,
    RecallTask,
    VelocityOnlyCartpole,
)
from asmpg.environments.popgym.pendulums import PendulumState
from asmpg.environments.velocity_only_cart_pole import CartPoleState
from asmpg.interop import resolve
from quick import long

originals = pytest.importorskip(
    "popgym.envs", reason="POPGym itself is not installed: pip install popgym"
)

mines = pytest.importorskip("popgym.envs.minesweeper").HiddenSquare


class Suits:
    """RepeatFirst, RepeatPrevious and Autoencode: the suits of one deck.

    The original is played; `begin` and `transition` of ours get the card that it dealt.
    """

    def __init__(self, env):
        self.env = env
        self.original = original_of(env)
        self.transition = jax.jit(env.transition)

    def chance(self):
        """The suit that was dealt last; any, if no card was left to deal."""
        deck = self.original.deck
        return (integer(deck.suits_idx[deck.idx[len(deck)]]),)

    def read(self, observation):
        return 4 * observation[0] + observation[1] if np.ndim(observation) else observation

    def reset(self, seed):
        observation, _ = self.original.reset(seed=seed)
        return self.read(observation), self.env.begin(*self.chance())

    def step(self, state, action):
        observation, *rest, _ = self.original.step(action)
        return [self.read(observation), *rest], self.transition(state, action, *self.chance())


class Counts(Suits):
    """CountRecall: a card and a query from two decks."""

    def chance(self):
        return integer(self.original.value), integer(self.original.query)

    def read(self, observation):
        return self.env.kinds * observation[0] + observation[1]


class Arms(Suits):
    """MultiarmedBandit: the arms, then a uniform number for each pull."""

    def reset(self, seed):
        observation, _ = self.original.reset(seed=seed)
        state = jnp.asarray(self.original.bandits, float)
        return observation, (self.env.reset(jax.random.key(0))[0], state)

    def step(self, state, action):
        uniform = copy.deepcopy(self.original.np_random).random()
        observation, *rest, _ = self.original.step(action)
        return [observation, *rest], self.transition(state, action, jnp.asarray(uniform))


class Ranks(Suits):
    """HigherLower: the ranks of one deck."""

    def chance(self):
        return (integer(self.original.deck.show("player", ["ranks_idx"])[0, -1]),)


class Noise(Suits):
    """Poles and pendulums: the start, then the noise of each observation."""

    def normal(self, generator):
        noise = getattr(self.env, "noise", None)
        if noise is None:
            return jnp.zeros(2)
        return jnp.asarray(generator.normal(0, self.original.noise_sigma) / noise)

    def start(self, generator):
        """What the original draws first, so that noise comes next."""
        return generator.uniform(-0.05, 0.05, size=4)

    def begin(self, parts, normal):
        return self.env.begin(CartPoleState(*parts), normal)

    def reset(self, seed):
        observation, _ = self.original.reset(seed=seed)
        generator = np.random.default_rng(seed)
        start = self.start(generator)
        assert tuple(start) == pytest.approx(tuple(self.original.state))
        parts = [jnp.asarray(part, float) for part in start]
        return observation, self.begin(parts, self.normal(generator))

    def step(self, state, action):
        normal = self.normal(copy.deepcopy(self.original.np_random))
        # From the original's state: rounding errors grow as fast as an untouched pole falls.
        np.testing.assert_allclose(state, self.original.state, atol=1e-6)
        state = type(state)(*jnp.asarray(self.original.state, float))
        observation, *rest, _ = self.original.step(action)
        return [observation, *rest], self.transition(state, action, normal)


class Pendulums(Noise):
    def start(self, generator):
        high = np.array([np.pi, 1.0])
        return generator.uniform(-high, high)

    def begin(self, parts, normal):
        state = PendulumState(*parts)
        return self.env.observe(state, normal), state


class Boards(Suits):
    """Concentration, Battleship and MineSweeper: the cards or cells, then nothing is drawn."""

    def chance(self):
        return ()

    def cells(self):
        match type(self.env).__name__:
            case "Concentration":
                return self.original.state
            case "Battleship":
                return self.original.board == 1
            case _:
                return self.original.hidden_grid == mines.MINE

    def read(self, observation):
        if np.ndim(observation) == 0:
            return observation
        space = self.original.observation_space
        return gymnasium.spaces.flatten(space, observation)

    def reset(self, seed):
        observation, _ = self.original.reset(seed=seed)
        return self.read(observation), self.env.begin(jnp.asarray(self.cells()))


PLAYERS = {
    "CountRecall": Counts,
    "MultiarmedBandit": Arms,
    "HigherLower": Ranks,
    "NoisyPositionOnlyCartPole": Noise,
    "PositionOnlyCartPole": Noise,
    "VelocityOnlyCartpole": Noise,
    "PositionOnlyPendulum": Pendulums,
    "NoisyPositionOnlyPendulum": Pendulums,
    "Concentration": Boards,
    "Battleship": Boards,
    "MineSweeper": Boards,
}


def original_of(env):
    return getattr(originals, env.name.removeprefix("popgym-").replace("pole", "Pole"))()


def integer(value):
    return jnp.asarray(int(value), jnp.int32)


def length_of(original):
    match original:
        case originals.HigherLower():
            return original.deck_size - 1
        case originals.Concentration():
            return original.episode_length
        case _:
            return original.max_episode_length


def right_answer(env, original):
    """What the original pays for, or what keeps the pole up; `None` where nothing is right."""
    match type(env).__name__:
        case "RepeatFirst":
            return int(original.card)
        case "RepeatPrevious":
            hand = original.deck["player"]
            return int(original.deck.suits_idx[hand[-env.k]]) if len(hand) >= env.k else None
        case "CountRecall":
            return int(original.counts[original.query])
        case "Autoencode":
            return int(original.deck.suits_idx[original.deck["system"][-1]])
        case "HigherLower":
            dealt = original.deck["player"][-1]
            upcoming = original.deck.idx[len(original.deck) - 1]
            return int(original.deck.ranks_idx[upcoming] < original.deck.ranks_idx[dealt])
        case "NoisyPositionOnlyCartPole" | "PositionOnlyCartPole" | "VelocityOnlyCartpole":
            return int(np.dot([1, 2, 20, 4], original.state) > 0)
        case "Concentration":
            up, turned = original.deck["face_up_idx"], original.deck["in_play_idx"]
            return next(
                place
                for place, kind in enumerate(original.state)
                if place not in (*up, *turned) and (not turned or kind == original.state[turned[0]])
            )
        case "Battleship":
            return np.argwhere((original.board == 1) & (original.guesses == 0))[0]
        case "MineSweeper":
            return np.argwhere(original.hidden_grid == mines.CLEAR)[0]
        case _:
            return None


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize(
    "name", [name if name.endswith("Easy") else long(name) for name in POPGYM_TASKS]
)
def test_every_step_is_that_of_the_original(name):
    """Observations, rewards and ends: an episode at random, one half right, one all right."""
    env: Any = asmpg.make(name)
    player = PLAYERS.get(type(env).__name__, Suits)(env)
    assert length_of(player.original) == env.max_steps
    rng = np.random.default_rng(0)
    player.original.action_space.seed(0)
    for seed, share in enumerate((0.0, 0.5, 1.0)):
        theirs, (observation, state) = player.reset(seed)
        np.testing.assert_allclose(observation, theirs, atol=1e-6)
        steps, total, ended = 0, 0.0, False
        while not ended:
            right = right_answer(env, player.original)
            random = player.original.action_space.sample()
            action = random if right is None or rng.random() >= share else right
            (theirs, paid, terminated, truncated), ours = player.step(state, action)
            observation, state, reward, over = ours
            steps, total = steps + 1, total + paid
            np.testing.assert_allclose(observation, theirs, atol=1e-6)
            assert float(reward) == pytest.approx(paid, abs=1e-12)
            assert bool(over) == terminated
            limited = isinstance(env, Concentration | Battleship) or not over
            endless = isinstance(env, RecallTask | HigherLower)
            assert truncated == (steps == env.max_steps and limited and not endless)
            ended = terminated or truncated
    # With right answers alone; cards of the same rank pay nothing, and cannot be told apart.
    if isinstance(env, HigherLower):
        assert 0.8 < total < 1
    elif right is not None:
        assert total == pytest.approx(1)
    assert steps == env.max_steps or over


@pytest.mark.parametrize("name", POPGYM_TASKS)
def test_spaces_are_those_of_the_original_as_the_host_reads_them(name):
    env: Any = asmpg.make(name)
    theirs = resolve(f"{name}-v0", {}).interface
    assert theirs.action_space == env.action_space
    seen: Any = theirs.observation_space
    if isinstance(env, VelocityOnlyCartpole):
        # The original has no bounds; these cannot be exceeded.
        assert seen.high[0] > 1e38
        assert len(seen.low) == 2
    elif "CartPole" in name:
        for bound in ("low", "high"):
            ours = getattr(env.observation_space, bound)
            assert ours == pytest.approx(getattr(seen, bound), rel=1e-6)
    else:
        assert seen == env.observation_space


@pytest.mark.usefixtures("x64")
def test_ships_lie_where_the_original_puts_them():
    """How often each cell has a ship in 4,000 boards of each, within 4.5 standard errors."""
    env: Any = asmpg.make("popgym-BattleshipEasy")
    ours = jax.vmap(lambda key: env.reset(key)[1].ships)(jax.random.split(jax.random.key(0), 4_000))
    original = original_of(env)
    boards = []
    for seed in range(4_000):
        original.reset(seed=seed)
        boards.append(original.board.copy())
    share, other = np.asarray(ours).mean(axis=0), np.mean(boards, axis=0)
    assert set(np.asarray(ours).sum(axis=(1, 2))) == {12}
    error = np.sqrt(2 * other * (1 - other) / 4_000)
    assert np.all(np.abs(share - other) < 4.5 * error)
    assert share[3, 3] > 1.3 * share[0, 0]
