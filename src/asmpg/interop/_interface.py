"""What an environment looks like from the outside."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from asmpg._support.checks import check_integer
from asmpg.environments import Discrete, Environment, Space
from asmpg.interop._array_readers import reader_of
from asmpg.interop._readers import ObservationReader
from asmpg.interop._stored_readers import MOST_VALUES, reader_from_dict


@dataclasses.dataclass(frozen=True)
class Interface:
    """Name, spaces and time limit of an environment.

    `on_host` says where it is stepped: by Gymnasium, or compiled. `by_name` says whether its name
    and options are enough to make it again; otherwise it was given in Python.
    """

    name: str
    reader: ObservationReader
    num_actions: int
    max_steps: int
    first_action: int = 0
    on_host: bool = False
    by_name: bool = True

    @classmethod
    def of(cls, environment: Environment[Any], *, by_name: bool = False) -> "Interface":
        """That of a compiled environment."""
        return cls(
            environment.name,
            reader_of(environment.observation_space),
            environment.action_space.n,
            environment.max_steps,
            by_name=by_name,
        )

    @property
    def observation_space(self) -> Space:
        """What observations are read as."""
        return self.reader.space

    @property
    def num_observations(self) -> int | None:
        """The number of symbols, or `None` for real observations."""
        space = self.observation_space
        return space.n if isinstance(space, Discrete) else None

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return fields | {"reader": self.reader.to_dict()}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "Interface":
        """The opposite of `to_dict`."""
        try:
            name = stored["name"]
            interface = cls(**{**stored, "reader": reader_from_dict(stored["reader"])})
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"interface cannot be read: {error}") from None
        if not isinstance(name, str):
            raise ValueError(f"name of the interface must be text, got {name!r}")
        check_integer("num_actions", interface.num_actions, low=1, high=MOST_VALUES)
        check_integer("max_steps", interface.max_steps, low=1, high=2**31 - 1)
        check_integer("first_action", interface.first_action, low=-(2**31), high=2**31 - 1)
        for name in ("on_host", "by_name"):
            if not isinstance(getattr(interface, name), bool):
                raise ValueError(f"{name} must be true or false, got {getattr(interface, name)!r}")
        return interface
