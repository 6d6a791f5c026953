"""Policies with kernels of their own for each step, for the episodic setting."""

from collections.abc import Callable

import equinox as eqx
import jax
from jaxtyping import Array, Float, Key, Shaped

from asmpg.policies._kernel_tables import KernelTables
from asmpg.policies._memory import AgentMemory
from asmpg.policies._policy import ASMPolicy


class TimeIndexedPolicy(ASMPolicy):
    """`(nu_t, phi_t)` for `t = 1, ..., H`: a stack of policies, one for each step."""

    steps: ASMPolicy
    num_states: int = eqx.field(static=True)
    num_actions: int = eqx.field(static=True)
    num_observations: int | None = eqx.field(static=True)

    def __init__(
        self,
        make: Callable[[Key[Array, ""]], ASMPolicy],
        *,
        horizon: int,
        key: Key[Array, ""],
    ):
        """Stack `make(key)` over `horizon` independent keys."""
        self.steps = eqx.filter_vmap(make)(jax.random.split(key, horizon))
        self.num_states = self.steps.num_states
        self.num_actions = self.steps.num_actions
        self.num_observations = self.steps.num_observations

    @property
    def factored(self) -> bool:
        """No: the action depends on time as well."""
        return False

    def log_nu(
        self, memory: AgentMemory, observation: Shaped[Array, "*observation"]
    ) -> Float[Array, " S"]:
        """`log nu_t`, with `t - 1` the number of actions played."""
        return self._at(memory).log_nu(memory, observation)

    def log_phi(
        self, memory: AgentMemory, observation: Shaped[Array, "*observation"]
    ) -> Float[Array, "S A"]:
        """`log phi_t`, with `t - 1` the number of actions played."""
        return self._at(memory).log_phi(memory, observation)

    def tabulate(self) -> KernelTables:
        """The tables of all steps."""
        tables = eqx.filter_vmap(lambda policy: policy.tabulate())(self.steps)
        return jax.tree.map(lambda leaf: leaf[:, 0], tables)

    def _at(self, memory: AgentMemory) -> ASMPolicy:
        return jax.tree.map(lambda leaf: leaf[memory.time], self.steps)
