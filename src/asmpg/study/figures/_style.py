"""How each method looks, in every figure."""

from collections.abc import Sequence
from typing import Any, NamedTuple


class Style(NamedTuple):
    """A colour, and what tells methods apart without it."""

    colour: str
    line: Any
    marker: str
    hatch: str


_SOLID, _DASHED, _DOTTED, _MIXED = "-", (0, (5, 2)), (0, (1, 1.2)), (0, (6, 1.5, 1, 1.5))
#: The methods that come with the package, dark to light within a family.
_KNOWN = {
    "asmpg": Style("#0072B2", _SOLID, "o", ""),
    "asmpg-marginal": Style("#111111", _SOLID, "D", ".."),
    "asm-ppo": Style("#009E73", _MIXED, "v", "xx"),
    "gru-ppo": Style("#CC79A7", _DASHED, "P", "++"),
    "memoryless-ppo": Style("#888888", _DOTTED, "X", "--"),
    "ais-kl": Style("#D55E00", _DASHED, "s", "//"),
    "ais-mmd": Style("#E69F00", _MIXED, "^", "\\\\"),
    "ais-kl-fixed": Style("#7A2E00", _DOTTED, "<", "||"),
    "ais-mmd-fixed": Style("#9A8500", _DASHED, ">", "oo"),
}
#: For methods of users, in the order of their study.
_FURTHER = (
    Style("#56B4E9", _DASHED, "h", "/"),
    Style("#5D3A9B", _MIXED, "p", "\\"),
    Style("#4B0092", _DOTTED, "*", "x"),
    Style("#40B0A6", _SOLID, "d", "."),
    Style("#994F00", _MIXED, "H", "+"),
    Style("#606060", _DASHED, "8", "|"),
)


def styles(names: Sequence[str]) -> dict[str, Style]:
    """A style for each entry, by its name; further ones repeat themselves in the end."""
    unknown = [name for name in names if name not in _KNOWN]
    return {
        name: _KNOWN.get(name) or _FURTHER[unknown.index(name) % len(_FURTHER)] for name in names
    }
