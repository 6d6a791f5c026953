"""The contract of Agent State-Markov policies."""

import abc
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Shaped

from asmpg.policies._action_head import ActionHead, picked
from asmpg.policies._heads import Categorical
from asmpg.policies._kernel_tables import (
    AgentMemory,
    KernelTables,
    Moves,
    Window,
    every_input,
)
from asmpg.policies._networks import Encoding


class ASMPolicy(eqx.Module):
    """A pair of kernels: `S_t ~ nu(. | S_{t-1}, A_{t-1}, O_t)` and `A_t ~ phi(. | S_t)`.

    Everything else about a policy follows from the two logarithms given here.
    """

    num_states: eqx.AbstractVar[int]
    #: Number of actions, or 0 where they are real vectors or have too many combinations.
    num_actions: eqx.AbstractVar[int]
    #: Number of observation symbols, or `None` for real observations.
    num_observations: eqx.AbstractVar[int | None]

    @property
    def head(self) -> ActionHead:
        """What actions are: one of `num_actions`, unless a policy says otherwise."""
        return Categorical(self.num_actions)

    @property
    def tabulates(self) -> bool:
        """Whether both kernels can be written out on every input."""
        return self.num_observations is not None and self.num_actions > 0

    def empty_window(self, batch: tuple[int, ...] = ()) -> Window | None:
        """What is kept of a window of earlier observations at the start; `None` without one."""
        del batch
        return None

    def prepared(self) -> "ASMPolicy | KernelTables":
        """The policy made ready for many steps: tables, where it has any."""
        return self.tabulate() if self.tabulates else self

    @property
    @abc.abstractmethod
    def factored(self) -> bool:
        """Whether the action depends on the agent state alone, as the paper's factors do."""

    @abc.abstractmethod
    def log_nu(
        self, memory: AgentMemory, observation: Shaped[Array, "*observation"]
    ) -> Float[Array, " S"]:
        """`log nu(s | memory, observation)` for every agent state `s`."""

    @abc.abstractmethod
    def log_phi(
        self, memory: AgentMemory, observation: Shaped[Array, "*observation"]
    ) -> Float[Array, "S A"]:
        """`log phi(a | s)` for every agent state and action.

        Where actions are not so few, the numbers from which `head` makes a distribution, for every
        agent state. A factored policy must not look at its arguments; a joint kernel may.
        """

    def log_rows(
        self,
        memory: AgentMemory,
        observation: Shaped[Array, "*batch_and_observation"],
        state: Int[Array, "*batch"],
    ) -> tuple[Float[Array, "*batch S"], Float[Array, "*batch A"]]:
        """`log nu(. | memory, observation)` and `log phi(. | state)`, for any batch of steps."""

        def rows(
            memory: AgentMemory, observation: Array, state: Int[Array, ""]
        ) -> tuple[Float[Array, " S"], Float[Array, " A"]]:
            log_nu, log_phi = self.log_nu(memory, observation), self.log_phi(memory, observation)
            return log_nu, log_phi[state]

        for _ in state.shape:
            rows = jax.vmap(rows)
        return rows(memory, observation, state)

    def log_updates(
        self, past: AgentMemory, observation: Shaped[Array, "*batch_and_observation"]
    ) -> Float[Array, "*batch S S"]:
        """`log nu(s | s~, A_{t-1}, O_t)` for all `s~` and `s`, whatever the state in `past`."""
        return self._from_every_state(self.log_nu, past, observation)

    def updates(
        self, past: AgentMemory, observation: Shaped[Array, "*batch_and_observation"]
    ) -> Float[Array, "*batch S S"]:
        """`nu(s | s~, A_{t-1}, O_t)` itself."""
        return jnp.exp(self.log_updates(past, observation))

    def moves(
        self, past: AgentMemory, observation: Shaped[Array, "*batch_and_observation"]
    ) -> Moves:
        """The same, not looked up yet where it is in a table."""
        return Moves(self.updates(past, observation))

    def log_controls(
        self, past: AgentMemory, observation: Shaped[Array, "*batch_and_observation"]
    ) -> Float[Array, "*batch S A"] | Float[Array, "*batch S S A"]:
        """`log phi(a | s)`, and for every `s~` before it where the policy is not factored."""
        if not self.factored:
            return self._from_every_state(self.log_phi, past, observation)
        log_phi = self.control_table()
        return jnp.broadcast_to(log_phi, (*past.time.shape, *log_phi.shape))

    def control_table(self) -> Float[Array, "S A"]:
        """`log phi(a | s)` of a factored policy."""
        return self.log_phi(AgentMemory.empty(), jnp.zeros((), jnp.int32))

    def control_tables(self) -> Float[Array, "O S A"] | None:
        """`log phi(a | s)` for every observation, or once for all, where nothing else matters."""
        return self.control_table()[None] if self.factored else None

    def _from_every_state(
        self,
        kernel: Callable[[AgentMemory, Array], Array],
        past: AgentMemory,
        observation: Shaped[Array, "*batch_and_observation"],
    ) -> Array:
        def every(past: AgentMemory, observation: Array) -> Array:
            states = jnp.arange(self.num_states, dtype=jnp.int32)
            return jax.vmap(
                lambda state: kernel(
                    AgentMemory(state, past.action, past.time, past.window), observation
                )
            )(states)

        for _ in past.time.shape:
            every = jax.vmap(every)
        return every(past, observation)

    def tabulate(self) -> KernelTables:
        """Both kernels on every input; for finite observations only."""
        if self.num_observations is None:
            raise ValueError("a policy for real observations cannot be tabulated")
        if not self.num_actions:
            raise ValueError("a policy whose actions are not finitely many cannot be tabulated")
        memory, observation = every_input(
            num_states=self.num_states,
            num_actions=self.num_actions,
            num_observations=self.num_observations,
        )
        log_nu = jax.vmap(self.log_nu)(memory, observation)
        if self.factored:
            log_phi = self.control_table()[None]
        else:
            log_phi = jax.vmap(self.log_phi)(memory, observation)
        return KernelTables(log_nu[None], log_phi[None])


def log_probability(
    head: ActionHead,
    log_nu: Float[Array, "*batch S"],
    log_phi: Float[Array, "*batch A"],
    state: Int[Array, "*batch"],
    action: Shaped[Array, "*batch_and_action"],
) -> Float[Array, "*batch"]:
    """`log pi(s, a | x) = log nu(s | x) + log phi(a | s)`: the one place that says so."""
    return picked(log_nu, state) + head.log_probability(log_phi, action)


class NetworkPolicy(ASMPolicy):
    """A factored policy whose networks are shown encoded observations and actions."""

    encoding: Encoding
    num_states: int = eqx.field(static=True)
    num_actions: int = eqx.field(static=True)
    num_observations: int | None = eqx.field(static=True)

    def __init__(self, num_states: int, encoding: Encoding):
        """The networks are the business of the subclass."""
        self.encoding = encoding
        self.num_states = num_states
        self.num_actions = encoding.num_actions
        self.num_observations = encoding.num_observations

    @property
    def factored(self) -> bool:
        """Yes."""
        return True

    @property
    def head(self) -> ActionHead:
        return self.encoding.head
