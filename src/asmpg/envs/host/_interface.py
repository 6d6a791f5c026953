"""What an environment looks like from the outside: enough to rebuild an agent, not to step it."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Key

from asmpg._check import check_integer
from asmpg.envs._environment import Action, Environment
from asmpg.envs._spaces import Discrete, Space
from asmpg.envs.host._readers import MOST_VALUES, ObservationReader, reader_from_dict, reader_of


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


class DescribedEnvironment(Environment[tuple[()]]):
    """An environment of which only the interface is here: it is stepped elsewhere.

    Methods are initialised by it; its one observation is blank.
    """

    interface: Interface = eqx.field(static=True)
    max_steps: int = eqx.field(static=True)

    def __init__(self, interface: Interface):
        """Nothing is made or opened."""
        self.interface = interface
        self.max_steps = interface.max_steps

    def reset(self, key: Key[Array, ""]) -> tuple[Array, tuple[()]]:
        """A blank observation."""
        del key
        space = self.observation_space
        kind = jnp.int32 if isinstance(space, Discrete) else jnp.float32
        return jnp.zeros(space.shape, kind), ()

    def step(
        self, key: Key[Array, ""], state: tuple[()], action: Action
    ) -> tuple[Array, tuple[()], Array, Array]:
        """Not here."""
        raise ValueError(f"{self.name} cannot be stepped: only its description is here")

    @property
    def observation_space(self) -> Space:
        """What observations are read as."""
        return self.interface.reader.space

    @property
    def action_space(self) -> Discrete:
        """The number of actions."""
        return Discrete(self.interface.num_actions)

    @property
    def reward_bound(self) -> float:
        """Nobody knows."""
        return float("inf")

    @property
    def name(self) -> str:
        """That of the environment described."""
        return self.interface.name
