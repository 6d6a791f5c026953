"""What an environment looks like from the outside."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from asmpg._support.checks import check_integer
from asmpg.environments import ActionSpace, Box, Discrete, Environment, Space
from asmpg.interop._array_readers import reader_of
from asmpg.interop._readers import ObservationReader
from asmpg.interop._stored_readers import reader_from_dict
from asmpg.interop._writers import ActionWriter, writer_from_dict, writer_of

_LARGEST = float(np.finfo(np.float32).max)
#: Latent states may be so many, or vectors so long.
_MOST_LATENT = 100_000


@dataclasses.dataclass(frozen=True)
class Interface:
    """Name, spaces and time limit of an environment.

    `on_host` says where it is stepped: by Gymnasium, or compiled. `by_name` says whether its name
    and options are enough to make it again; otherwise it was given in Python.
    """

    name: str
    reader: ObservationReader
    writer: ActionWriter
    max_steps: int
    on_host: bool = False
    by_name: bool = True
    #: Whether it says which actions are allowed.
    masked: bool = False
    #: What is known of latent states: a name, whether they are finitely many, and how many, or the
    #: length of a vector.
    latents: tuple[tuple[str, bool, int], ...] = ()

    @classmethod
    def of(cls, environment: Environment[Any], *, by_name: bool = False) -> "Interface":
        """That of a compiled environment."""
        return cls(
            environment.name,
            reader_of(environment.observation_space),
            writer_of(environment.action_space),
            environment.max_steps,
            by_name=by_name,
            masked=environment.masked,
            latents=(("latent", *_size(environment.latent_space)),),
        )

    @property
    def observation_space(self) -> Space:
        """What observations are read as."""
        return self.reader.space

    @property
    def action_space(self) -> ActionSpace:
        """What policies choose from."""
        return self.writer.space

    @property
    def num_actions(self) -> int:
        """The number of actions; a `ValueError` where they are not one of `n`."""
        space = self.action_space
        if not isinstance(space, Discrete):
            raise ValueError(f"actions of {self.name} must be Discrete here, got {space}")
        return space.n

    def latent_space(self, name: str) -> Space:
        """That of the latent states; `name` is that of an entry of `info`, if on the host.

        A `ValueError` where there is none.
        """
        found = self.latents if not self.on_host else [e for e in self.latents if e[0] == name]
        if not found:
            known = ", ".join(entry[0] for entry in self.latents) or "nothing"
            raise ValueError(
                f"critic='latent' needs numbers in info[{name!r}], from reset and from step; the "
                f"info that {self.name} gives has {known}"
            )
        _, finite, size = found[0]
        return Discrete(size) if finite else Box((-_LARGEST,) * size, (_LARGEST,) * size)

    @property
    def num_observations(self) -> int | None:
        """The number of symbols, or `None` for real observations."""
        space = self.observation_space
        return space.n if isinstance(space, Discrete) else None

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return fields | {"reader": self.reader.to_dict(), "writer": self.writer.to_dict()}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "Interface":
        """The opposite of `to_dict`."""
        try:
            name = stored["name"]
            parts = {
                "reader": reader_from_dict(stored["reader"]),
                "writer": writer_from_dict(stored["writer"]),
            }
            latents = tuple(
                (str(known), bool(finite), check_integer("latents", size, low=1, high=_MOST_LATENT))
                for known, finite, size in stored.get("latents", ())
            )
            interface = cls(**{**stored, **parts, "latents": latents})
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"interface cannot be read: {error}") from None
        if not isinstance(name, str):
            raise ValueError(f"name of the interface must be text, got {name!r}")
        check_integer("max_steps", interface.max_steps, low=1, high=2**31 - 1)
        for name in ("on_host", "by_name", "masked"):
            if not isinstance(getattr(interface, name), bool):
                raise ValueError(f"{name} must be true or false, got {getattr(interface, name)!r}")
        return interface


def _size(space: Space) -> tuple[bool, int]:
    return (True, space.n) if isinstance(space, Discrete) else (False, len(space.low))
