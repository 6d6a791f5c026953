"""A policy made ready to act: what does not change from step to step is worked out once."""

import abc
from typing import Generic, TypeVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, Shaped

from asmpg.policies._action_head import ActionHead, draw
from asmpg.policies._heads import Categorical
from asmpg.policies._kernel_tables import AgentMemory, input_index
from asmpg.policies._policy import ASMPolicy

Memory = TypeVar("Memory")


class Actor(eqx.Module, Generic[Memory]):
    """What plays: a memory that starts anew with each episode, and a way to act on it.

    Memories have a field `action`, the action chosen last, as the `head` writes actions down.
    """

    @property
    @abc.abstractmethod
    def head(self) -> ActionHead:
        """What actions are."""

    @property
    def draws(self) -> int:
        """How many uniform random numbers a step takes: one for the memory, then for the action."""
        return 1 + self.head.draws

    @abc.abstractmethod
    def start(self, key: Key[Array, ""]) -> Memory:
        """The memory before the first observation of an episode."""

    @abc.abstractmethod
    def act(
        self,
        memory: Memory,
        observation: Shaped[Array, "*observation"],
        reward: Float[Array, ""],
        uniforms: Float[Array, " draws"],
        mask: Bool[Array, " M"] | None = None,
    ) -> Memory:
        """Take in `observation` and the `reward` that came with it, and choose an action.

        All chance comes from `uniforms`; at the start of an episode `reward` is zero. An action
        that `mask` forbids is never chosen.
        """


class AgentMemoryActor(Actor[AgentMemory]):
    """Remembers no more than an agent state and an action."""

    def start(self, key: Key[Array, ""]) -> AgentMemory:
        """The dummy pair `(s_0, a_0)`."""
        del key
        zero = jnp.zeros((), jnp.int32)
        return AgentMemory(zero, self.head.blank(), zero)


class ASMActor(AgentMemoryActor):
    """Acts by sampling: `S_t` from `nu`, then `A_t` from `phi`."""

    #: Take the most probable agent state and action instead of drawing them.
    greedy: eqx.AbstractVar[bool]

    @abc.abstractmethod
    def nu(
        self, memory: AgentMemory, observation: Shaped[Array, "*observation"]
    ) -> Float[Array, " S"]:
        """The distribution of the next agent state."""

    @abc.abstractmethod
    def log_phi(
        self,
        memory: AgentMemory,
        observation: Shaped[Array, "*observation"],
        state: Int[Array, ""],
    ) -> Float[Array, " A"]:
        """The distribution of the action in agent state `state`, as the head takes it."""

    def act(
        self,
        memory: AgentMemory,
        observation: Shaped[Array, "*observation"],
        reward: Float[Array, ""],
        uniforms: Float[Array, " draws"],
        mask: Bool[Array, " M"] | None = None,
    ) -> AgentMemory:
        """Draw `S_t` and `A_t`; they are the memory of the next step. Rewards are not looked at."""
        del reward
        state = draw(self.nu(memory, observation), uniforms[0], greedy=self.greedy)
        log_phi = self.log_phi(memory, observation, state)
        action = draw_action(self.head, log_phi, uniforms, mask, greedy=self.greedy)
        return memory.after(state, action, observation)


def draw_action(
    head: ActionHead,
    numbers: Float[Array, " P"],
    uniforms: Float[Array, " draws"],
    mask: Bool[Array, " M"] | None,
    *,
    greedy: bool,
) -> Shaped[Array, "*action"]:
    """An action that `mask` allows; the first uniform number belongs to the memory."""
    numbers = head.normalise(numbers) if mask is None else head.masked(numbers, mask)
    return head.draw(numbers, uniforms[1:], greedy=greedy)


class TableActor(ASMActor):
    """Acts by look-up in the tabulated kernels."""

    nu_table: Float[Array, "time X S"]
    #: Logarithms.
    phi_table: Float[Array, "time X1 S A"]
    actions: Categorical = eqx.field(static=True)
    num_observations: int = eqx.field(static=True)
    greedy: bool = eqx.field(static=True)

    @property
    def head(self) -> Categorical:
        return self.actions

    def nu(self, memory: AgentMemory, observation: Int[Array, ""]) -> Float[Array, " S"]:
        """The row of the input."""
        return self.nu_table[self._time(memory), self._input(memory, observation)]

    def log_phi(
        self, memory: AgentMemory, observation: Int[Array, ""], state: Int[Array, ""]
    ) -> Float[Array, " A"]:
        """The row of the agent state."""
        joint = self.phi_table.shape[1] > 1
        index = self._input(memory, observation) if joint else 0
        return self.phi_table[self._time(memory), index, state]

    def _time(self, memory: AgentMemory) -> Int[Array, ""] | int:
        return memory.time if self.nu_table.shape[0] > 1 else 0

    def _input(self, memory: AgentMemory, observation: Int[Array, ""]) -> Int[Array, ""]:
        return input_index(
            memory,
            observation,
            num_observations=self.num_observations,
            num_actions=self.phi_table.shape[-1],
        )


class NetworkActor(ASMActor):
    """Acts by evaluating the kernels at each step, as real observations need it."""

    policy: ASMPolicy
    phi_table: Float[Array, "S A"] | None
    greedy: bool = eqx.field(static=True)

    @property
    def head(self) -> ActionHead:
        return self.policy.head

    def start(self, key: Key[Array, ""]) -> AgentMemory:
        """The dummy pair `(s_0, a_0)`, and an empty window where the policy has one."""
        empty = super().start(key)
        return AgentMemory(empty.state, empty.action, empty.time, self.policy.empty_window())

    def nu(
        self, memory: AgentMemory, observation: Shaped[Array, "*observation"]
    ) -> Float[Array, " S"]:
        """`nu`, evaluated."""
        return jnp.exp(self.policy.log_nu(memory, observation))

    def log_phi(
        self,
        memory: AgentMemory,
        observation: Shaped[Array, "*observation"],
        state: Int[Array, ""],
    ) -> Float[Array, " A"]:
        """`phi`, evaluated beforehand where the policy is factored."""
        if self.phi_table is not None:
            return self.phi_table[state]
        return self.policy.log_phi(memory, observation)[state]


def actor(policy: ASMPolicy, *, greedy: bool = False) -> ASMActor:
    """Make `policy` ready to act."""
    if policy.tabulates:
        tables = policy.tabulate()
        assert policy.num_observations is not None
        assert isinstance(policy.head, Categorical)
        return TableActor(
            nu_table=jnp.exp(tables.log_nu),
            phi_table=tables.log_phi,
            actions=policy.head,
            num_observations=policy.num_observations,
            greedy=greedy,
        )
    phi_table = None
    if policy.factored:
        phi_table = policy.control_table()
    return NetworkActor(policy=policy, phi_table=phi_table, greedy=greedy)
