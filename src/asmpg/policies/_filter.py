"""The filter: what is known of the agent state, and the distribution of actions that follows."""

import functools
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, Shaped

from asmpg.policies._action_head import ActionHead, draw
from asmpg.policies._actor import Actor
from asmpg.policies._fused_filter import beliefs_by_kernel
from asmpg.policies._heads import Categorical
from asmpg.policies._kernel_tables import AgentMemory, KernelTables, Moves, Window, rows_of
from asmpg.policies._parallel_filter import EXACTLY, TINY, before_each, beliefs_along
from asmpg.policies._policy import ASMPolicy
from asmpg.policies._sequential_filter import beliefs_by_steps

#: How the filter goes along a history: step by step, by a parallel scan over its steps, or by a
#: kernel of a GPU that has the steps inside.
FilterWay = Literal["sequential", "parallel", "fused"]


class Mixtures(eqx.Module):
    """Distributions of actions that are mixtures of those of a `head`, along histories."""

    weights: Float[Array, "*batch S"]
    numbers: Float[Array, "*batch S P"]

    def log_density(
        self, head: ActionHead, actions: Shaped[Array, "*batch_and_action"]
    ) -> Float[Array, "*batch"]:
        """Of any actions, or the logarithm of their probability."""
        likelihood, top = _likelihoods(head, self.numbers, actions)
        return top + jnp.log(jnp.sum(self.weights * likelihood, axis=-1) + TINY)

    def draw(
        self, head: ActionHead, key: Key[Array, ""], *, greedy: bool
    ) -> Shaped[Array, "*batch_and_action"]:
        """An action from each."""
        batch = self.weights.shape[:-1]
        uniforms = jax.random.uniform(key, (*batch, 1 + head.draws))
        chosen = functools.partial(head.draw_from_mixture, greedy=greedy)
        for _ in batch:
            chosen = jax.vmap(chosen)
        return chosen(self.weights, self.numbers, uniforms)


class ActionDistributions(eqx.Module):
    """The distributions of actions along `N` histories of `T` steps, and the memories before."""

    #: `log p(a_t | history)` of the actions played, or the logarithm of a density.
    log_probability: Float[Array, "T N"]
    #: Of a mixture that has no formula for it, the mean entropy of its components.
    entropy: Float[Array, "T N"]
    #: What is remembered before each observation, and after each action.
    before: Float[Array, "T N F"]
    after: Float[Array, "T N F"]
    #: `log p(a | history)` for every action, where they are finitely many.
    log_probabilities: Float[Array, "T N A"] | None = None
    #: The distributions themselves, where actions are not finitely many.
    mixtures: Mixtures | None = None

    @classmethod
    def of_numbers(
        cls,
        head: ActionHead,
        numbers: Float[Array, "T N P"],
        actions: Shaped[Array, "T N *action"],
        before: Float[Array, "T N F"],
        after: Float[Array, "T N F"],
        masks: Bool[Array, "T N M"] | None = None,
    ) -> "ActionDistributions":
        """Of a policy that has no agent state: one distribution at each step."""
        numbers = head.normalise(numbers) if masks is None else head.masked(numbers, masks)
        taken, entropy = head.log_probability(numbers, actions), head.entropy(numbers)
        if isinstance(head, Categorical):
            return cls(taken, entropy, before, after, numbers)
        alone = Mixtures(jnp.ones_like(numbers[..., :1]), numbers[..., None, :])
        return cls(taken, entropy, before, after, mixtures=alone)


class FilterMemory(eqx.Module):
    """The belief `c_{t-1}` over agent states, the last action, the number of actions played."""

    belief: Float[Array, "*batch S"]
    action: Shaped[Array, "*batch_and_action"]
    time: Int[Array, "*batch"]
    window: Window | None = None

    @classmethod
    def empty(
        cls,
        num_states: int,
        head: ActionHead,
        batch: tuple[int, ...] = (),
        window: Window | None = None,
    ) -> "FilterMemory":
        """Before the first observation, when there is no agent state to believe in."""
        uniform = jnp.full((*batch, num_states), 1 / num_states, jnp.result_type(float))
        return cls(uniform, head.blank(batch), jnp.zeros(batch, jnp.int32), window)

    @property
    def past(self) -> AgentMemory:
        """What `nu` is asked about, but for the agent state."""
        return AgentMemory(jnp.zeros_like(self.time), self.action, self.time, self.window)


class FilterActor(Actor[FilterMemory]):
    """Acts by filtering: `A_t` from `p_t`, no agent state is drawn."""

    kernels: ASMPolicy | KernelTables
    actions: ActionHead = eqx.field(static=True)
    #: Take the most probable action instead of drawing it.
    greedy: bool = eqx.field(static=True)

    @property
    def head(self) -> ActionHead:
        return self.actions

    def start(self, key: Key[Array, ""]) -> FilterMemory:
        """The memory of one who has seen nothing."""
        del key
        kernels = self.kernels
        return FilterMemory.empty(kernels.num_states, self.head, window=kernels.empty_window())

    def act(
        self,
        memory: FilterMemory,
        observation: Shaped[Array, "*observation"],
        reward: Float[Array, ""],
        uniforms: Float[Array, " draws"],
        mask: Bool[Array, " M"] | None = None,
    ) -> FilterMemory:
        """Draw `A_t` and condition the belief on it. Rewards are not looked at."""
        del reward
        nu = self.kernels.updates(memory.past, observation)
        log_phi = self.kernels.log_controls(memory.past, observation)
        if mask is not None:
            log_phi = masked_controls(self.head, log_phi, mask)
        if log_phi.ndim > nu.ndim:
            joint = jnp.einsum("i,is,isa->sa", memory.belief, nu, jnp.exp(log_phi))
            action = draw(joint.sum(axis=0), uniforms[1], greedy=self.greedy)
            mass = joint[:, action]
        else:
            now = memory.belief @ nu
            action = self.head.draw_from_mixture(now, log_phi, uniforms, greedy=self.greedy)
            mass = now * _likelihoods(self.head, log_phi, action)[0]
        after = memory.past.after(memory.past.state, action, observation)
        return FilterMemory(_normalised(mass), action, after.time, after.window)


def filter_actor(policy: ASMPolicy, *, greedy: bool = False) -> FilterActor:
    """Make `policy` ready to act by filtering."""
    return FilterActor(policy.prepared(), policy.head, greedy)


def filter_actions(
    kernels: ASMPolicy | KernelTables,
    belief: Float[Array, "N S"],
    past: AgentMemory,
    observations: Shaped[Array, "T N *observation"],
    actions: Shaped[Array, "T N *action"],
    masks: Bool[Array, "T N M"] | None = None,
    *,
    head: ActionHead | None = None,
    how: FilterWay = "sequential",
) -> ActionDistributions:
    """Run the filter along `N` histories of `T` steps, from the beliefs given.

    `past` has a row for each step: the action before it and the number of actions played in its
    episode; its agent states are not looked at. Where it is `first`, an episode starts and the
    belief before it is forgotten, by the gradient as well. What is remembered are beliefs:
    `c_{t-1}` before each observation and `c_t` after each action. `head` is that of the kernels,
    unless they are tables of actions that have parts. A loop over the steps, a parallel scan and a
    kernel that has the loop inside give the same up to rounding.
    """
    head = head or kernels.head
    tables = None if masks is not None else kernels.control_tables()
    if tables is not None and isinstance(head, Categorical) and len(tables) <= _MOST_TABLES:
        controls = jnp.exp(tables)
        seen = jnp.zeros_like(actions) if len(tables) == 1 else observations
        pairs = jnp.swapaxes(controls, 1, 2).reshape(-1, belief.shape[-1])
        likelihood = rows_of(pairs, seen * controls.shape[-1] + actions)
        moves = kernels.moves(past, observations)
        now, after = _WAYS[how](belief, past.first, moves, likelihood)
        probabilities = _by_tables(now, controls, seen)
        return _of_probabilities(head, probabilities, actions, belief, past, after)
    log_phi = kernels.log_controls(past, observations)
    if masks is not None:
        log_phi = masked_controls(head, log_phi, masks)
    joint = None
    top = jnp.zeros(past.time.shape, belief.dtype)
    if log_phi.ndim > past.time.ndim + 2:
        # The action depends on the agent state before as well: it is one step with that after.
        joint = kernels.updates(past, observations)[..., None] * jnp.exp(log_phi)
        moves = Moves(jnp.take_along_axis(joint, actions[..., None, None, None], axis=-1)[..., 0])
        likelihood = jnp.ones((*past.time.shape, belief.shape[-1]), belief.dtype)
    else:
        moves = kernels.moves(past, observations)
        likelihood, top = _likelihoods(head, log_phi, actions)
    now, after = _WAYS[how](belief, past.first, moves, likelihood)
    if not isinstance(head, Categorical):
        before = before_each(belief, past.first, after)
        taken = jnp.sum(now * likelihood, axis=-1)
        entropy = jnp.sum(now * head.entropy(log_phi), axis=-1)
        log_taken, mixtures = top + jnp.log(taken + TINY), Mixtures(now, log_phi)
        return ActionDistributions(log_taken, entropy, before, after, mixtures=mixtures)
    if joint is not None:
        before = before_each(belief, past.first, after)
        probabilities = jnp.einsum("tni,tnisa->tna", before, joint)
    else:
        probabilities = jnp.einsum("tns,tnsa->tna", now, jnp.exp(log_phi))
    return _of_probabilities(head, probabilities, actions, belief, past, after)


def _of_probabilities(
    head: Categorical,
    probabilities: Float[Array, "T N A"],
    actions: Int[Array, "T N"],
    belief: Float[Array, "N S"],
    past: AgentMemory,
    after: Float[Array, "T N S"],
) -> ActionDistributions:
    """Those of actions that are finitely many."""
    log_p = jnp.log(probabilities + TINY)
    taken, before = head.log_probability(log_p, actions), before_each(belief, past.first, after)
    return ActionDistributions(taken, head.entropy(log_p), before, after, log_p)


#: With more observations than this, a product with the tables of all costs more than it saves.
_MOST_TABLES = 32


def _by_tables(
    now: Float[Array, "T N S"], controls: Float[Array, "O S A"], seen: Int[Array, "T N"]
) -> Float[Array, "T N A"]:
    """`sum_s now(s) phi(a | s, o)`: of all observations, then of those `seen`.

    A table for each step, `T N S A` numbers and as many slopes, is never written.
    """
    if len(controls) == 1:
        return jnp.einsum("tns,sa->tna", now, controls[0], precision=EXACTLY)
    every = jnp.einsum("tns,osa->tnoa", now, controls, precision=EXACTLY)
    which = seen[..., None] == jnp.arange(len(controls))
    return jnp.sum(jnp.where(which[..., None], every, 0.0), axis=-2)


def _step_by_step(
    belief: Float[Array, "N S"],
    first: Bool[Array, "T N"],
    moves: Moves,
    likelihood: Float[Array, "T N S"],
) -> tuple[Float[Array, "T N S"], Float[Array, "T N S"]]:
    """The beliefs before each action, and after it."""
    return beliefs_by_steps(belief, first, moves.along, likelihood)


def _in_parallel(
    belief: Float[Array, "N S"],
    first: Bool[Array, "T N"],
    moves: Moves,
    likelihood: Float[Array, "T N S"],
) -> tuple[Float[Array, "T N S"], Float[Array, "T N S"]]:
    """The same by a parallel scan."""
    each = moves.along
    after = beliefs_along(belief, first, each * likelihood[..., None, :])
    before = before_each(belief, first, after)
    return jnp.einsum("tni,tnis->tns", before, each, precision=EXACTLY), after


_WAYS = {"sequential": _step_by_step, "parallel": _in_parallel, "fused": beliefs_by_kernel}


def masked_controls(
    head: ActionHead, log_phi: Float[Array, "*batch_and_states P"], mask: Bool[Array, "*batch M"]
) -> Float[Array, "*batch_and_states P"]:
    """`phi` given what `mask` allows, in every agent state."""
    extra = log_phi.ndim - mask.ndim
    mask = jnp.expand_dims(mask, tuple(range(mask.ndim - 1, mask.ndim - 1 + extra)))
    return head.masked(log_phi, jnp.broadcast_to(mask, (*log_phi.shape[:-1], mask.shape[-1])))


def controls_of_action(
    head: ActionHead,
    log_phi: Float[Array, "*batch_and_states P"],
    action: Shaped[Array, "*batch_and_action"],
) -> Float[Array, "*batch_and_states"]:
    """`log phi(action | s)` in every agent state."""
    batch = action.ndim - head.blank().ndim
    states = log_phi.shape[batch:-1]
    action = jnp.expand_dims(action, tuple(range(batch, batch + len(states))))
    shape = (*action.shape[:batch], *states, *action.shape[batch + len(states) :])
    return head.log_probability(log_phi, jnp.broadcast_to(action, shape))


def _likelihoods(
    head: ActionHead,
    log_phi: Float[Array, "*batch S P"],
    action: Shaped[Array, "*batch_and_action"],
) -> tuple[Float[Array, "*batch S"], Float[Array, "*batch"]]:
    """`phi(action | s)` of every agent state over the largest of them, and its logarithm.

    Densities may be too large or too small to be written down.
    """
    log_likelihood = controls_of_action(head, log_phi, action)
    top = jax.lax.stop_gradient(log_likelihood.max(axis=-1))
    return jnp.exp(log_likelihood - top[..., None]), top


def _normalised(mass: Float[Array, "*batch S"]) -> Float[Array, "*batch S"]:
    mass = mass + TINY
    return mass / mass.sum(axis=-1, keepdims=True)
