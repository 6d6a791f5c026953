"""Where an agent is from: the run it is made of and saved with, and its environment."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from asmpg._support.checks import check_integer, check_number
from asmpg._support.words import counted
from asmpg.agents._arguments import Observation
from asmpg.environments import ActionSpace, Environment
from asmpg.interop import (
    ActionWriter,
    IntegerWriter,
    Interface,
    ResolvedEnvironment,
    writer_of,
)
from asmpg.methods import Method
from asmpg.runs import RunConfig

_FORMAT = "asmpg agent 1"
#: That of values, where no method says otherwise.
_DISCOUNT = 0.99


@dataclasses.dataclass(frozen=True)
class Moment:
    """Of which seed an agent is, after how many steps, and its return then, as evaluated.

    It is the return that is optimised.
    """

    seed: int
    steps: int
    value: float

    @classmethod
    def from_dict(cls, stored: Any) -> "Moment":
        """From JSON; a `ValueError` where it is none."""
        if not isinstance(stored, dict) or stored.keys() != {"seed", "steps", "value"}:
            raise ValueError(f"moment must have seed, steps and value, got {stored!r}")
        return cls(
            check_integer("seed", stored["seed"], low=0),
            check_integer("steps", stored["steps"], low=0),
            check_number("value", stored["value"]),
        )


@dataclasses.dataclass(frozen=True)
class Recipe:
    """The configuration of the run that an agent is from, and the interface of its environment.

    `moment` is when in that run, if it is known.
    """

    config: RunConfig
    interface: Interface
    moment: Moment | None = None

    @property
    def method(self) -> Method[Any]:
        """What has learned."""
        return self.config.make_method()

    def resolve(self) -> ResolvedEnvironment | None:
        """The environment of the run; `None` if it cannot be recreated."""
        if not self.interface.by_name and isinstance(self.config.environment, str):
            return None
        try:
            return self.config.resolve(trust=False)
        except (ValueError, ImportError):
            # Registered under a name that is not registered here, or in a module that is missing.
            return None

    def environment(self) -> Environment[Any] | None:
        """That of the run; `None` if it is stepped on the host, or cannot be made again."""
        resolved = None if self.interface.on_host else self.resolve()
        return None if resolved is None else resolved.environment

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {
            "format": _FORMAT,
            "config": self.config.to_dict(),
            "interface": self.interface.to_dict(),
            "moment": None if self.moment is None else dataclasses.asdict(self.moment),
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "Recipe":
        """The opposite of `to_dict`; a `ValueError` if it is of another kind."""
        if stored.get("format") != _FORMAT:
            raise ValueError(f"it is not of the format {_FORMAT!r}")
        try:
            config = RunConfig.from_dict(stored["config"])
            moment = stored.get("moment")
            return cls(
                config,
                Interface.from_dict(stored["interface"]),
                None if moment is None else Moment.from_dict(moment),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"its configuration cannot be read: {error}") from None


@dataclasses.dataclass(frozen=True)
class Origin:
    """The run that an agent is from; where there is none, what its actions are."""

    recipe: Recipe | None
    space: ActionSpace

    @property
    def name(self) -> str | None:
        """That of the environment; `None` without a run."""
        return None if self.recipe is None else self.recipe.interface.name

    @property
    def discount(self) -> float:
        """Of the method that has learned."""
        return _DISCOUNT if self.recipe is None else float(self.recipe.method.return_discount)

    @property
    def writer(self) -> ActionWriter:
        """Writes actions as elements of the environment's action space."""
        return writer_of(self.space) if self.recipe is None else self.recipe.interface.writer

    @property
    def action_space(self) -> ActionSpace:
        """What the policy chooses from."""
        return self.space if self.recipe is None else self.recipe.interface.action_space

    @property
    def first_action(self) -> int:
        """Machines and exports count actions from it."""
        writer = self.writer
        return writer.start if isinstance(writer, IntegerWriter) else 0

    def description(self, sizes: str) -> str:
        """An agent from there, of such sizes, in one line."""
        if self.recipe is None:
            return f"Agent({sizes}, not from a run)"
        config, moment = self.recipe.config, self.recipe.moment
        text = f"{config.method_name} in {self.recipe.interface.name}, {sizes}"
        if moment is not None:
            of = f" (one of {len(config.seeds)})" if len(config.seeds) > 1 else ""
            kind = "undiscounted" if self.discount == 1 else "discounted"
            text += (
                f"; seed {moment.seed}{of}, {kind} return {moment.value:.4g} after "
                f"{counted(moment.steps, 'step')}"
            )
        return f"Agent({text})"

    def environment(self) -> Environment[Any] | None:
        """That of the run, if it can be made again and is compiled."""
        return None if self.recipe is None else self.recipe.environment()

    def resolve(self) -> ResolvedEnvironment | None:
        """The environment of the run, if it can be made again."""
        return None if self.recipe is None else self.recipe.resolve()

    def read(self, observation: Observation) -> Any:
        """As the policy takes it; for our own environments, it is that already."""
        if self.recipe is None or not self.recipe.interface.on_host:
            return observation
        return self.recipe.interface.reader.read_any(observation)

    def observation_names(self, environment: Environment[Any] | None) -> tuple[str, ...] | None:
        """What `environment` calls its symbols, or that of the run; `None` if they are unknown."""
        if environment is not None:
            return environment.observation_names
        return None if self.recipe is None else self.recipe.interface.reader.names
