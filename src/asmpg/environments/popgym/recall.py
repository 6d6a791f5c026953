"""POPGym's CountRecall and Autoencode: tasks that ask for all that was dealt before.

Source: POPGym 1.0.7 (Morad et al., 2023, https://github.com/proroklab/popgym), step by step.
Answers pay `+scale` if right and `-scale` if wrong, with the `scale` that makes 1 the return of a
perfect memory. An episode ends (it is terminated, not truncated) with the last card or answer.
Suits are numbered 0 to 3; a deck has 52 cards, `n` is how many there are.

| task        | Easy           | Medium         | Hard           | answers | steps     |
| ----------- | -------------- | -------------- | -------------- | ------- | --------- |
| CountRecall | 1 deck, colors | 2 decks, suits | 4 decks, ranks | `n - 1` | `n - 1`   |
| Autoencode  | 1 deck         | 2 decks        | 3 decks        | `n`     | `2 n - 1` |
"""

from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from asmpg._support.checks import check_integer, check_one_of
from asmpg.environments._environment import Action
from asmpg.environments._spaces import Discrete
from asmpg.environments.popgym._task import (
    MOST_DECKS,
    RANKS,
    SUIT_NAMES,
    SUITS,
    Difficulty,
    RecallTask,
    SuitTask,
    check_difficulty,
    deal,
    full_deck,
    pay,
    time_limit,
    without,
)

#: By what CountRecall tells cards apart, and how many kinds there are then.
KINDS = {"colors": 2, "suits": SUITS, "ranks": RANKS}
Kind = Literal["colors", "suits", "ranks"]


class CountRecallState(NamedTuple):
    """What is left of the two decks, and the kind that is asked for."""

    values_left: Int[Array, " kinds"]
    queries_left: Int[Array, " kinds"]
    query: Int[Array, ""]


class CountRecall(RecallTask[CountRecallState]):
    """Say how often a kind of card has been dealt so far.

    At each step a card is dealt and a kind is asked for, dealt from a second deck. POPGym shows the
    pair `(card, query)`; here it is the symbol `kinds * card + query`, as its MultiDiscrete space
    is read on the host. Action `c` says that `query` has been dealt `c` times, the card just seen
    included. With memory, 1; by chance, `2 / actions - 1`.
    """

    max_steps: int = eqx.field(static=True)
    difficulty: Difficulty = eqx.field(static=True)
    decks: int = eqx.field(static=True)
    cards_by: Kind = eqx.field(static=True)

    def __init__(
        self,
        difficulty: Difficulty,
        *,
        decks: int | None = None,
        cards_by: Kind | None = None,
        max_steps: int | None = None,
    ):
        """`cards_by` is what tells cards apart; `max_steps` is no limit if left out."""
        self.difficulty = check_difficulty(difficulty)
        sizes: dict[Difficulty, tuple[int, Kind]] = {
            "Easy": (1, "colors"),
            "Medium": (2, "suits"),
            "Hard": (4, "ranks"),
        }
        given = sizes[difficulty][0] if decks is None else decks
        self.decks = check_integer("decks", given, low=1, high=MOST_DECKS)
        self.cards_by = sizes[difficulty][1] if cards_by is None else cards_by
        check_one_of("cards_by", self.cards_by, tuple(KINDS))
        self.max_steps = time_limit(max_steps, self.answers)

    @property
    def kinds(self) -> int:
        """How many kinds of cards there are."""
        return KINDS[self.cards_by]

    @property
    def answers(self) -> range:
        return range(self.cards - 1)

    @property
    def observation_space(self) -> Discrete:
        return Discrete(self.kinds**2)

    @property
    def observation_names(self) -> tuple[str, ...]:
        kinds = range(self.kinds)
        return tuple(f"dealt {card}, asked {query}" for card in kinds for query in kinds)

    @property
    def action_space(self) -> Discrete:
        return Discrete(self.cards // self.kinds + 1)

    def reset(self, key: Key[Array, ""]) -> tuple[Int[Array, ""], CountRecallState]:
        value_key, query_key = jax.random.split(key)
        full = full_deck(self.kinds, self.decks)
        return self.begin(deal(value_key, full), deal(query_key, full))

    def step(
        self, key: Key[Array, ""], state: CountRecallState, action: Action
    ) -> tuple[Int[Array, ""], CountRecallState, Float[Array, ""], Bool[Array, ""]]:
        self.check_action(action)
        value_key, query_key = jax.random.split(key)
        card, query = deal(value_key, state.values_left), deal(query_key, state.queries_left)
        return self.transition(state, action, card, query)

    def begin(
        self, card: Int[Array, ""], query: Int[Array, ""]
    ) -> tuple[Int[Array, ""], CountRecallState]:
        """The start of an episode whose first card and query are these."""
        full = full_deck(self.kinds, self.decks)
        state = CountRecallState(without(full, card), without(full, query), query)
        return self.kinds * card + query, state

    def transition(
        self,
        state: CountRecallState,
        action: Action,
        card: Int[Array, ""],
        query: Int[Array, ""],
    ) -> tuple[Int[Array, ""], CountRecallState, Float[Array, ""], Bool[Array, ""]]:
        """The step after which `card` is dealt and `query` is asked for."""
        reward = pay(jnp.equal(action, self.count(state)), self.reward_bound)
        left = without(state.values_left, card)
        after = CountRecallState(left, without(state.queries_left, query), query)
        return self.kinds * card + query, after, reward, left.sum() == 0

    def count(self, state: CountRecallState) -> Int[Array, ""]:
        """The right answer."""
        return self.cards // self.kinds - state.values_left[state.query]

    def describe_state(self, state: CountRecallState) -> str:
        return f"{int(self.count(state))} of kind {int(state.query)} so far"


class AutoencodeState(NamedTuple):
    """The suits in the order they were dealt, what is left of the deck, and answers given."""

    dealt: Int[Array, " cards"]
    left: Int[Array, " suits"]
    recited: Int[Array, ""]


class Autoencode(SuitTask[AutoencodeState]):
    """Watch a whole deck being dealt, then recite its suits backwards, the last card first.

    POPGym shows the pair `(mode, suit)`, with mode 1 while watching and 0 while reciting; here it
    is the symbol `4 * mode + suit`. The last card is shown with mode 0, while reciting the suit is
    0. With memory, 1; by chance, -1/2.
    """

    max_steps: int = eqx.field(static=True)
    difficulty: Difficulty = eqx.field(static=True)
    decks: int = eqx.field(static=True)

    def __init__(
        self, difficulty: Difficulty, *, decks: int | None = None, max_steps: int | None = None
    ):
        """`decks` is the number of decks; `max_steps` is no limit if left out."""
        self.difficulty = check_difficulty(difficulty)
        given = {"Easy": 1, "Medium": 2, "Hard": 3}[difficulty] if decks is None else decks
        self.decks = check_integer("decks", given, low=1, high=MOST_DECKS)
        self.max_steps = time_limit(max_steps, self.answers)

    @property
    def answers(self) -> range:
        return range(self.cards - 1, 2 * self.cards - 1)

    @property
    def observation_space(self) -> Discrete:
        return Discrete(2 * SUITS)

    @property
    def observation_names(self) -> tuple[str, ...]:
        """A suit alone is the last card or, most often, the wait for the next answer."""
        return (*SUIT_NAMES, *(f"watch {name}" for name in SUIT_NAMES))

    def begin(self, card: Int[Array, ""]) -> tuple[Int[Array, ""], AutoencodeState]:
        """The start of an episode whose first card is `card`."""
        dealt = jnp.zeros(self.cards, jnp.int32).at[0].set(card)
        left = without(full_deck(SUITS, self.decks), card)
        return SUITS + card, AutoencodeState(dealt, left, jnp.zeros((), jnp.int32))

    def transition(
        self, state: AutoencodeState, action: Action, card: Int[Array, ""]
    ) -> tuple[Int[Array, ""], AutoencodeState, Float[Array, ""], Bool[Array, ""]]:
        """The step after which `card` is dealt, if any is left."""
        remaining = state.left.sum()
        watching = remaining > 0
        answer = pay(
            jnp.equal(action, state.dealt[self.cards - 1 - state.recited]), self.reward_bound
        )
        place = jnp.where(watching, self.cards - remaining, self.cards)  # past the end: not written
        after = AutoencodeState(
            state.dealt.at[place].set(card, mode="drop"),
            jnp.where(watching, without(state.left, card), state.left),
            state.recited + ~watching,
        )
        observation = jnp.where(watching, card, 0) + jnp.where(remaining > 1, SUITS, 0)
        return observation, after, jnp.where(watching, 0.0, answer), after.recited == self.cards

    def describe_state(self, state: AutoencodeState) -> str:
        if int(state.left.sum()):
            return f"watching, {int(state.left.sum())} cards left"
        return f"{int(state.recited)} of {self.cards} recited"
