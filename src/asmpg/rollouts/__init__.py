"""Playing: whole episodes for learning, segments of steps, and episodes for their returns alone."""

from asmpg.rollouts._episodes import play_episodes as play_episodes
from asmpg.rollouts._host import Gathering as Gathering
from asmpg.rollouts._host import HostRows as HostRows
from asmpg.rollouts._host import HostStage as HostStage
from asmpg.rollouts._host import gather as gather
from asmpg.rollouts._host_player import HostPlayer as HostPlayer
from asmpg.rollouts._host_returns import host_returns as host_returns
from asmpg.rollouts._host_returns import standard_error as standard_error
from asmpg.rollouts._returns import EpisodeReturns as EpisodeReturns
from asmpg.rollouts._returns import play_for_returns as play_for_returns
from asmpg.rollouts._stream import Segment as Segment
from asmpg.rollouts._stream import Stream as Stream
from asmpg.rollouts._stream import open_stream as open_stream
from asmpg.rollouts._stream import play_on as play_on
