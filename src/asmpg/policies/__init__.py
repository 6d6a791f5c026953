"""Agent State-Markov policies: the kernels nu and phi."""

from asmpg.policies._kernel_tables import KernelTables as KernelTables
from asmpg.policies._tabular import TabularPolicy as TabularPolicy
