"""From whatever a user hands in as an environment to one that can be trained in."""

import dataclasses
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from asmpg.environments import Environment, is_pomdp_file, make, registered_names
from asmpg.interop._gymnax import from_gymnax, is_gymnax_style
from asmpg.interop._interface import Interface

if TYPE_CHECKING:
    from asmpg.interop.host import HostSource


@dataclasses.dataclass(frozen=True)
class ResolvedEnvironment:
    """An `environment` that is compiled, or a `source` of Gymnasium environments for the host."""

    interface: Interface
    environment: Environment[Any] | None = None
    source: "HostSource | None" = None

    def with_step_timeout(self, seconds: float | None) -> "ResolvedEnvironment":
        """The same, where a step on the host that takes more than `seconds` is an error."""
        if seconds is None:
            return self
        if self.source is None:
            raise ValueError(
                f"step_timeout is for Gymnasium environments, stepped on the host; "
                f"{self.interface.name} is compiled, got {seconds!r}"
            )
        return dataclasses.replace(
            self, source=dataclasses.replace(self.source, step_timeout=seconds)
        )


def resolve(
    given: Any,
    options: Mapping[str, Any],
    *,
    name: str | None = None,
    vectorization: Literal["sync", "async"] = "sync",
    trust: bool = True,
) -> ResolvedEnvironment:
    """What `given` stands for.

    A name, an `asmpg/...` id or a `.pomdp` file is one of ours; any other id is Gymnasium's. An
    `Environment` and an object in the style of gymnax are compiled; a Gymnasium environment, and a
    function that makes one, are stepped on the host. `options` go with names only. Without `trust`,
    the module of an id `module:Name-v0` must have been imported already.
    """
    if isinstance(given, str):
        if not is_on_host(given):
            return _compiled(make(own_name(given), **options), by_name=True)
        source = _gymnasium_source().source_of_id(
            given, options, vectorization=vectorization, trust=trust
        )
        return _on_host(source)
    if options:
        raise ValueError(f"options go with the name of an environment; got: {', '.join(options)}")
    if isinstance(given, Environment):
        return _compiled(given)
    if is_gymnax_style(given):
        return _compiled(from_gymnax(given))
    if not callable(given) and not _gymnasium_source().is_environment(given):
        raise ValueError(
            "environment must be a name, a Gymnasium id, a POMDP file, an Environment, a Gymnasium "
            "environment, a VecEnv of Stable-Baselines3, or a function that makes one; "
            f"got {given!r}"
        )
    source = _gymnasium_source().source_of(given, name=name, vectorization=vectorization)
    return _on_host(source)


def is_on_host(given: Any) -> bool:
    """Whether `given` would be stepped on the host: a Gymnasium id, environment or function."""
    if isinstance(given, str):
        ours = own_name(given) in registered_names() or is_pomdp_file(given)
        return not ours and _looks_like_an_id(given)
    return not isinstance(given, Environment) and not is_gymnax_style(given)


def own_name(name: str) -> str:
    """The plain name of one of our environments, whose Gymnasium id may be given."""
    return re.sub(r"^(asmpg:)?asmpg/(.*)-v0$", r"\2", name)


def _compiled(environment: Environment[Any], *, by_name: bool = False) -> ResolvedEnvironment:
    return ResolvedEnvironment(Interface.of(environment, by_name=by_name), environment)


def _on_host(source: "HostSource") -> ResolvedEnvironment:
    return ResolvedEnvironment(source.interface(), source=source)


def _looks_like_an_id(name: str) -> bool:
    return bool(re.search(r"[:/]|-v\d+$", name)) or _in_registry(name)


def _in_registry(name: str) -> bool:
    try:
        import gymnasium
    except ImportError:
        return False
    return name in gymnasium.registry


def _gymnasium_source() -> Any:
    try:
        from asmpg.interop.host import _source
    except ImportError:
        raise ImportError(
            "environments outside of asmpg need Gymnasium: pip install gymnasium"
        ) from None
    return _source
