"""POPGym's HigherLower and Concentration: games of cards.

Source: POPGym 1.0.7 (Morad et al., 2023, https://github.com/proroklab/popgym), step by step.

| task          | Easy                  | Medium                | Hard                 |
| ------------- | --------------------- | --------------------- | -------------------- |
| HigherLower   | 1 deck, 51 steps      | 2 decks, 103 steps    | 3 decks, 155 steps   |
| Concentration | 1 deck by color       | 2 decks by color      | 1 deck by rank       |
|               | 104 steps at most     | 208 steps at most     | 104 steps at most    |
"""

import math
from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from asmpg._support.checks import check_integer, check_one_of
from asmpg.environments._environment import Action
from asmpg.environments._spaces import Box, Discrete
from asmpg.environments.popgym._task import (
    DECK,
    RANKS,
    Difficulty,
    POPGymTask,
    check_difficulty,
    deal,
    full_deck,
    without,
)

RANK_NAMES = ("ace", *map(str, range(2, 11)), "jack", "queen", "king")
#: The colors, or the ranks, of a deck.
MATCHES = {"colors": 2, "ranks": RANKS}
Match = Literal["colors", "ranks"]
_MOST_DECKS = 10


class HigherLowerState(NamedTuple):
    """The rank of the card on the table, and how many cards of each rank are left."""

    rank: Int[Array, ""]
    left: Int[Array, " ranks"]


class HigherLower(POPGymTask[HigherLowerState]):
    """Guess whether the next card is higher (action 0) or lower (action 1) than this one.

    A right guess pays `1 / cards`, a wrong one `-1 / cards`, a card of the same rank nothing. The
    observation is the rank, the ace being lowest. The last card terminates the episode. Memory
    helps a little: who remembers all cards knows which are left.
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
        self.decks = check_integer("decks", given, low=1, high=_MOST_DECKS)
        steps = self.cards - 1 if max_steps is None else max_steps
        self.max_steps = check_integer("max_steps", steps, low=1)

    @property
    def cards(self) -> int:
        """The number of cards."""
        return DECK * self.decks

    @property
    def observation_space(self) -> Discrete:
        return Discrete(RANKS)

    @property
    def action_space(self) -> Discrete:
        return Discrete(2)

    @property
    def observation_names(self) -> tuple[str, ...]:
        return RANK_NAMES

    @property
    def action_names(self) -> tuple[str, ...]:
        return ("higher", "lower")

    @property
    def reward_bound(self) -> float:
        return 1 / self.cards

    def reset(self, key: Key[Array, ""]) -> tuple[Int[Array, ""], HigherLowerState]:
        return self.begin(deal(key, full_deck(RANKS, self.decks)))

    def step(
        self, key: Key[Array, ""], state: HigherLowerState, action: Action
    ) -> tuple[Int[Array, ""], HigherLowerState, Float[Array, ""], Bool[Array, ""]]:
        self.check_action(action)
        return self.transition(state, action, deal(key, state.left))

    def begin(self, card: Int[Array, ""]) -> tuple[Int[Array, ""], HigherLowerState]:
        """The start of an episode whose first card has rank `card`."""
        return card, HigherLowerState(card, without(full_deck(RANKS, self.decks), card))

    def transition(
        self, state: HigherLowerState, action: Action, card: Int[Array, ""]
    ) -> tuple[Int[Array, ""], HigherLowerState, Float[Array, ""], Bool[Array, ""]]:
        """The step after which a card of rank `card` is dealt."""
        guess = jnp.where(jnp.equal(action, 0), 1.0, -1.0)
        reward = guess * jnp.sign(card - state.rank) * self.reward_bound
        left = without(state.left, card)
        return card, HigherLowerState(card, left), reward, left.sum() == 0

    def describe_state(self, state: HigherLowerState) -> str:
        lower, higher = state.left[: int(state.rank)], state.left[int(state.rank) + 1 :]
        return f"{int(higher.sum())} higher and {int(lower.sum())} lower cards left"


class ConcentrationState(NamedTuple):
    """The cards on the table, which of them are matched, and which one is turned for now."""

    kinds: Int[Array, " cards"]
    matched: Bool[Array, " cards"]
    turned: Int[Array, ""]


class Concentration(POPGymTask[ConcentrationState]):
    """Turn two cards at a time, and find the pairs; cards that do not match are turned back.

    An action turns one card. The second of two pays `2 / cards` if they match, and costs
    `2 / max_steps` if not; turning a card that is matched already costs as much as the cards it
    spoils, and turns the other one back. The game is over when every card is matched. The
    observation has a number for each card and kind, 1 if the card is seen to be of that kind, and
    one more for each card, 1 if it lies face down: POPGym's MultiDiscrete as the host reads it.
    """

    max_steps: int = eqx.field(static=True)
    difficulty: Difficulty = eqx.field(static=True)
    decks: int = eqx.field(static=True)
    match_by: Match = eqx.field(static=True)

    def __init__(
        self,
        difficulty: Difficulty,
        *,
        decks: int | None = None,
        match_by: Match | None = None,
        max_steps: int | None = None,
    ):
        """`match_by` says which cards match: those of the same color, or of the same rank."""
        self.difficulty = check_difficulty(difficulty)
        sizes: dict[Difficulty, tuple[int, Match]] = {
            "Easy": (1, "colors"),
            "Medium": (2, "colors"),
            "Hard": (1, "ranks"),
        }
        given = sizes[difficulty][0] if decks is None else decks
        self.decks = check_integer("decks", given, low=1, high=_MOST_DECKS)
        self.match_by = sizes[difficulty][1] if match_by is None else match_by
        check_one_of("match_by", self.match_by, tuple(MATCHES))
        steps = self.limit if max_steps is None else max_steps
        self.max_steps = check_integer("max_steps", steps, low=1)

    @property
    def cards(self) -> int:
        """The number of cards."""
        return DECK * self.decks

    @property
    def limit(self) -> int:
        """POPGym's time limit, which sets its costs: what a perfect memory needs, and more."""
        return math.ceil(2 * self.cards - self.cards / (2 * self.cards - 1))

    @property
    def observation_space(self) -> Box:
        size = self.cards * (MATCHES[self.match_by] + 1)
        return Box((0.0,) * size, (1.0,) * size)

    @property
    def action_space(self) -> Discrete:
        return Discrete(self.cards)

    @property
    def observation_names(self) -> tuple[str, ...]:
        colors = ("black", "red") if self.match_by == "colors" else RANK_NAMES
        faces = (*colors, "face down")
        return tuple(f"card {card} {face}" for card in range(self.cards) for face in faces)

    @property
    def action_names(self) -> tuple[str, ...]:
        return tuple(f"card {card}" for card in range(self.cards))

    @property
    def reward_bound(self) -> float:
        return 2 / min(self.cards, self.limit)

    def reset(self, key: Key[Array, ""]) -> tuple[Float[Array, " size"], ConcentrationState]:
        kinds = MATCHES[self.match_by]
        return self.begin(jax.random.permutation(key, jnp.arange(self.cards) % kinds))

    def step(
        self, key: Key[Array, ""], state: ConcentrationState, action: Action
    ) -> tuple[Float[Array, " size"], ConcentrationState, Float[Array, ""], Bool[Array, ""]]:
        del key
        self.check_action(action)
        return self.transition(state, action)

    def begin(
        self, kinds: Int[Array, " cards"]
    ) -> tuple[Float[Array, " size"], ConcentrationState]:
        """The start of an episode with these cards on the table."""
        matched = jnp.zeros(self.cards, bool)
        return self._seen(kinds, matched), ConcentrationState(kinds, matched, jnp.asarray(-1))

    def transition(
        self, state: ConcentrationState, action: Action
    ) -> tuple[Float[Array, " size"], ConcentrationState, Float[Array, ""], Bool[Array, ""]]:
        """There is no chance but in the start."""
        kinds, matched, turned = state
        action = jnp.asarray(action)
        second = turned >= 0
        spoiled = matched[action]  # The one turned first never is: it would have been discarded.
        pair = second & ~spoiled & (turned != action) & (kinds[turned] == kinds[action])
        places = jnp.arange(self.cards)
        up = (places == action) | (places == turned)
        cost = jnp.where(second, 2.0, 1.0) / self.limit
        fails = (second | spoiled) & ~pair
        reward = jnp.where(pair, 2 / self.cards, jnp.where(fails, -cost, 0.0))
        now = jnp.where(pair, matched | up, matched)
        after = ConcentrationState(kinds, now, jnp.where(second | spoiled, -1, action))
        return self._seen(kinds, matched | up), after, reward, now.all()

    def _seen(
        self, kinds: Int[Array, " cards"], up: Bool[Array, " cards"]
    ) -> Float[Array, " size"]:
        down = MATCHES[self.match_by]
        return jax.nn.one_hot(jnp.where(up, kinds, down), down + 1).reshape(-1)

    def describe_state(self, state: ConcentrationState) -> str:
        turned = "no card" if int(state.turned) < 0 else f"card {int(state.turned)}"
        return f"{int(state.matched.sum())} of {self.cards} matched, {turned} turned"
