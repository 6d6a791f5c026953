"""An ASM policy over finite spaces, written out on every input; and what it carries along."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Shaped
from numpy.typing import ArrayLike

from asmpg.policies._heads import Categorical


class Window(eqx.Module):
    """The last observations and the actions that followed them, newest first.

    What lies before the start of the episode means nothing. Policies that count keep `counts` as
    well, of all steps of the episode: see `counted`.
    """

    observations: Shaped[Array, "*batch_and_observations"]
    actions: Shaped[Array, "*batch_and_actions"]
    counts: Int[Array, "*batch A1 O"] | None = None

    def pushed(
        self,
        past: "AgentMemory",
        observation: Shaped[Array, "*observation"],
        action: Shaped[Array, "*action"],
    ) -> "Window":
        """With the newest step in, which came after `past`, and the oldest out; without a batch."""
        observations, actions = (
            jnp.concatenate([new[None].astype(old.dtype), old])[: len(old)]
            for old, new in ((self.observations, observation), (self.actions, action))
        )
        counts = self.counts
        if counts is not None:
            counts = counts + counted(past, observation, counts.shape[-2:])
        return Window(observations, actions, counts)


class AgentMemory(eqx.Module):
    """The pair `(S_{t-1}, A_{t-1})` and the number of actions played so far, `t - 1`.

    At the start of an episode the pair is the dummy `(s_0, a_0)`: `time` is zero, and state and
    action, zero as well, mean nothing. Policies that look back further than `O_t` have a `window`.
    """

    state: Int[Array, "*batch"]
    action: Shaped[Array, "*batch_and_action"]
    time: Int[Array, "*batch"]
    window: Window | None = None

    def after(
        self,
        state: Int[Array, ""],
        action: Shaped[Array, "*action"],
        observation: Shaped[Array, "*observation"],
    ) -> "AgentMemory":
        """The memory of the next step, once `O_t` was met with `S_t` and `A_t`."""
        window = None if self.window is None else self.window.pushed(self, observation, action)
        return AgentMemory(state, action, self.time + 1, window)

    @classmethod
    def empty(cls, batch: tuple[int, ...] = ()) -> "AgentMemory":
        """The memory of one who has seen nothing yet."""
        zero = jnp.zeros(batch, jnp.int32)
        return cls(zero, zero, zero)

    @property
    def first(self) -> Bool[Array, "*batch"]:
        """Whether the pair is the dummy pair."""
        return self.time == 0


def counted(
    past: AgentMemory, observation: Int[Array, "*batch"], shape: tuple[int, ...]
) -> Int[Array, "*batch A1 O"]:
    """What a step adds to the counts of its episode: a one for its pair `(A_{t-1}, O_t)`.

    There is a row for each action, after one for observations without an action before them: the
    first one, or all of them where actions are not one of a few.
    """
    rows, columns = shape
    row = jnp.zeros_like(observation) if rows == 1 else jnp.where(past.first, 0, 1 + past.action)
    which = (row[..., None] == jnp.arange(rows))[..., None]
    return (which & (observation[..., None, None] == jnp.arange(columns))).astype(jnp.int32)


class Moves(eqx.Module):
    """A matrix `[s, s']` for each of some steps: those in `matrices`, or, by `index`, of a table.

    Tables are those of `KernelTables`: `starts` rows for the observations that can follow the dummy
    pair, then one for each agent state and pair of action and observation. Pairs are numbered
    first, then the observations without one, whose matrices have all rows equal.
    """

    matrices: Float[Array, "*any S"]
    index: Int[Array, "*batch"] | None = None
    starts: int = eqx.field(static=True, default=0)

    @property
    def along(self) -> Float[Array, "*batch S S"]:
        """The matrix of each step."""
        if self.index is None:
            return self.matrices
        states, start = self.matrices.shape[-1], self.matrices[: self.starts, None]
        pairs = self.matrices[self.starts :].reshape(states, -1, states)
        start = jnp.broadcast_to(start, (self.starts, states, states))
        return rows_of(jnp.concatenate([jnp.swapaxes(pairs, 0, 1), start]), self.index)


class KernelTables(eqx.Module):
    """Logarithms of `nu(s | x)` and `phi(a | s)` on every input `x = (S_{t-1}, A_{t-1}, O_t)`.

    Inputs are numbered: first the `O` observations that can follow the dummy pair `(s_0, a_0)`,
    then all triples `(s, a, o)` in row-major order, `X = O + S A O` in all.

    - `log_nu[t, x, s]`: the time axis has length 1 for stationary policies;
    - `log_phi[t, x, s, a]`: the input axis has length 1 for factored policies, whose action depends
      on the agent state alone; a joint kernel's action may depend on the input too.
    """

    log_nu: Float[Array, "time X S"]
    log_phi: Float[Array, "time X1 S A"]

    @classmethod
    def from_probabilities(
        cls, *, start: ArrayLike, update: ArrayLike, control: ArrayLike
    ) -> "KernelTables":
        """From `start[o, s]`, `update[s, a, o, s']` and `control[s, a]`."""
        start, update, control = (np.asarray(part, float) for part in (start, update, control))
        num_states, num_actions = control.shape
        num_observations = start.shape[0]
        shape = (num_states, num_actions, num_observations, num_states)
        if start.shape[1] != num_states or update.shape != shape:
            raise ValueError(
                f"update must have shape [S, A, O, S] = {shape} and start [O, S] to go with "
                f"control {control.shape}, got {update.shape} and {start.shape}"
            )
        nu = np.concatenate([start, update.reshape(-1, num_states)])
        with np.errstate(divide="ignore"):
            return cls(jnp.asarray(np.log(nu))[None], jnp.asarray(np.log(control))[None, None])

    @classmethod
    def deterministic(
        cls, *, start: ArrayLike, update: ArrayLike, control: ArrayLike, num_actions: int
    ) -> "KernelTables":
        """A finite-state controller: `start[o]`, `update[s, a, o]` and `control[s]`, as indices."""
        states = np.eye(len(np.asarray(control)))
        return cls.from_probabilities(
            start=states[np.asarray(start)],
            update=states[np.asarray(update)],
            control=np.eye(num_actions)[np.asarray(control)],
        )

    @classmethod
    def memoryless(cls, policy: ArrayLike) -> "KernelTables":
        """The policy `policy[o, a]`, whose agent state is the last observation."""
        control = jnp.asarray(policy)
        num_observations, num_actions = control.shape
        inputs = 1 + num_observations * num_actions
        with np.errstate(divide="ignore"):
            log_nu = np.log(np.tile(np.eye(num_observations), (inputs, 1)))
        return cls(jnp.asarray(log_nu, control.dtype)[None], jnp.log(control)[None, None])

    @property
    def num_states(self) -> int:
        """Number of agent states."""
        return self.log_nu.shape[-1]

    @property
    def num_actions(self) -> int:
        """Number of actions."""
        return self.log_phi.shape[-1]

    @property
    def head(self) -> Categorical:
        """Tables have a probability for each action."""
        return Categorical(self.num_actions)

    @property
    def num_observations(self) -> int:
        """Number of observations, from `X = O + S A O`."""
        return self.log_nu.shape[1] // (1 + self.num_states * self.num_actions)

    def joint(self) -> Float[Array, "time X S A"]:
        """The kernel `pi(s, a | x) = nu(s | x) phi(a | s)`."""
        return jnp.exp(self.log_nu[..., None] + self.log_phi)

    def empty_window(self) -> None:
        """Tables look at `O_t` alone."""

    def prepared(self) -> "KernelTables":
        """As it is."""
        return self

    def most_probable(self) -> "KernelTables":
        """The deterministic policy that always takes the most probable agent state and action."""
        return jax.tree.map(
            lambda log_probabilities: jnp.log(
                jax.nn.one_hot(
                    log_probabilities.argmax(axis=-1),
                    log_probabilities.shape[-1],
                    dtype=log_probabilities.dtype,
                )
            ),
            self,
        )

    def log_rows(
        self,
        memory: AgentMemory,
        observation: Int[Array, "*batch"],
        state: Int[Array, "*batch"],
    ) -> tuple[Float[Array, "*batch S"], Float[Array, "*batch A"]]:
        """`log nu(. | memory, observation)` and `log phi(. | state)`."""
        time, index = self._time(memory), self._index(memory, observation)
        phi_index = index if self.log_phi.shape[1] > 1 else 0
        return self.log_nu[time, index], self.log_phi[time, phi_index, state]

    def log_updates(
        self, past: AgentMemory, observation: Int[Array, "*batch"]
    ) -> Float[Array, "*batch S S"]:
        """`log nu(s | s~, A_{t-1}, O_t)` for all `s~` and `s`, whatever the state in `past`."""
        return self._moves(self.log_nu, past, observation).along

    def updates(
        self, past: AgentMemory, observation: Int[Array, "*batch"]
    ) -> Float[Array, "*batch S S"]:
        """`nu(s | s~, A_{t-1}, O_t)` itself."""
        return self.moves(past, observation).along

    def moves(self, past: AgentMemory, observation: Int[Array, "*batch"]) -> Moves:
        """The same, not looked up yet."""
        return self._moves(jnp.exp(self.log_nu), past, observation)

    def _moves(
        self, table: Float[Array, "time X S"], past: AgentMemory, observation: Int[Array, "*batch"]
    ) -> Moves:
        symbols = self.num_observations
        if len(table) > 1:
            index = self._index(*self._every_state(past, observation))
            return Moves(table[past.time[..., None], index])
        action = jnp.where(past.first, self.num_actions, past.action)
        return Moves(table[0], action * symbols + observation, symbols)

    def log_controls(
        self, past: AgentMemory, observation: Int[Array, "*batch"]
    ) -> Float[Array, "*batch S A"] | Float[Array, "*batch S S A"]:
        """`log phi(a | s)`, and for every `s~` before it where actions depend on the input."""
        if self.log_phi.shape[1] > 1:
            past, observation = self._every_state(past, observation)
            return self.log_phi[self._time(past), self._index(past, observation)]
        log_phi = self.log_phi[self._time(past), 0]
        return jnp.broadcast_to(log_phi, (*past.action.shape, *log_phi.shape[-2:]))

    def control_table(self) -> Float[Array, "S A"]:
        """`log phi(a | s)` of stationary tables whose action depends on the agent state alone."""
        return self.log_phi[0, 0]

    def control_tables(self) -> Float[Array, "1 S A"] | None:
        """That, if they are."""
        return self.log_phi[0] if self.log_phi.shape[:2] == (1, 1) else None

    def _time(self, memory: AgentMemory) -> Int[Array, "*batch"] | int:
        return memory.time if self.log_nu.shape[0] > 1 else 0

    def _index(
        self, memory: AgentMemory, observation: Int[Array, "*batch"]
    ) -> Int[Array, "*batch"]:
        symbols, actions = self.num_observations, self.num_actions
        return input_index(memory, observation, num_observations=symbols, num_actions=actions)

    def _every_state(
        self, past: AgentMemory, observation: Int[Array, "*batch"]
    ) -> tuple[AgentMemory, Int[Array, "*batch S"]]:
        states = jnp.arange(self.num_states, dtype=jnp.int32)
        state = jnp.broadcast_to(states, (*past.action.shape, self.num_states))
        action, time, observation = (
            jnp.broadcast_to(part[..., None], state.shape)
            for part in (past.action, past.time, observation)
        )
        return AgentMemory(state, action, time), observation


#: With more rows than this, a matrix that says which is which takes too much memory.
_MOST_ROWS = 512


def rows_of(
    table: Float[Array, "rows *row"], index: Int[Array, "*batch"]
) -> Float[Array, "*batch_and_row"]:
    """`table[index]`; the gradient of a small table is a product of matrices, but not on CPUs.

    Elsewhere rows would be added up one by one: slowly, or in any order.
    """
    if jax.default_backend() == "cpu" or len(table) > _MOST_ROWS:
        return table[index]
    return _rows_by_product(table, index)


@jax.custom_vjp
def _rows_by_product(
    table: Float[Array, "rows *row"], index: Int[Array, "*batch"]
) -> Float[Array, "*batch_and_row"]:
    return table[index]


def _rows_forward(table: Array, index: Array) -> tuple[Array, tuple[Array, Array]]:
    return table[index], (index, jnp.zeros((len(table), 0)))


def _rows_backward(kept: tuple[Array, Array], slope: Array) -> tuple[Array, None]:
    index, rows = kept
    which = jax.nn.one_hot(index.ravel(), len(rows), dtype=slope.dtype)
    flat = slope.reshape(index.size, -1)
    total = jnp.matmul(which.T, flat, precision=jax.lax.Precision.HIGHEST)
    return total.reshape(len(rows), *slope.shape[index.ndim :]), None


_rows_by_product.defvjp(_rows_forward, _rows_backward)


def input_index(
    memory: AgentMemory,
    observation: Int[Array, "*batch"],
    *,
    num_observations: int,
    num_actions: int,
) -> Int[Array, "*batch"]:
    """The number of the input `(memory, observation)`."""
    triple = (memory.state * num_actions + memory.action) * num_observations + observation
    return jnp.where(memory.first, observation, num_observations + triple)


def every_input(
    *, num_states: int, num_actions: int, num_observations: int
) -> tuple[AgentMemory, Int[Array, " X"]]:
    """All inputs, in the order of their numbers."""
    index = np.arange(num_observations * (1 + num_states * num_actions))
    triple = index - num_observations
    first = triple < 0
    pair, observation = np.divmod(np.where(first, index, triple), num_observations)
    state, action = np.divmod(np.where(first, 0, pair), num_actions)
    state, action, time, observation = (
        jnp.asarray(part, jnp.int32) for part in (state, action, ~first, observation)
    )
    return AgentMemory(state, action, time), observation
