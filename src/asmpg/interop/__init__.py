"""Other people's environments made playable, and ours for them: Gymnasium, gymnax."""

from asmpg.interop._array_readers import SymbolReader as SymbolReader
from asmpg.interop._array_readers import VectorReader as VectorReader
from asmpg.interop._array_readers import reader_of as reader_of
from asmpg.interop._composite_reader import CompositeReader as CompositeReader
from asmpg.interop._gymnax import GymnaxEnvironment as GymnaxEnvironment
from asmpg.interop._gymnax import from_gymnax as from_gymnax
from asmpg.interop._interface import Interface as Interface
from asmpg.interop._readers import ObservationReader as ObservationReader
from asmpg.interop._resolve import ResolvedEnvironment as ResolvedEnvironment
from asmpg.interop._resolve import is_on_host as is_on_host
from asmpg.interop._resolve import own_name as own_name
from asmpg.interop._resolve import resolve as resolve
from asmpg.interop._stepping import BlankDriver as BlankDriver
from asmpg.interop._stepping import HostDriver as HostDriver
from asmpg.interop._stepping import HostStart as HostStart
from asmpg.interop._stepping import HostStep as HostStep
from asmpg.interop._stored_readers import reader_from_dict as reader_from_dict
from asmpg.interop._to_gymnasium import to_gymnasium as to_gymnasium
from asmpg.interop._to_gymnasium import to_gymnasium_vector as to_gymnasium_vector
from asmpg.interop._writers import ActionWriter as ActionWriter
from asmpg.interop._writers import IntegersWriter as IntegersWriter
from asmpg.interop._writers import IntegerWriter as IntegerWriter
from asmpg.interop._writers import writer_of as writer_of
