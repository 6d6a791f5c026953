"""What files of models and of controllers have in common: declared names, items, a start."""

import abc
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from asmpg.environments.pomdp_files._rows import checked_sums
from asmpg.environments.pomdp_files._statements import ANY
from asmpg.environments.pomdp_files._tokens import Tokens, as_number

_MOST_ITEMS = 100_000


class FileReader(abc.ABC):
    """One file being read: its tokens, and what was declared so far.

    `kinds` are the sections that declare names; the `start` is one of the first of them.
    """

    kinds: ClassVar[tuple[str, ...]]
    sections: ClassVar[tuple[str, ...]]

    def __init__(self, tokens: Tokens):
        self.tokens = tokens
        self.names: dict[str, tuple[str, ...]] = {}
        self.numbers: dict[str, dict[str, int]] = {}
        self.start: Float[np.ndarray, " X"] | None = None

    def read_sections(self) -> None:
        """Hand every section to `read_section`, up to the end of the file."""
        while self.tokens.peek():
            section = self.section()
            if section is None:
                self.tokens.fail(f"{', '.join(self.sections)} and a colon")
            begin = self.tokens.at
            self.tokens.take()
            if section == "start":
                self.read_start(begin)
                continue
            self.tokens.take_colon(section)
            if section in self.kinds:
                self.declare(section, begin)
            else:
                self.read_section(section, begin)

    @abc.abstractmethod
    def read_section(self, section: str, begin: int) -> None:
        """Read what follows the colon of a section that is neither a start nor a declaration."""

    def section(self) -> str | None:
        """The section that begins with the next word, if one does."""
        word, following = self.tokens.peek(), self.tokens.peek(1)
        colon = following == ":" or (word == "start" and following in ("include", "exclude"))
        return word if colon and word in self.sections else None

    def declare(self, section: str, begin: int) -> None:
        """The names of a section, or their number."""
        if section in self.names:
            self.tokens.refuse(f"{section} are declared twice", begin)
        first = self.tokens.at
        while self.tokens.peek() and self.section() is None:
            if self.tokens.take() in (":", "*"):
                self.tokens.fail(f"the number or the names of the {section}", self.tokens.at - 1)
        names = self.tokens.words[first : self.tokens.at]
        if not names:
            self.tokens.fail(f"the number or the names of the {section}")
        if len(names) == 1 and as_number(names[0]) is not None:
            count = _index(names[0])
            if count is None or not 1 <= count <= _MOST_ITEMS:
                self.tokens.fail(f"an integer in [1, {_MOST_ITEMS}] of {section}", first)
            names = [str(number) for number in range(count)]
        if len(names) > _MOST_ITEMS:
            self.tokens.refuse(f"{section} must be at most {_MOST_ITEMS}", begin)
        self.names[section] = tuple(names)
        self.numbers[section] = {}
        for number, name in enumerate(names):
            if self.numbers[section].setdefault(name, number) != number:
                self.tokens.fail(f"different names of {section}", first + number)

    def read_start(self, begin: int) -> None:
        """A distribution over the first kind, one of them, or those that are named or are not."""
        kind = self.kinds[0]
        if kind not in self.names:
            self.tokens.fail(f"{kind} to be declared before the start", begin)
        states = self.names[kind]
        if self.tokens.peek() in ("include", "exclude"):
            included = self.tokens.take() == "include"
            self.tokens.take_colon("start")
            named = np.zeros(len(states), bool)
            while self.tokens.peek() and self.section() is None:
                named[self.item(kind, wildcard=False)] = True
            chosen = named if included else ~named
            if not chosen.any():
                self.tokens.refuse(f"start leaves none of the {kind}", begin)
            self.start = chosen / chosen.sum()
            return
        self.tokens.take_colon("start")
        ahead = 0
        while ahead < len(states) and as_number(self.tokens.peek(ahead)) is not None:
            ahead += 1
        if self.tokens.peek() == "uniform":
            self.tokens.take()
            self.start = np.full(len(states), 1 / len(states))
        elif ahead == len(states) > 1:
            row = np.array(self.tokens.take_numbers(len(states), "the start", low=0.0))
            sums = checked_sums(self.tokens, row.sum()[None], lambda _: ("start", begin))
            self.start = row / sums[0]
        elif ahead > 1:
            self.tokens.fail(f"{len(states)} probabilities for the start", self.tokens.at + ahead)
        else:
            chosen = self.item(kind, wildcard=False) if len(states) > 1 else 0
            self.tokens.at += len(states) == 1
            self.start = np.eye(len(states))[chosen]

    def item(self, section: str, *, wildcard: bool = True) -> int:
        """The number of the item that the next word names; `ANY` for a wildcard."""
        word = self.tokens.take()
        if word == "*" and wildcard:
            return ANY
        names = self.names[section]
        number = self.numbers[section].get(word)
        if number is None:
            number = _index(word)
        if number is None or number >= len(names):
            known = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
            self.tokens.fail(
                f"one of the {section} ({known}) or a number below {len(names)}",
                self.tokens.at - 1,
            )
        return number


def _index(word: str) -> int | None:
    """The integer that `word` writes, if it is one that could count something."""
    return int(word) if word.isascii() and word.isdigit() and len(word) < 10 else None
