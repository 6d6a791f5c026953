"""How long episodes of Gymnasium's environments may be."""

from typing import Any

import gymnasium
from gymnasium.vector import SyncVectorEnv, VectorEnv
from gymnasium.wrappers import TimeLimit

#: Where nothing else limits the length of an episode.
MOST_STEPS = 10_000


def time_limit(environment: Any) -> int:
    """The time limit that `environment` declares, by its spec or a wrapper, or else 10,000."""
    inner = environment.unwrapped
    if isinstance(environment, VectorEnv) and isinstance(inner, SyncVectorEnv):
        return max(map(time_limit, inner.envs))
    spec = environment.spec
    limits = [] if spec is None else [spec.max_episode_steps]
    while isinstance(environment, gymnasium.Wrapper):
        if isinstance(environment, TimeLimit):
            limits.append(environment.get_wrapper_attr("_max_episode_steps"))
        environment = environment.env
    return min((limit for limit in limits if limit and limit > 0), default=MOST_STEPS)
