"""The filter: what is known of the agent state, and the distribution of actions that follows."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, Shaped

from asmpg.policies._actor import Actor, draw
from asmpg.policies._kernel_tables import AgentMemory, KernelTables, Window
from asmpg.policies._policy import ASMPolicy


class ActionDistributions(eqx.Module):
    """The distributions of actions along `N` histories of `T` steps, and the memories before."""

    #: `log p(a_t | history)` for every action.
    log_probabilities: Float[Array, "T N A"]
    #: What is remembered before each observation, and after each action.
    before: Float[Array, "T N F"]
    after: Float[Array, "T N F"]

    def log_probability(self, actions: Int[Array, "T N"]) -> Float[Array, "T N"]:
        """`log p(a_t | history)` of the actions played."""
        return jnp.take_along_axis(self.log_probabilities, actions[..., None], axis=-1)[..., 0]


#: Keeps a belief a distribution where every probability has been rounded to zero.
_TINY = 1e-30


class FilterMemory(eqx.Module):
    """The belief `c_{t-1}` over agent states, the last action, the number of actions played."""

    belief: Float[Array, "*batch S"]
    action: Int[Array, "*batch"]
    time: Int[Array, "*batch"]
    window: Window | None = None

    @classmethod
    def empty(
        cls, num_states: int, batch: tuple[int, ...] = (), window: Window | None = None
    ) -> "FilterMemory":
        """Before the first observation, when there is no agent state to believe in."""
        zero = jnp.zeros(batch, jnp.int32)
        uniform = jnp.full((*batch, num_states), 1 / num_states, jnp.result_type(float))
        return cls(uniform, zero, zero, window)

    @property
    def past(self) -> AgentMemory:
        """What `nu` is asked about, but for the agent state."""
        return AgentMemory(jnp.zeros_like(self.action), self.action, self.time, self.window)


class FilterActor(Actor[FilterMemory]):
    """Acts by filtering: `A_t` from `p_t`, no agent state is drawn."""

    kernels: ASMPolicy | KernelTables
    #: Take the most probable action instead of drawing it.
    greedy: bool = eqx.field(static=True)

    def start(self, key: Key[Array, ""]) -> FilterMemory:
        """The memory of one who has seen nothing."""
        del key
        return FilterMemory.empty(self.kernels.num_states, window=self.kernels.empty_window())

    def act(
        self,
        memory: FilterMemory,
        observation: Shaped[Array, "*observation"],
        reward: Float[Array, ""],
        uniforms: Float[Array, "2"],
    ) -> FilterMemory:
        """Draw `A_t` and condition the belief on it. Rewards are not looked at."""
        del reward
        joint = _joint(
            memory.belief,
            self.kernels.updates(memory.past, observation),
            jnp.exp(self.kernels.log_controls(memory.past, observation)),
        )
        action = draw(joint.sum(axis=0), uniforms[1], greedy=self.greedy)
        after = memory.past.after(memory.past.state, action, observation)
        return FilterMemory(_normalised(joint[:, action]), action, after.time, after.window)


def filter_actor(policy: ASMPolicy, *, greedy: bool = False) -> FilterActor:
    """Make `policy` ready to act by filtering."""
    return FilterActor(policy.prepared(), greedy)


def filter_actions(
    kernels: ASMPolicy | KernelTables,
    belief: Float[Array, "N S"],
    past: AgentMemory,
    observations: Shaped[Array, "T N *observation"],
    actions: Int[Array, "T N"],
) -> ActionDistributions:
    """Run the filter along `N` histories of `T` steps, from the beliefs given.

    `past` has a row for each step: the action before it and the number of actions played in its
    episode; its agent states are not looked at. Where it is `first`, an episode starts and the
    belief before it is forgotten, by the gradient as well. What is remembered are beliefs:
    `c_{t-1}` before each observation and `c_t` after each action.
    """
    nu = kernels.updates(past, observations)
    phi = jnp.exp(kernels.log_controls(past, observations))
    if phi.ndim > nu.ndim:
        # The action depends on the agent state before as well: it is one step with that after.
        nu, phi = nu[..., None] * phi, None
    taken = jnp.take_along_axis(
        nu if phi is None else phi,
        actions.reshape(*actions.shape, *(1,) * (nu.ndim - 2)),
        axis=-1,
    )[..., 0]
    nothing_known = jnp.full_like(belief, 1 / belief.shape[-1])

    def step(
        belief: Float[Array, "N S"], row: tuple[Any, ...]
    ) -> tuple[Float[Array, "N S"], tuple[Float[Array, "N S"], ...]]:
        first, move, likelihood = row
        before = jnp.where(first[:, None], nothing_known, belief)
        now = jnp.einsum("ni,nis->ns", before, move)
        after = _normalised(now if likelihood is None else now * likelihood)
        return after, (before, now, after)

    rows = (past.first, taken, None) if phi is None else (past.first, nu, taken)
    _, (before, now, after) = jax.lax.scan(step, belief, rows)
    if phi is None:
        distributions = jnp.einsum("tni,tnisa->tna", before, nu)
    else:
        distributions = jnp.einsum("tns,tnsa->tna", now, phi)
    return ActionDistributions(jnp.log(distributions + _TINY), before, after)


def _joint(
    belief: Float[Array, "*batch S"],
    nu: Float[Array, "*batch S S"],
    phi: Float[Array, "*batch S A"] | Float[Array, "*batch S S A"],
) -> Float[Array, "*batch S A"]:
    """The distribution of `(S_t, A_t)` given the history before them."""
    if phi.ndim == nu.ndim:
        return jnp.einsum("...i,...is->...s", belief, nu)[..., None] * phi
    return jnp.einsum("...i,...is,...isa->...sa", belief, nu, phi)


def _normalised(mass: Float[Array, "*batch S"]) -> Float[Array, "*batch S"]:
    mass = mass + _TINY
    return mass / mass.sum(axis=-1, keepdims=True)
