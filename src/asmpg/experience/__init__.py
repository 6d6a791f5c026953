"""What was played, in one data type; playing it, compiled or on the host."""

from asmpg.experience._compiled import EpisodeReturns as EpisodeReturns
from asmpg.experience._compiled import Stream as Stream
from asmpg.experience._compiled import collect as collect
from asmpg.experience._compiled import open_stream as open_stream
from asmpg.experience._compiled import play_episodes as play_episodes
from asmpg.experience._compiled import play_for_returns as play_for_returns
from asmpg.experience._compiled import play_rollouts as play_rollouts
from asmpg.experience._experience import Collection as Collection
from asmpg.experience._experience import Experience as Experience
from asmpg.experience._experience import Rollouts as Rollouts
from asmpg.experience._experience import WholeEpisodes as WholeEpisodes
from asmpg.experience._experience import all_finite as all_finite
from asmpg.experience._host import HostEnvironments as HostEnvironments
from asmpg.experience._host import standard_error as standard_error
from asmpg.experience._host_episodes import play_episodes_on_host as play_episodes_on_host
from asmpg.experience._player import HostPlayer as HostPlayer
from asmpg.experience._player import Player as Player
from asmpg.experience._player import StepInputs as StepInputs
from asmpg.experience._player import act_together as act_together
