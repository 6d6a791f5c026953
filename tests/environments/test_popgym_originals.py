"""The compiled POPGym tasks do what the originals do, step by step, given the same chance."""

import copy
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import asmpg
from asmpg.environments.popgym import POPGYM_TASKS, RecallTask
from asmpg.environments.velocity_only_cart_pole import CartPoleState
from asmpg.interop import resolve
from quick import long

originals = pytest.importorskip(
    "popgym.envs", reason="POPGym itself is not installed: pip install popgym"
)


class Suits:
    """RepeatFirst, RepeatPrevious and Autoencode: the suits of one deck.

    The original is played; `begin` and `transition` of ours get the card that it dealt.
    """

    def __init__(self, env):
        self.env = env
        self.original = getattr(originals, env.name.removeprefix("popgym-"))()
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


class Poles(Suits):
    """NoisyPositionOnlyCartPole: the start, then the noise of each observation."""

    def normal(self, generator):
        return jnp.asarray(generator.normal(0, self.original.noise_sigma) / self.env.noise)

    def reset(self, seed):
        observation, _ = self.original.reset(seed=seed)
        state = CartPoleState(*(jnp.asarray(part, float) for part in self.original.state))
        generator = np.random.default_rng(seed)
        start = generator.uniform(-0.05, 0.05, size=4)
        assert tuple(start) == pytest.approx(tuple(self.original.state))
        return observation, (self.env.observe(state, self.normal(generator)), state)

    def step(self, state, action):
        normal = self.normal(copy.deepcopy(self.original.np_random))
        observation, *rest, _ = self.original.step(action)
        return [observation, *rest], self.transition(state, action, normal)


PLAYERS = {"CountRecall": Counts, "MultiarmedBandit": Arms, "NoisyPositionOnlyCartPole": Poles}


def integer(value):
    return jnp.asarray(int(value), jnp.int32)


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
        case "NoisyPositionOnlyCartPole":
            return int(np.dot([1, 2, 20, 4], original.state) > 0)
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
    assert player.original.max_episode_length == env.max_steps
    rng = np.random.default_rng(0)
    for seed, share in enumerate((0.0, 0.5, 1.0)):
        theirs, (observation, state) = player.reset(seed)
        np.testing.assert_allclose(observation, theirs, atol=1e-6)
        steps, total, ended = 0, 0.0, False
        while not ended:
            right = right_answer(env, player.original)
            random = int(rng.integers(len(env.action_names)))
            action = random if right is None or rng.random() >= share else right
            (theirs, paid, terminated, truncated), ours = player.step(state, action)
            observation, state, reward, over = ours
            steps, total = steps + 1, total + paid
            np.testing.assert_allclose(observation, theirs, atol=1e-6)
            assert float(reward) == pytest.approx(paid, abs=1e-12)
            assert bool(over) == terminated
            assert truncated == (steps == env.max_steps and not isinstance(env, RecallTask))
            ended = terminated or truncated
    assert steps == env.max_steps
    if right is not None:
        assert total == pytest.approx(1)


@pytest.mark.parametrize("name", POPGYM_TASKS)
def test_spaces_are_those_of_the_original_as_the_host_reads_them(name):
    env: Any = asmpg.make(name)
    original = getattr(originals, name.removeprefix("popgym-"))()
    assert len(env.action_names) == original.action_space.n
    seen = resolve(f"{name}-v0", {}).interface.observation_space
    if "CartPole" in name:
        for bound in ("low", "high"):
            ours = getattr(env.observation_space, bound)
            assert ours == pytest.approx(getattr(seen, bound), rel=1e-6)
    else:
        assert seen == env.observation_space
