"""Policies as functions of the history, differentiable along it: what an actor-critic trains."""

import abc
from typing import Any, Literal

import equinox as eqx
from jaxtyping import Array, Bool, Shaped

from asmpg._support.devices import current_device
from asmpg.policies._actor import Actor, ASMActor
from asmpg.policies._actor import actor as asm_actor
from asmpg.policies._filter import (
    ActionDistributions,
    FilterMemory,
    FilterWay,
    filter_actions,
    filter_actor,
)
from asmpg.policies._fused_filter import can_fuse
from asmpg.policies._kernel_tables import AgentMemory
from asmpg.policies._policy import ASMPolicy

#: A way of filtering, or the best one on the device at hand.
FilterKind = Literal["auto", "sequential", "parallel", "fused"]
#: With more agent states than this, products of matrices cost more than the waiting they save.
_MOST_IN_PARALLEL = 32


class HistoryPolicy(eqx.Module):
    """A policy that carries a memory along the history."""

    @property
    def in_parallel(self) -> bool:
        """Whether `distributions` are worked out without a loop over the steps."""
        return False

    @abc.abstractmethod
    def actor(self, *, greedy: bool = False) -> Actor[Any]:
        """The policy, ready to play; its memories have the fields `action` and `time`."""

    @property
    @abc.abstractmethod
    def memory_size(self) -> int:
        """The length of what is remembered between two steps."""

    @abc.abstractmethod
    def distributions(
        self,
        memory: Any,
        past: AgentMemory,
        observations: Shaped[Array, "T N *observation"],
        actions: Shaped[Array, "T N *action"],
        masks: Bool[Array, "T N M"] | None = None,
    ) -> ActionDistributions:
        """Follow `N` histories for `T` steps, from the memories of `actor` given.

        `past` has a row for each step: the action before it, and the number of actions played in
        its episode. Where it is `first` an episode starts and all memory is lost. `masks` say which
        actions were allowed.
        """


class FilteredPolicy(HistoryPolicy):
    """An ASM policy with its agent state integrated out.

    The `filter` is `"sequential"` or `"parallel"` over time, or `"fused"` into one kernel. `"auto"`
    is fused on NVIDIA's GPUs with up to 128 agent states, and sequential on CPUs, which have little
    use for width; elsewhere it is parallel with up to 32 agent states.
    """

    kernels: ASMPolicy
    filter: FilterKind = eqx.field(static=True, default="auto")

    @property
    def way(self) -> FilterWay:
        """As asked for, or by device and size."""
        states = self.kernels.num_states
        if self.filter != "auto":
            return self.filter
        if can_fuse(states):
            return "fused"
        wide = current_device().platform != "cpu" and states <= _MOST_IN_PARALLEL
        return "parallel" if wide else "sequential"

    @property
    def in_parallel(self) -> bool:
        return self.way != "sequential"

    def actor(self, *, greedy: bool = False) -> Actor[FilterMemory]:
        """Acts by filtering."""
        return filter_actor(self.kernels, greedy=greedy)

    @property
    def memory_size(self) -> int:
        """A probability for each agent state."""
        return self.kernels.num_states

    def sampling_actor(self, *, greedy: bool = False) -> ASMActor:
        """Acts by sampling agent states: as the filter does, from a truly finite memory."""
        return asm_actor(self.kernels, greedy=greedy)

    def distributions(
        self,
        memory: FilterMemory,
        past: AgentMemory,
        observations: Shaped[Array, "T N *observation"],
        actions: Shaped[Array, "T N *action"],
        masks: Bool[Array, "T N M"] | None = None,
    ) -> ActionDistributions:
        """Run the filter; what is remembered are beliefs."""
        return filter_actions(
            self.kernels.prepared(),
            memory.belief,
            past,
            observations,
            actions,
            masks,
            head=self.kernels.head,
            how=self.way,
        )
