"""What the statements of a POMDP file add up to: the last one that speaks of an entry wins.

Statements are kept as they are written, `-1` standing for a wildcard. Wildcards of probabilities
are written out at the end, those of rewards never: a reward is looked up for the transitions that
are possible.
"""

import itertools
from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int

#: Entries of a table that nobody means: more are refused before they are allocated.
MOST_ENTRIES = 30_000_000
ANY = -1


class ProbabilityStatements:
    """Statements on `p[first, second, third]`: action, state, and what is distributed.

    An entry is set on its own, or a whole row at a time; what a row leaves out is zero.
    """

    def __init__(self, shape: tuple[int, int, int]):
        self.shape = shape
        self._entries: list[tuple[int, int, int, float, int]] = []
        self._rows: list[tuple[int, int, int]] = []

    def set_entry(self, first: int, second: int, third: int, value: float, token: int) -> None:
        """`token` is where the statement stands; later statements have larger ones."""
        if third == ANY and value == 0:
            self.set_row(first, second, {}, token)
            return
        self._entries.append((first, second, third, value, token))

    def set_row(self, first: int, second: int, row: dict[int, float], token: int) -> None:
        self._rows.append((first, second, token))
        self._entries.extend((first, second, third, p, token) for third, p in row.items())

    def resolve(
        self, too_many: Callable[[], None]
    ) -> tuple[Int[np.ndarray, "E 3"], Float[np.ndarray, " E"], Int[np.ndarray, " rows"]]:
        """The entries that are not zero, sorted, and the last statement on each row, or -1.

        `too_many` is called where wildcards stand for more entries than anybody means.
        """
        one, two, three = self.shape
        latest = np.full(one * two, -1)
        if not self._entries and not self._rows:
            return np.zeros((0, 3), int), np.zeros(0), latest
        entries = np.array(self._entries, float).reshape(-1, 5)
        index, values, tokens = entries[:, :3].astype(int), entries[:, 3], entries[:, 4].astype(int)
        index, tokens, values = _written_out(index, self.shape, too_many, tokens, values)
        rows = np.array(self._rows, int).reshape(-1, 3)
        row_index, row_tokens = _written_out(rows[:, :2], self.shape[:2], too_many, rows[:, 2])
        cleared = np.full(one * two, -1)
        np.maximum.at(cleared, row_index[:, 0] * two + row_index[:, 1], row_tokens)

        row = index[:, 0] * two + index[:, 1]
        key = row * three + index[:, 2]
        order = np.lexsort((tokens, key))
        key, row, tokens, values, index = (
            part[order] for part in (key, row, tokens, values, index)
        )
        np.maximum.at(latest, row, tokens)
        np.maximum(latest, cleared, out=latest)
        last = np.append(key[1:] != key[:-1], True) if len(key) else np.zeros(0, bool)
        kept = last & (tokens >= cleared[row]) & (values != 0)
        return index[kept], values[kept], latest


class RewardStatements:
    """Statements on `r[action, state, next state, observation]`."""

    def __init__(self) -> None:
        self._statements: list[tuple[int, int, int, int, float]] = []

    def set(self, action: int, state: int, next_state: int, observation: int, value: float) -> None:
        self._statements.append((action, state, next_state, observation, value))

    @property
    def by_observation(self) -> bool:
        """Whether any of them names an observation."""
        return any(statement[3] != ANY for statement in self._statements)

    def look_up(
        self, entries: Int[np.ndarray, "E 4"], shape: tuple[int, int, int, int]
    ) -> Float[np.ndarray, " E"]:
        """The reward of each of `entries`; zero where nothing is said."""
        if not self._statements:
            return np.zeros(len(entries))
        table = np.array(self._statements, float)
        index, values = table[:, :4].astype(int), table[:, 4]
        winner = np.full(len(entries), -1)
        # Statements with the same wildcards are found by one search.
        for named in itertools.product((False, True), repeat=4):
            same = np.flatnonzero(((index != ANY) == named).all(axis=1))
            if not len(same):
                continue
            keys = _keys(index[same], shape, named)
            order = np.argsort(keys, kind="stable")
            wanted = _keys(entries, shape, named)
            position = np.searchsorted(keys[order], wanted, side="right") - 1
            found = (position >= 0) & (keys[order][position] == wanted)
            np.maximum(winner, np.where(found, same[order][position], -1), out=winner)
        return np.where(winner >= 0, values[winner], 0.0)


def _keys(
    index: Int[np.ndarray, "n 4"], shape: tuple[int, int, int, int], named: tuple[bool, ...]
) -> Int[np.ndarray, " n"]:
    keys = np.zeros(len(index), np.int64)
    for axis in range(4):
        if named[axis]:
            keys = keys * shape[axis] + index[:, axis]
    return keys


def _written_out(
    index: Int[np.ndarray, "n axes"],
    shape: tuple[int, ...],
    too_many: Callable[[], None],
    *parts: np.ndarray,
) -> tuple[np.ndarray, ...]:
    """Every wildcard as all that it stands for, and `parts` repeated alike."""
    for axis, size in enumerate(shape):
        free = index[:, axis] == ANY
        if len(index) + int(free.sum()) * (size - 1) > MOST_ENTRIES:
            too_many()
        repeated = np.repeat(index[free], size, axis=0)
        repeated[:, axis] = np.tile(np.arange(size), int(free.sum()))
        index = np.concatenate([index[~free], repeated])
        parts = tuple(np.concatenate([part[~free], np.repeat(part[free], size)]) for part in parts)
    return index, *parts
