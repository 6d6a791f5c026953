"""Agent State-Markov policies: the kernels nu and phi."""

from asmpg.policies._actor import Actor as Actor
from asmpg.policies._actor import ASMActor as ASMActor
from asmpg.policies._actor import NetworkActor as NetworkActor
from asmpg.policies._actor import TableActor as TableActor
from asmpg.policies._actor import actor as actor
from asmpg.policies._actor import draw as draw
from asmpg.policies._kernel_tables import KernelTables as KernelTables
from asmpg.policies._kernel_tables import every_input as every_input
from asmpg.policies._memory import AgentMemory as AgentMemory
from asmpg.policies._mlp import Activation as Activation
from asmpg.policies._mlp import MLPPolicy as MLPPolicy
from asmpg.policies._policy import ASMPolicy as ASMPolicy
from asmpg.policies._policy import log_probability as log_probability
from asmpg.policies._tabular import JointTabularPolicy as JointTabularPolicy
from asmpg.policies._tabular import TabularPolicy as TabularPolicy
from asmpg.policies._time_indexed import TimeIndexedPolicy as TimeIndexedPolicy
