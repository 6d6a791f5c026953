"""Observations of several parts, as `spaces.Dict` and `spaces.Tuple` have them."""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from asmpg._support.checks import shown
from asmpg.interop._readers import Leaf, ObservationReader, title_of


@dataclasses.dataclass(frozen=True)
class CompositeReader(ObservationReader):
    """Several parts: by key, as in a dict, or by position where `keys` is `None`, as in a tuple.

    Parts may have parts of their own. They are read in their order, with the last integer of the
    last part changing fastest where combinations are symbols.
    """

    parts: tuple[ObservationReader, ...]
    keys: tuple[str | int, ...] | None = None

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        return self._leaves

    @functools.cached_property
    def _leaves(self) -> tuple[Leaf, ...]:
        return tuple(
            Leaf(joined(self._path(i), leaf.path), leaf.reader)
            for i, part in enumerate(self.parts)
            for leaf in part.leaves
        )

    def arrays(self, observation: Any, path: str = "") -> list[np.ndarray]:
        read = self._in_order if self.keys is None else self._by_key
        given = read(observation, title_of(path))
        return [
            array
            for i, part in enumerate(self.parts)
            for array in part.arrays(given[i], joined(path, self._path(i)))
        ]

    def to_dict(self) -> dict[str, Any]:
        parts = [part.to_dict() for part in self.parts]
        keys = None if self.keys is None else list(self.keys)
        return {"reader": type(self).__name__, "keys": keys, "parts": parts}

    def _path(self, part: int) -> str:
        return f"[{part}]" if self.keys is None else key_path(self.keys[part])

    def _by_key(self, observation: Any, title: str) -> list[Any]:
        assert self.keys is not None
        if not isinstance(observation, Mapping):
            wanted = ", ".join(map(repr, self.keys))
            raise ValueError(f"{title} must be a dict of {wanted}, got {shown(observation)}")
        for key in self.keys:
            if key not in observation:
                found = ", ".join(map(repr, observation)) or "nothing"
                raise ValueError(f"{title} must have the key {key!r}, it has {found}")
        return [observation[key] for key in self.keys]

    def _in_order(self, observation: Any, title: str) -> list[Any]:
        # Gymnasium takes plain lists and arrays for tuples, too. But a list of tuples is rather
        # several observations, and an array of several axes may be a batch either way round.
        match observation:
            case tuple():
                known = True
            case list():
                known = not any(isinstance(part, tuple | list | Mapping) for part in observation)
            case _:
                known = isinstance(observation, np.ndarray) and observation.ndim == 1
        if not known or len(observation) != len(self.parts):
            raise ValueError(
                f"{title} must be a tuple of {len(self.parts)}, got {shown(observation)}"
            )
        return list(observation)


def key_path(key: str | int) -> str:
    """A key in the path to a part: nothing that could end a line."""
    text = str(key)
    return text if text.isprintable() and text else repr(text)


def joined(path: str, rest: str) -> str:
    """The path to a part of a part."""
    dot = "." if path and rest and not rest.startswith("[") else ""
    return f"{path}{dot}{rest}"
