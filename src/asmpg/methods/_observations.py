"""How networks are shown observations."""

from typing import Any, NamedTuple

from asmpg.envs import Discrete, Environment


class ObservationKind(NamedTuple):
    """Number of observation symbols, or `None` and a scale for each real component."""

    num_observations: int | None
    observation_scale: tuple[float, ...]


def observation_kind(
    environment: Environment[Any], scale: tuple[float, ...] | None, *, default: float = 1.0
) -> ObservationKind:
    """That of `environment`; real components are divided by `scale`, or all by `default`."""
    space = environment.observation_space
    if isinstance(space, Discrete):
        return ObservationKind(space.n, ())
    scale = scale or (default,) * len(space.low)
    if len(scale) != len(space.low):
        raise ValueError(f"observation_scale must have {len(space.low)} numbers, got {len(scale)}")
    return ObservationKind(None, scale)
