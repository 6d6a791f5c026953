"""Environments of Gymnasium, stepped on the host: which fit, how they are made, read and stepped.

Nothing here imports Gymnasium before `find_place` meets one of its environments.
"""

from asmpg.envs.host._interface import DescribedEnvironment as DescribedEnvironment
from asmpg.envs.host._interface import Interface as Interface
from asmpg.envs.host._place import Place as Place
from asmpg.envs.host._place import find_place as find_place
from asmpg.envs.host._place import is_on_host as is_on_host
from asmpg.envs.host._readers import ObservationReader as ObservationReader
from asmpg.envs.host._readers import reader_of as reader_of
from asmpg.envs.host._stepping import HostDriver as HostDriver
from asmpg.envs.host._stepping import HostStep as HostStep
