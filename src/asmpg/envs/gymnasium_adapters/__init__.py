"""Adapters to Gymnasium: one environment, or many stepped together."""

try:
    import gymnasium as gymnasium
except ImportError as error:
    raise ImportError("Gymnasium is needed for the adapters: pip install gymnasium") from error

from asmpg.envs.gymnasium_adapters._env import GymnasiumEnv as GymnasiumEnv
from asmpg.envs.gymnasium_adapters._vector_env import GymnasiumVectorEnv as GymnasiumVectorEnv
