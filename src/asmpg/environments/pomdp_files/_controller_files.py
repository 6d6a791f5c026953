"""Files of finite-state controllers (`.fsc`), as rl-parsers reads them.

Source: github.com/abaisero/rl-parsers. The style is that of POMDP files; lines mean nothing.

- `nodes`, `actions`, `observations`: a number, or names;
- `start:` a distribution, a node or `uniform`; `start include:` and `start exclude:` nodes; uniform
  where nothing is said;
- `A: n : a p`, `A: n` and a row or `uniform`: what node `n` plays;
- `T: o : n : n' p`, `T: o : n` and a row, `uniform` or `reset` (to the start), `T: o` and a matrix,
  `uniform`, `reset` or `identity`: where node `n` goes on seeing `o`.

The action comes first, then the observation; the last statement on an entry wins.
"""

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from jaxtyping import Float

from asmpg._support.files import write_atomically
from asmpg.environments.pomdp_files._reader import FileReader
from asmpg.environments.pomdp_files._rows import checked_sums
from asmpg.environments.pomdp_files._statements import ANY
from asmpg.environments.pomdp_files._tokens import Tokens

_KINDS = ("nodes", "actions", "observations")
#: Numbers in all tables together.
_MOST_NUMBERS = 50_000_000
_MOST_BYTES = 500_000_000
#: Names that rl-parsers reads, and those that mean something else to it.
_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]*")
_RESERVED = {*_KINDS, "A", "T", "uniform", "identity", "start", "include", "exclude", "reset"}


@dataclasses.dataclass(frozen=True, eq=False)
class ControllerFile:
    """`start[n]`, `control[n, a]` and `update[o, n, n']`, with the names of the file."""

    nodes: tuple[str, ...]
    actions: tuple[str, ...]
    observations: tuple[str, ...]
    start: Float[np.ndarray, " N"]
    control: Float[np.ndarray, "N A"]
    update: Float[np.ndarray, "O N N"]


def read_fsc(path: str | Path) -> ControllerFile:
    """Read a finite-state controller; errors name line and column."""
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"path must be a file of a controller, but there is no file {path}")
    if path.stat().st_size > _MOST_BYTES:
        raise ValueError(f"path must be a file of at most {_MOST_BYTES:,} bytes, got {path}")
    return _Parser(Tokens(path.read_bytes().decode(errors="replace"), path)).parse()


def write_fsc(controller: ControllerFile, path: str | Path) -> None:
    """Write a controller; names that rl-parsers would not read become numbers, with a comment."""
    text = fsc_text(controller)
    write_atomically(Path(path), lambda file: file.write(text.encode()))


def fsc_text(controller: ControllerFile) -> str:
    """What `write_fsc` writes: entries that are not zero."""
    return "\n".join(_lines(controller)) + "\n"


def _lines(controller: ControllerFile) -> Iterator[str]:
    for kind in _KINDS:
        names: tuple[str, ...] = getattr(controller, kind)
        sound = all(_NAME.fullmatch(name) and name not in _RESERVED for name in names)
        if not sound and names != tuple(map(str, range(len(names)))):
            yield f"# {kind}: {', '.join(' '.join(name.split()) for name in names)}"
        yield f"{kind}: {' '.join(names) if sound else len(names)}"
    possible = np.flatnonzero(controller.start)
    one = len(possible) == 1
    numbers = [possible[0]] if one else [repr(float(p)) for p in controller.start]
    yield f"\nstart: {' '.join(map(str, numbers))}\n"
    for n, a in np.argwhere(controller.control):
        yield f"A: {n} : {a} {float(controller.control[n, a])!r}"
    yield ""
    for o, n, m in np.argwhere(controller.update):
        yield f"T: {o} : {n} : {m} {float(controller.update[o, n, m])!r}"


class _Parser(FileReader):
    kinds = _KINDS
    sections = (*_KINDS, "start", "A", "T")

    def __init__(self, tokens: Tokens):
        super().__init__(tokens)
        self._control: Float[np.ndarray, "N A"] | None = None
        self._update: Float[np.ndarray, "O N N"] | None = None
        self._latest: dict[str, int] = {}

    def parse(self) -> ControllerFile:
        self.read_sections()
        control, update = self._tables(self.tokens.at)
        nodes, actions, observations = (self.names[kind] for kind in _KINDS)
        start = np.full(len(nodes), 1 / len(nodes)) if self.start is None else self.start
        return ControllerFile(
            nodes,
            actions,
            observations,
            start,
            self._normalised(control, "A", (nodes,)),
            self._normalised(update, "T", (observations, nodes)),
        )

    def read_section(self, section: str, begin: int) -> None:
        control, update = self._tables(begin)
        self._latest[section] = begin
        if section == "A":
            self._statement(control, "A", ("nodes", "actions"))
        else:
            self._statement(update, "T", ("observations", "nodes", "nodes"))

    def _tables(self, index: int) -> tuple[Float[np.ndarray, "N A"], Float[np.ndarray, "O N N"]]:
        """Zeros at first; everything must have been declared by now."""
        if self._control is None or self._update is None:
            missing = [kind for kind in _KINDS if kind not in self.names]
            if missing:
                self.tokens.fail(f"{', '.join(missing)} to be declared before", index)
            nodes, actions, symbols = (len(self.names[kind]) for kind in _KINDS)
            if nodes * (actions + symbols * nodes) > _MOST_NUMBERS:
                self.tokens.refuse(
                    f"{nodes} nodes, {actions} actions and {symbols} observations are too many",
                    index,
                )
            self._control = np.zeros((nodes, actions))
            self._update = np.zeros((symbols, nodes, nodes))
        return self._control, self._update

    def _statement(self, table: np.ndarray, letter: str, kinds: tuple[str, ...]) -> None:
        """`letter : item : ...`, and what the table holds there."""
        items = [self._place(kinds[0])]
        while len(items) < len(kinds) and self.tokens.peek() == ":":
            self.tokens.take()
            items.append(self._place(kinds[len(items)]))
        place, word = tuple(items), self.tokens.peek()
        if len(items) == len(kinds):
            table[place] = self.tokens.take_number(f"the probability of {letter}", low=0.0)
        elif word == "uniform":
            self.tokens.take()
            table[place] = 1 / table.shape[-1]
        elif word == "reset" and letter == "T":
            if self.start is None:
                self.tokens.fail("start to be declared before a reset")
            self.tokens.take()
            table[place] = self.start
        elif word == "identity" and letter == "T" and len(items) == 1:
            self.tokens.take()
            table[place] = np.eye(table.shape[-1])
        else:
            shape = table.shape[len(items) :]
            what = f"a row of {letter}" if len(shape) == 1 else f"the matrix of {letter}"
            count = int(np.prod(shape))
            table[place] = np.reshape(self.tokens.take_numbers(count, what, low=0.0), shape)

    def _place(self, kind: str) -> slice | int:
        number = self.item(kind)
        return slice(None) if number == ANY else number

    def _normalised(
        self, table: np.ndarray, letter: str, names: tuple[tuple[str, ...], ...]
    ) -> np.ndarray:
        sums = table.sum(axis=-1)
        place = self._latest.get(letter, len(self.tokens.words))

        def where(number: int) -> tuple[str, int]:
            items = np.unravel_index(number, sums.shape)
            said = " : ".join(part[int(item)] for part, item in zip(names, items, strict=True))
            return f"{letter} : {said}", place

        divisor = checked_sums(self.tokens, sums.ravel(), where).reshape(sums.shape)
        return table / divisor[..., None]
