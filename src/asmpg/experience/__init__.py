"""What was played, and playing it: compiled or on the host."""

from asmpg.experience._episodes import Episodes as Episodes
from asmpg.experience._episodes import play_episodes as play_episodes
from asmpg.experience._host import Gathering as Gathering
from asmpg.experience._host import HostPlayer as HostPlayer
from asmpg.experience._host import HostRows as HostRows
from asmpg.experience._host import HostStage as HostStage
from asmpg.experience._host import gather as gather
from asmpg.experience._host import host_returns as host_returns
from asmpg.experience._host import standard_error as standard_error
from asmpg.experience._returns import EpisodeReturns as EpisodeReturns
from asmpg.experience._returns import play_for_returns as play_for_returns
from asmpg.experience._stream import Segment as Segment
from asmpg.experience._stream import Stream as Stream
from asmpg.experience._stream import open_stream as open_stream
from asmpg.experience._stream import play_on as play_on
