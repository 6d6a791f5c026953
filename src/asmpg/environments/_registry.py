"""Environments by name."""

import difflib
import inspect
import re
from collections.abc import Callable
from typing import Any

from asmpg.environments._environment import Environment, PaperSizes
from asmpg.environments.cheese_maze import CheeseMaze
from asmpg.environments.hallway_navigation import HallwayNavigation
from asmpg.environments.healthcare_treatment import HealthcareTreatment
from asmpg.environments.machine_repair import MachineRepair
from asmpg.environments.pomdp_files import PomdpEnvironment
from asmpg.environments.popgym import POPGYM_TASKS
from asmpg.environments.probes import CountModulo, RepeatFirst, TMaze
from asmpg.environments.tiger import Tiger
from asmpg.environments.velocity_only_cart_pole import VelocityOnlyCartPole
from asmpg.environments.voicemail import Voicemail

Factory = Callable[..., Any]

#: The paper's environments, in its order, then those of the AIS reference, then memory probes.
_CLASSES: dict[str, type[Environment[Any]]] = {
    environment.__name__: environment
    for environment in (
        CheeseMaze,
        HallwayNavigation,
        HealthcareTreatment,
        MachineRepair,
        VelocityOnlyCartPole,
        Tiger,
        Voicemail,
        RepeatFirst,
        TMaze,
        CountModulo,
    )
}
_BUILT_IN: dict[str, Factory] = {**_CLASSES, **POPGYM_TASKS}
_registered: dict[str, Factory] = {}
_NAME_OF_ID = {
    environment.gymnasium_id: name
    for name, environment in _CLASSES.items()
    if environment.gymnasium_id is not None
}
#: The names of the paper's environments, in its order.
PAPER_ENVIRONMENTS = tuple(name for name, environment in _CLASSES.items() if environment.paper)


def registered_names() -> list[str]:
    """The names `make` knows: the built-in environments, then the user's own."""
    return [*_BUILT_IN, *_registered]


def is_pomdp_file(name: str) -> bool:
    """Whether `make` treats `name` as the path of a POMDP file."""
    return name.lower().endswith(".pomdp")


def register(name: str, factory: Factory) -> None:
    """Register `factory`, a function or an `Environment` class, for `make(name, **options)`.

    A name can be registered only once; the built-in names are taken.
    """
    if not re.fullmatch(r"[A-Za-z][\w-]*", name):
        raise ValueError(
            f"name must start with a letter and hold letters, digits, '_' and '-', got {name!r}"
        )
    if name in registered_names():
        raise ValueError(f"name {name!r} is already registered")
    if not callable(factory):
        raise ValueError(f"factory must be callable, got {factory!r}")
    _registered[name] = factory


def make(name: str, **options: Any) -> Environment[Any]:
    """Build the environment called `name`; its Gymnasium id and the path of a POMDP file work too.

    >>> env = asmpg.make("CheeseMaze", max_steps=100)
    """
    known = _NAME_OF_ID.get(name, name)
    factory = _BUILT_IN.get(known) or _registered.get(known)
    if factory is None and is_pomdp_file(name):
        factory, options = PomdpEnvironment, {"path": name, **options}
    if factory is None:
        raise ValueError(_unknown(name))
    signature = inspect.signature(factory)
    try:
        signature.bind(**options)
    except TypeError as error:
        accepted = ", ".join(signature.parameters) or "none"
        given = ", ".join(options) or "none"
        raise ValueError(
            f"options of {known} must be among: {accepted}; got: {given} ({error})"
        ) from None
    environment = factory(**options)
    if not isinstance(environment, Environment):
        raise ValueError(f"the factory of {known} must return an Environment, got {environment!r}")
    return environment


def paper_sizes(name: str) -> PaperSizes | None:
    """The sizes that the environment class registered as `name` declares, if it does."""
    known = _BUILT_IN.get(name) or _registered.get(name)
    if isinstance(known, type) and issubclass(known, Environment):
        return known.paper
    return None


def _unknown(name: str) -> str:
    names = registered_names()
    by_lower_case = {known.lower(): known for known in names}
    near = difflib.get_close_matches(name.lower(), by_lower_case, n=3, cutoff=0.4)
    hint = f"; did you mean {' or '.join(by_lower_case[match] for match in near)}?" if near else ""
    return f"environment {name!r} is not known{hint} Known: {', '.join(names)}"
