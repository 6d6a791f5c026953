"""Rows of probabilities: put together from statements, and checked to sum to one."""

import warnings
from collections.abc import Callable, Mapping

import numpy as np
from jaxtyping import Float, Int

from asmpg.environments.pomdp_files._statements import MOST_ENTRIES, ProbabilityStatements
from asmpg.environments.pomdp_files._tokens import Tokens

#: Sums further from one than the first are worth a warning, than the second an error.
_ROUNDED, _WRONG = 1e-5, 1e-3
#: Sums closer to one than this are left as they are.
_EXACT = 1e-12


def resolved_rows(
    tokens: Tokens,
    table: ProbabilityStatements,
    letter: str,
    names: Mapping[str, tuple[str, ...]],
) -> tuple[Int[np.ndarray, "E 3"], Float[np.ndarray, " E"]]:
    """The entries of `T` or `O` that are not zero, normalised; every row must be there."""

    def too_many() -> None:
        tokens.refuse(f"{letter} has more than {MOST_ENTRIES} entries", len(tokens.words))

    index, values, latest = table.resolve(too_many)
    actions, rows, _ = table.shape
    row = index[:, 0] * rows + index[:, 1]
    sums = np.bincount(row, values, minlength=actions * rows).astype(float)

    def where(number: int) -> tuple[str, int]:
        action, state = divmod(number, rows)
        name = f"{letter} : {names['actions'][action]} : {names['states'][state]}"
        place = int(latest[number])
        return name, len(tokens.words) if place < 0 else place

    return index, values / checked_sums(tokens, sums, where)[row]


def checked_sums(
    tokens: Tokens, sums: Float[np.ndarray, " n"], where: Callable[[int], tuple[str, int]]
) -> Float[np.ndarray, " n"]:
    """What to divide rows by; `where` is the name of a row and its place in the file."""
    off = np.abs(sums - 1)
    worst = int(off.argmax())
    if off[worst] > _WRONG:
        first = int(np.argmax(off > _WRONG))
        name, place = where(first)
        said = f"sum to {sums[first]:.9g}" if sums[first] else "are all zero, or left out"
        tokens.refuse(f"the probabilities of {name} must sum to 1, but {said}", place)
    if off[worst] > _ROUNDED:
        name, place = where(worst)
        warnings.warn(
            f"{tokens.place(place)}: the probabilities of {name} sum to {sums[worst]:.9g} and are "
            "normalised",
            stacklevel=2,
        )
    return np.where(off > _EXACT, sums, 1.0)
