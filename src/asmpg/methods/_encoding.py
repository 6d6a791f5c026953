"""How the networks of a method are shown what an environment shows."""

from typing import Any

from asmpg.envs import Discrete, Environment
from asmpg.policies import Encoding


def encoding_of(
    environment: Environment[Any], scale: tuple[float, ...] | None, *, default: float = 1.0
) -> Encoding:
    """That of `environment`; real components are divided by `scale`, or all by `default`."""
    space, num_actions = environment.observation_space, environment.action_space.n
    if isinstance(space, Discrete):
        return Encoding(num_actions, space.n)
    scale = scale or (default,) * len(space.low)
    if len(scale) != len(space.low):
        raise ValueError(f"observation_scale must have {len(space.low)} numbers, got {len(scale)}")
    if min(scale) <= 0:
        raise ValueError(f"observation_scale must be greater than 0, got {min(scale):g}")
    return Encoding(num_actions, None, scale)
