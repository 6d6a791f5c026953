"""What an agent is made of, and saved with."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from asmpg.environments import Environment
from asmpg.interop import Interface
from asmpg.methods import Method
from asmpg.runs import RunConfig

_FORMAT = "asmpg agent 1"


@dataclasses.dataclass(frozen=True)
class Recipe:
    """The configuration of the run that an agent is from, and the interface of its environment."""

    config: RunConfig
    interface: Interface

    @property
    def method(self) -> Method[Any]:
        """What has learned."""
        return self.config.make_method()

    def environment(self) -> Environment[Any] | None:
        """That of the run; `None` if it is stepped on the host, or cannot be made again."""
        known = self.interface.by_name or not isinstance(self.config.environment, str)
        if self.interface.on_host or not known:
            return None
        try:
            return self.config.resolve(trust=False).environment
        except ValueError:
            # Registered under a name that is not registered here.
            return None

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {
            "format": _FORMAT,
            "config": self.config.to_dict(),
            "interface": self.interface.to_dict(),
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "Recipe":
        """The opposite of `to_dict`; a `ValueError` if it is of another kind."""
        if stored.get("format") != _FORMAT:
            raise ValueError(f"it is not of the format {_FORMAT!r}")
        try:
            config = RunConfig.from_dict(stored["config"])
            return cls(config, Interface.from_dict(stored["interface"]))
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"its configuration cannot be read: {error}") from None
