"""Reading a file in Cassandra's format.

The grammar, as far as readers disagree on it. Lines mean nothing; `#` begins a comment.

- `discount`, `values` (`reward` or `cost`); `states`, `actions`, `observations`: a number, names;
- `start:` a distribution, a state or `uniform`; `start include:` and `start exclude:` states, all
  equally likely; uniform where nothing is said;
- `T: a : x : x' p`, `T: a : x` and a row, `uniform` or `reset` (to the start), `T: a` and a matrix,
  `uniform` or `identity`; `O:` likewise with the state arrived in, and observations;
- `R: a : x : x' : o r`, `R: a : x : x'` and a row, `R: a : x` and a matrix.

An item is a name, its number from zero on, or `*` for all. The last statement on an entry wins.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from asmpg.environments.pomdp_files._model import PomdpModel, outcome_rewards
from asmpg.environments.pomdp_files._reader import FileReader
from asmpg.environments.pomdp_files._rows import resolved_rows
from asmpg.environments.pomdp_files._statements import (
    ANY,
    MOST_ENTRIES,
    ProbabilityStatements,
    RewardStatements,
)
from asmpg.environments.pomdp_files._tokens import Tokens, as_number

_ITEMS = ("states", "actions", "observations")
_SECTIONS = ("discount", "values", *_ITEMS, "start", "T", "O", "R")
_MOST_BYTES = 500_000_000
_CLASSICS = Path(__file__).parent / "classics"


def read_pomdp(path: str | Path) -> PomdpModel:
    """Read a file in Cassandra's POMDP format.

    Probabilities that sum to one within 1e-3 are normalised, beyond 1e-5 with a warning. Costs
    become negative rewards. Errors name line and column. A name without a folder that is not a file
    here may be that of one of the classics that come with the package (`classic_names`).

    >>> model = asmpg.read_pomdp("hallway.pomdp")
    """
    path = Path(path)
    if not path.is_file() and path.name == str(path) and path.name in classic_names():
        path = _CLASSICS / path.name
    if not path.is_file():
        raise ValueError(
            f"path must be a POMDP file or one of {', '.join(classic_names())}, but there is no "
            f"file {path}"
        )
    if path.stat().st_size > _MOST_BYTES:
        raise ValueError(f"path must be a file of at most {_MOST_BYTES:,} bytes, got {path}")
    return parse_pomdp(path.read_bytes().decode(errors="replace"), path)


def classic_names() -> list[str]:
    """The files that come with the package."""
    return sorted(path.name for path in _CLASSICS.glob("*.pomdp"))


def parse_pomdp(text: str, path: Path) -> PomdpModel:
    """Read `text`, which is what `path` holds."""
    return _Parser(Tokens(text, path)).parse()


class _Parser(FileReader):
    kinds = _ITEMS
    sections = _SECTIONS

    def __init__(self, tokens: Tokens):
        super().__init__(tokens)
        self.discount: float | None = None
        self.sign = 1.0
        self.rewards = RewardStatements()
        self.resets: list[tuple[int, int, int]] = []

    def parse(self) -> PomdpModel:
        self.read_sections()
        self._complete(self.tokens.at)
        return self._model()

    def read_section(self, section: str, begin: int) -> None:
        if section in "TOR":
            self._complete(begin)
            {"T": self._transitions, "O": self._observations, "R": self._rewards}[section](begin)
        else:
            self._preamble(section)

    def _preamble(self, section: str) -> None:
        if section == "discount":
            self.discount = self.tokens.take_number("the discount", low=0.0)
            if self.discount > 1:
                self.tokens.fail("a number in [0, 1] for the discount", self.tokens.at - 1)
        else:
            word = self.tokens.take()
            if word not in ("reward", "cost"):
                self.tokens.fail("reward or cost", self.tokens.at - 1)
            self.sign = -1.0 if word == "cost" else 1.0

    def _complete(self, index: int) -> None:
        """Check that all has been declared that probabilities and rewards speak of."""
        missing = [section for section in _ITEMS if section not in self.names]
        if self.discount is None:
            missing.insert(0, "discount")
        if missing:
            self.tokens.fail(f"{', '.join(missing)} to be declared before", index)
        if hasattr(self, "transition"):
            return
        states, actions, symbols = (len(self.names[section]) for section in _ITEMS)
        if actions * states > MOST_ENTRIES or states * symbols > 10**10:
            self.tokens.refuse(
                f"{states} states, {actions} actions and {symbols} observations are too many", index
            )
        self.transition = ProbabilityStatements((actions, states, states))
        self.observation = ProbabilityStatements((actions, states, symbols))

    # Probabilities and rewards.

    def _items(self, letter: str, sections: Sequence[str]) -> list[int]:
        """`a : x : ...`, as far as it goes."""
        items = [self.item(sections[0])]
        while len(items) < len(sections) and self.tokens.peek() == ":":
            self.tokens.take()
            items.append(self.item(sections[len(items)]))
        if self.tokens.peek() == ":":
            self.tokens.fail(f"a value: {letter} has {len(sections)} items")
        return items

    def _transitions(self, begin: int) -> None:
        items = self._items("T", ("actions", "states", "states"))
        self._probabilities(self.transition, "T", items, begin)

    def _observations(self, begin: int) -> None:
        items = self._items("O", ("actions", "states", "observations"))
        self._probabilities(self.observation, "O", items, begin)

    def _probabilities(
        self, table: ProbabilityStatements, letter: str, items: list[int], begin: int
    ) -> None:
        _, rows, columns = table.shape
        word = self.tokens.peek()
        if len(items) == 3:
            value = self.tokens.take_number(f"the probability of {letter}", low=0.0)
            table.set_entry(items[0], items[1], items[2], value, begin)
        elif word == "uniform":
            self.tokens.take()
            table.set_row(items[0], (*items, ANY)[1], {ANY: 1 / columns}, begin)
        elif word == "identity" and len(items) == 1 and rows == columns:
            self.tokens.take()
            for row in range(rows):
                table.set_row(items[0], row, {row: 1.0}, begin)
        elif word == "reset" and letter == "T":
            self.tokens.take()
            self.resets.append((items[0], (*items, ANY)[1], begin))
        else:
            first = [items[1]] if len(items) == 2 else range(rows)
            self._fits(len(first) * columns)
            what = f"a row of {letter}" if len(items) == 2 else f"the matrix of {letter}"
            numbers = self.tokens.take_numbers(len(first) * columns, what, low=0.0)
            matrix = np.array(numbers).reshape(len(first), columns)
            for row, values in zip(first, matrix, strict=True):
                possible = np.flatnonzero(values)
                whole = dict(zip(possible.tolist(), values[possible].tolist(), strict=True))
                table.set_row(items[0], row, whole, begin)

    def _rewards(self, begin: int) -> None:
        items = self._items("R", ("actions", "states", "states", "observations"))
        symbols = len(self.names["observations"])
        if len(items) == 4:
            value = self.tokens.take_number("the reward")
            self.rewards.set(items[0], items[1], items[2], items[3], value)
            return
        if len(items) == 1:
            self.tokens.fail("a colon and a state: rewards of an action alone have no matrix")
        rows = [items[2]] if len(items) == 3 else range(len(self.names["states"]))
        what = "a row of R" if len(items) == 3 else "the matrix of R"
        self._fits(len(rows) * symbols)
        numbers = self.tokens.take_numbers(len(rows) * symbols, what)
        for row, next_state in enumerate(rows):
            values = numbers[row * symbols : (row + 1) * symbols]
            if min(values) == max(values):
                self.rewards.set(items[0], items[1], next_state, ANY, values[0])
                continue
            for symbol, value in enumerate(values):
                self.rewards.set(items[0], items[1], next_state, symbol, value)

    def _fits(self, count: int) -> None:
        left = len(self.tokens.words) - self.tokens.at
        if as_number(self.tokens.peek()) is not None and count > left:
            self.tokens.refuse(
                f"expected {count} numbers, but only {left} words are left in the file",
                self.tokens.at,
            )

    # The end of the file.

    def _model(self) -> PomdpModel:
        states, actions, observations = (self.names[section] for section in _ITEMS)
        uniform = np.full(len(states), 1 / len(states))
        start = uniform if self.start is None else self.start
        possible = np.flatnonzero(start)
        row = dict(zip(possible.tolist(), start[possible].tolist(), strict=True))
        for action, state, begin in self.resets:
            self.transition.set_row(action, state, row, begin)
        transition, probability = resolved_rows(self.tokens, self.transition, "T", self.names)
        shown, symbol_probability = resolved_rows(self.tokens, self.observation, "O", self.names)
        try:
            reward, by_observation = outcome_rewards(
                self.rewards,
                transition,
                shown,
                symbol_probability,
                (actions, states, observations),
                sign=self.sign,
            )
        except MemoryError as error:
            self.tokens.refuse(str(error), len(self.tokens.words))
        assert self.discount is not None
        return PomdpModel(
            states=states,
            actions=actions,
            observations=observations,
            discount=self.discount,
            start=start,
            outcomes=transition,
            probability=probability,
            reward=reward,
            symbols=shown,
            symbol_probability=symbol_probability,
            reward_by_observation=by_observation,
        )
