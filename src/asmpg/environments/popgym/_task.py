"""What the POPGym tasks share: three difficulties, each with a name; cards dealt; answers paid."""

import abc
import inspect
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from asmpg._support.checks import check_integer, check_one_of
from asmpg.environments._environment import Action, Environment, State
from asmpg.environments._spaces import Discrete

Difficulty = Literal["Easy", "Medium", "Hard"]
DIFFICULTIES: tuple[Difficulty, ...] = ("Easy", "Medium", "Hard")
#: A deck has the thirteen ranks of four suits, two of them black and two red.
SUITS, RANKS, DECK = 4, 13, 52
SUIT_NAMES = tuple(f"suit {suit}" for suit in range(SUITS))
#: More decks than this are a mistake.
MOST_DECKS = 1_000


class POPGymTask(Environment[State]):
    """A task of POPGym in one of its three difficulties, which set the defaults of its options.

    Its name is POPGym's id without the version: `popgym-RepeatFirstEasy` is compiled,
    `popgym-RepeatFirstEasy-v0` is the original, stepped on the host.
    """

    difficulty: eqx.AbstractVar[Difficulty]

    @property
    def name(self) -> str:
        return f"popgym-{type(self).__name__}{self.difficulty}"

    def options(self) -> dict[str, Any]:
        """All constructor arguments but the difficulty, which is part of the name."""
        names = inspect.signature(type(self)).parameters
        return {name: getattr(self, name) for name in names if name != "difficulty"}


class RecallTask(POPGymTask[State]):
    """A task whose rewards are those of answers, due at known steps."""

    decks: eqx.AbstractVar[int]

    @property
    def cards(self) -> int:
        """The number `n` of cards."""
        return DECK * self.decks

    @property
    @abc.abstractmethod
    def answers(self) -> range:
        """The steps, counted from 0, whose action is an answer; the last one ends the episode."""

    @property
    def reward_bound(self) -> float:
        return 1 / len(self.answers)


class SuitTask(RecallTask[State]):
    """Suits are dealt one by one and answered by suits; a state knows what is `left` of the deck.

    Chance comes in with the cards only, so that `begin` and `transition` can be compared with the
    original, card by card.
    """

    @property
    def observation_space(self) -> Discrete:
        return Discrete(SUITS)

    @property
    def action_space(self) -> Discrete:
        return Discrete(SUITS)

    @property
    def observation_names(self) -> tuple[str, ...]:
        return SUIT_NAMES

    @property
    def action_names(self) -> tuple[str, ...]:
        return SUIT_NAMES

    def reset(self, key: Key[Array, ""]) -> tuple[Int[Array, ""], State]:
        return self.begin(deal(key, full_deck(SUITS, self.decks)))

    def step(
        self, key: Key[Array, ""], state: Any, action: Action
    ) -> tuple[Int[Array, ""], State, Float[Array, ""], Bool[Array, ""]]:
        self.check_action(action)
        return self.transition(state, action, deal(key, state.left))

    @abc.abstractmethod
    def begin(self, card: Int[Array, ""]) -> tuple[Int[Array, ""], State]:
        """The start of an episode whose first card is `card`."""

    @abc.abstractmethod
    def transition(
        self, state: Any, action: Action, card: Int[Array, ""]
    ) -> tuple[Int[Array, ""], State, Float[Array, ""], Bool[Array, ""]]:
        """The step after which `card` is dealt."""


def check_difficulty(difficulty: Difficulty) -> Difficulty:
    """A `ValueError` unless it is one of the three."""
    check_one_of("difficulty", difficulty, DIFFICULTIES)
    return difficulty


def full_deck(kinds: int, decks: int) -> Int[Array, " kinds"]:
    """How many cards of each kind there are."""
    return jnp.full(kinds, DECK * decks // kinds, jnp.int32)


def deal(key: Key[Array, ""], left: Int[Array, " kinds"]) -> Int[Array, ""]:
    """A card from a shuffled deck: kind `i` with probability `left[i] / sum(left)`.

    Dealing from the top of a deck that was shuffled once has the same distribution, because what
    is left of it is in random order: so nobody needs to keep the order of up to 832 cards.
    """
    place = jax.random.randint(key, (), 0, jnp.maximum(left.sum(), 1))
    kind = jnp.sum(place >= jnp.cumsum(left), dtype=jnp.int32)
    return jnp.minimum(kind, len(left) - 1)


def without(left: Int[Array, " kinds"], card: Int[Array, ""]) -> Int[Array, " kinds"]:
    """What is left of the deck after `card`."""
    return jnp.maximum(left.at[card].add(-1), 0)


def pay(right: Bool[Array, ""], scale: float) -> Float[Array, ""]:
    """`scale` for a right answer, `-scale` for a wrong one."""
    return jnp.where(right, scale, -scale)


def time_limit(max_steps: int | None, answers: range) -> int:
    """`max_steps`, or the step of the last answer, which ends the episode anyway."""
    return check_integer("max_steps", answers.stop if max_steps is None else max_steps, low=1)
