"""Gymnasium environments stepped on the host. Importing this imports Gymnasium."""

from asmpg.interop.host._driver import VectorDriver as VectorDriver
from asmpg.interop.host._source import HostSource as HostSource
from asmpg.interop.host._spaces import read_action_space as read_action_space
from asmpg.interop.host._spaces import read_observation_space as read_observation_space
