"""Playing: whole episodes for learning, and episodes for their returns alone."""

from asmpg.rollouts._episodes import play_episodes as play_episodes
from asmpg.rollouts._returns import EpisodeReturns as EpisodeReturns
from asmpg.rollouts._returns import play_for_returns as play_for_returns
