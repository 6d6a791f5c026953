"""The words of a POMDP file, and where they stand."""

import re
from pathlib import Path
from typing import NoReturn

_COMMENT = re.compile(r"#[^\n]*")
_WORD = re.compile(r":|[^\s:]+")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
#: Numbers beyond this overflow in sums and squares.
_LARGEST = 1e100
#: A probability may be so much above one; its row decides whether that is rounding.
_ROUNDING = 1e-3
#: How much of a word a message shows.
_MOST_SHOWN = 40


class PomdpFileError(ValueError):
    """A POMDP file that cannot be read; the message names file, line and column."""


class Tokens:
    """A file as a list of words, read from left to right.

    A colon is a word of its own, with or without spaces around it. Lines mean nothing, comments
    run from `#` to the end of theirs. Positions are looked up only when an error names them.
    """

    def __init__(self, text: str, path: Path):
        self.path = path
        # As long as what it stands for, so that positions stay what they are.
        self._text = _COMMENT.sub(lambda comment: " " * len(comment[0]), text)
        self.words: list[str] = _WORD.findall(self._text)
        self.at = 0

    def peek(self, ahead: int = 0) -> str:
        """The next word, or one further on; empty at the end of the file."""
        index = self.at + ahead
        return self.words[index] if index < len(self.words) else ""

    def take(self) -> str:
        """The next word, which is then behind us."""
        word = self.peek()
        self.at += 1
        return word

    def take_colon(self, after: str) -> None:
        if self.take() != ":":
            self.fail(f"a colon after {after}", self.at - 1)

    def take_number(self, what: str, *, low: float | None = None, high: float = 1.0) -> float:
        """The next word as a finite number, in `[low, high]` where `low` is given."""
        word = self.take()
        number = as_number(word)
        if number is None or not (low is None or low <= number <= high + _ROUNDING):
            among = "a number" if low is None else f"a number in [{low:g}, {high:g}]"
            self.fail(f"{among} for {what}", self.at - 1)
        return number

    def take_numbers(self, count: int, what: str, *, low: float | None = None) -> list[float]:
        """The next `count` words as finite numbers, in `[low, 1]` where `low` is given."""
        words = self.words[self.at : self.at + count]
        try:
            # Quick for the many numbers of a matrix; what fails is looked at one by one.
            numbers = [float(word) for word in words]
            sound = len(words) == count and all(map(_NUMBER.fullmatch, words))
        except ValueError:
            sound, numbers = False, []
        lowest, highest = (-_LARGEST, _LARGEST) if low is None else (low, 1.0 + _ROUNDING)
        if sound and lowest <= min(numbers) and max(numbers) <= highest:
            self.at += count
            return numbers
        return [
            self.take_number(f"{what} ({number} of {count})", low=low)
            for number in range(1, count + 1)
        ]

    def fail(self, expected: str, index: int | None = None) -> NoReturn:
        """Raise an error: `expected` was expected where word `index` stands."""
        index = self.at if index is None else index
        word = self.words[index] if index < len(self.words) else ""
        shortened = word if len(word) <= _MOST_SHOWN else f"{word[:_MOST_SHOWN]}..."
        found = repr(shortened) if word else "the end of the file"
        raise PomdpFileError(f"{self.place(index)}: expected {expected}, got {found}")

    def refuse(self, reason: str, index: int) -> NoReturn:
        """Raise an error for what begins with word `index`."""
        raise PomdpFileError(f"{self.place(index)}: {reason}")

    def place(self, index: int) -> str:
        """`file:line:column` of word `index`, counted from one."""
        offset = len(self._text.rstrip())
        for number, match in enumerate(_WORD.finditer(self._text)):
            if number == index:
                offset = match.start()
                break
        line = self._text.count("\n", 0, offset) + 1
        column = offset - (self._text.rfind("\n", 0, offset) + 1) + 1
        return f"{self.path}:{line}:{column}"


def as_number(word: str) -> float | None:
    """The finite number that `word` writes, or `None`."""
    if not _NUMBER.fullmatch(word):
        return None
    number = float(word)
    return number if abs(number) <= _LARGEST else None
