"""POPGym's RepeatFirst and RepeatPrevious: say the suit of a card that was dealt before.

Source: POPGym 1.0.7 (Morad et al., 2023, https://github.com/proroklab/popgym), step by step.
Answers pay `+scale` if right and `-scale` if wrong, with the `scale` that makes 1 the return of a
perfect memory. An episode ends (it is terminated, not truncated) with the last card or answer.
Suits are numbered 0 to 3; a deck has 52 cards, `n` is how many there are.

| task           | Easy          | Medium          | Hard            | answers | steps   |
| -------------- | ------------- | --------------- | --------------- | ------- | ------- |
| RepeatFirst    | 1 deck        | 8 decks         | 16 decks        | `n - 1` | `n - 1` |
| RepeatPrevious | 1 deck, k = 4 | 2 decks, k = 32 | 3 decks, k = 64 | `n - k` | `n - 1` |
"""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from asmpg._support.checks import check_integer
from asmpg.environments._environment import Action
from asmpg.environments.popgym._task import (
    MOST_DECKS,
    SUITS,
    Difficulty,
    SuitTask,
    check_difficulty,
    full_deck,
    pay,
    time_limit,
    without,
)


class RepeatFirstState(NamedTuple):
    """The suit to repeat, and how many cards of each suit are left."""

    first: Int[Array, ""]
    left: Int[Array, " suits"]


class RepeatFirst(SuitTask[RepeatFirstState]):
    """Repeat the suit of the first card, at every step.

    The observation is the suit of the card just dealt. With memory, 1; by chance, -1/2.
    """

    max_steps: int = eqx.field(static=True)
    difficulty: Difficulty = eqx.field(static=True)
    decks: int = eqx.field(static=True)

    def __init__(
        self, difficulty: Difficulty, *, decks: int | None = None, max_steps: int | None = None
    ):
        """`decks` is the number of decks; `max_steps` is no limit if left out."""
        self.difficulty = check_difficulty(difficulty)
        given = {"Easy": 1, "Medium": 8, "Hard": 16}[difficulty] if decks is None else decks
        self.decks = check_integer("decks", given, low=1, high=MOST_DECKS)
        self.max_steps = time_limit(max_steps, self.answers)

    @property
    def answers(self) -> range:
        return range(self.cards - 1)

    def begin(self, card: Int[Array, ""]) -> tuple[Int[Array, ""], RepeatFirstState]:
        return card, RepeatFirstState(card, without(full_deck(SUITS, self.decks), card))

    def transition(
        self, state: RepeatFirstState, action: Action, card: Int[Array, ""]
    ) -> tuple[Int[Array, ""], RepeatFirstState, Float[Array, ""], Bool[Array, ""]]:
        left = without(state.left, card)
        reward = pay(jnp.equal(action, state.first), self.reward_bound)
        return card, RepeatFirstState(state.first, left), reward, left.sum() == 0

    def describe_state(self, state: RepeatFirstState) -> str:
        return f"first {int(state.first)}, {int(state.left.sum())} cards left"


class RepeatPreviousState(NamedTuple):
    """The last `k` suits, where the next one replaces the oldest, and what is left of the deck."""

    recent: Int[Array, " k"]
    left: Int[Array, " suits"]


class RepeatPrevious(SuitTask[RepeatPreviousState]):
    """Repeat the suit that was dealt `k - 1` cards before the one just seen.

    The observation is the suit of the card just dealt; `k = 1` would ask for it. Actions count from
    the `k`-th card on. With memory, 1; by chance, -1/2.
    """

    max_steps: int = eqx.field(static=True)
    difficulty: Difficulty = eqx.field(static=True)
    decks: int = eqx.field(static=True)
    k: int = eqx.field(static=True)

    def __init__(
        self,
        difficulty: Difficulty,
        *,
        decks: int | None = None,
        k: int | None = None,
        max_steps: int | None = None,
    ):
        """`decks` is the number of decks; `max_steps` is no limit if left out."""
        self.difficulty = check_difficulty(difficulty)
        sizes = {"Easy": (1, 4), "Medium": (2, 32), "Hard": (3, 64)}[difficulty]
        self.decks = check_integer(
            "decks", sizes[0] if decks is None else decks, low=1, high=MOST_DECKS
        )
        self.k = check_integer("k", sizes[1] if k is None else k, low=1, high=self.cards - 1)
        self.max_steps = time_limit(max_steps, self.answers)

    @property
    def answers(self) -> range:
        return range(self.k - 1, self.cards - 1)

    def begin(self, card: Int[Array, ""]) -> tuple[Int[Array, ""], RepeatPreviousState]:
        recent = jnp.zeros(self.k, jnp.int32).at[0].set(card)
        return card, RepeatPreviousState(recent, without(full_deck(SUITS, self.decks), card))

    def transition(
        self, state: RepeatPreviousState, action: Action, card: Int[Array, ""]
    ) -> tuple[Int[Array, ""], RepeatPreviousState, Float[Array, ""], Bool[Array, ""]]:
        dealt = self.cards - state.left.sum()
        oldest = dealt % self.k
        answer = pay(jnp.equal(action, state.recent[oldest]), self.reward_bound)
        left = without(state.left, card)
        after = RepeatPreviousState(state.recent.at[oldest].set(card), left)
        return card, after, jnp.where(dealt >= self.k, answer, 0.0), left.sum() == 0

    def describe_state(self, state: RepeatPreviousState) -> str:
        dealt = self.cards - int(state.left.sum())
        due = f"{int(state.recent[dealt % self.k])} is due" if dealt >= self.k else "nothing is due"
        return f"{due}, {self.cards - dealt} cards left"
