"""The estimator with the agent state integrated out: same expectation, less variance."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Shaped

from asmpg.experience import Experience
from asmpg.gradients._barrier import (
    BarrierForm,
    entropy,
    pushed_everywhere,
    pushed_nu,
    pushed_phi,
)
from asmpg.gradients._sampled import Spread, gradient_over_steps, is_tabulated
from asmpg.policies import (
    ActionHead,
    ASMPolicy,
    KernelTables,
    controls_of_action,
    masked_controls,
)

#: Keeps a quotient finite where an action was all but impossible.
_TINY = 1e-30


def marginal_gradient(
    policy: ASMPolicy,
    episodes: Experience,
    weights: Float[Array, "T N"],
    *,
    barrier: float | Float[Array, ""] = 0.0,
    barrier_form: BarrierForm = "visited-mean",
    tabulated: bool | None = None,
) -> tuple[ASMPolicy, Spread]:
    """`g = 1/N sum_i sum_t W_t grad log p_t(A_t)`, differentiated through the whole filter.

    `p_t(a) = P(A_t = a | O_1:t, A_1:t-1)` is the history-dependent policy that `nu` and `phi` make
    together; the agent states in `episodes` are not looked at. By Fisher's identity this is the
    expectation of `sampled_gradient` over the agent states, given all observations and actions up
    to each reward: unbiased for the same gradient, with less variance.

    The log-barrier is as for `sampled_gradient`, with the average over agent states by their
    posterior, through which it is not differentiated.
    """
    tabulated = is_tabulated(policy, tabulated)
    kernels = policy.tabulate() if tabulated else policy
    moves, shares = _forward_backward(policy.head, kernels, episodes, weights)
    num_episodes, steps = weights.shape[1], episodes.valid.sum()
    of_barrier = num_episodes if barrier_form == "visited-sum" else steps

    head = policy.head

    def terms(kernels: Any, row: Any) -> tuple[Float[Array, " B"], Spread]:
        past, observation, action, mask, moves, shares = row
        log_nu = kernels.log_updates(past, observation)
        log_phi = kernels.log_controls(past, observation)
        before = moves.sum(axis=-1)
        if barrier_form == "all-inputs":
            pushed = pushed_everywhere(kernels, past, observation)
        else:
            pushed = jnp.sum(before * pushed_nu(barrier_form, log_nu), axis=-1)
            pushed += _average(moves, pushed_phi(barrier_form, head, log_phi))
        if mask is not None:
            log_phi = masked_controls(head, log_phi, mask)
        score = jnp.sum(shares * (log_nu + _of_action(head, log_phi, action)), axis=(-2, -1))
        value = score / num_episodes + barrier * pushed / of_barrier
        spread = Spread(
            jnp.sum(before * entropy(log_nu), axis=-1), _average(moves, head.entropy(log_phi))
        )
        return value, spread

    rows = (episodes.past, episodes.observations, episodes.actions, episodes.masks, moves, shares)
    return gradient_over_steps(policy, rows, episodes.valid, terms, tabulated=tabulated)


def beliefs_before(policy: ASMPolicy, episodes: Experience) -> Float[Array, "T N S"]:
    """`c_{t-1}` at every step of the episodes: what is known of the agent state before `O_t`.

    Rows after the end of an episode mean nothing.
    """
    return _forward(policy.head, policy.prepared(), episodes)[0]


def _forward_backward(
    head: ActionHead,
    kernels: ASMPolicy | KernelTables,
    episodes: Experience,
    weights: Float[Array, "T N"],
) -> tuple[Float[Array, "T N S S"], Float[Array, "T N S S"]]:
    """The moves of the agent state and their shares in the gradient.

    Moves are `P(S_{t-1} = i, S_t = s | o_1:t, a_1:t)`. The gradient is the sum over all steps and
    moves of `share grad log nu(s | i, a_{t-1}, o_t) phi(a_t | s)`. With the likelihood
    `L_t(i, s) = nu(s | i, a_{t-1}, o_t) phi(a_t | s) / p_t(a_t)`, working backwards,

    ```
    gain_t(s)       = W_t + later_t(s) - sum_s' c_t(s') later_t(s')
    later_{t-1}(i)  = sum_s L_t(i, s) gain_t(s)
    share_t(i, s)   = c_{t-1}(i) L_t(i, s) gain_t(s)
    ```
    """
    before, likelihoods = _forward(head, kernels, episodes)
    moves = before[..., None] * likelihoods
    weights = jnp.where(episodes.valid, weights, 0.0)

    def step(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        time, later, gains = carry
        now = moves[time].sum(axis=-2)
        gain = weights[time][:, None] + later - jnp.sum(now * later, axis=-1, keepdims=True)
        earlier = jnp.einsum("nis,ns->ni", likelihoods[time], gain)
        earlier = jnp.where(episodes.valid[time][:, None], earlier, 0.0)
        return time - 1, earlier, gains.at[time].set(gain)

    last = episodes.lengths.max() - 1
    nothing = (jnp.zeros_like(before[0]), jnp.zeros_like(before))
    *_, gains = jax.lax.while_loop(lambda carry: carry[0] >= 0, step, (last, *nothing))
    return moves, moves * gains[..., None, :]


def _forward(
    head: ActionHead, kernels: ASMPolicy | KernelTables, episodes: Experience
) -> tuple[Float[Array, "T N S"], Float[Array, "T N S S"]]:
    """`c_{t-1}` and `L_t` as far as the longest episode goes, and zeros beyond."""
    past, longest = episodes.past, episodes.lengths.max()
    shape = (*episodes.valid.shape, kernels.num_states)
    zero = jnp.zeros((), jnp.int32)
    first = jax.eval_shape(lambda: _likelihoods(head, kernels, episodes, past, zero))
    uniform = jnp.full(shape[1:], 1 / kernels.num_states, first.dtype)

    def step(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        time, belief, beliefs, likelihoods = carry
        likelihood = _likelihoods(head, kernels, episodes, past, time)
        after = jnp.einsum("ni,nis->ns", belief, likelihood)
        probability = jnp.maximum(after.sum(axis=-1), _TINY)
        beliefs = beliefs.at[time].set(belief)
        likelihoods = likelihoods.at[time].set(likelihood / probability[:, None, None])
        return time + 1, after / probability[:, None], beliefs, likelihoods

    start = (
        zero,
        uniform,
        jnp.zeros(shape, first.dtype),
        jnp.zeros((*shape, shape[-1]), first.dtype),
    )
    *_, beliefs, likelihoods = jax.lax.while_loop(lambda carry: carry[0] < longest, step, start)
    return beliefs, likelihoods


def _likelihoods(
    head: ActionHead,
    kernels: ASMPolicy | KernelTables,
    episodes: Experience,
    past: Any,
    time: Int[Array, ""],
) -> Float[Array, "N S S"]:
    """`nu(s | i, a_{t-1}, o_t) phi(a_t | s)` of one step, up to a factor of its own.

    Densities may be too large or too small to be written down: the largest becomes 1.
    """
    rows = (past, episodes.observations, episodes.actions, episodes.masks)
    past, observation, action, mask = jax.tree.map(lambda rows: rows[time], rows)
    log_nu = kernels.log_updates(past, observation)
    log_phi = kernels.log_controls(past, observation)
    if mask is not None:
        log_phi = masked_controls(head, log_phi, mask)
    log_taken = _of_action(head, log_phi, action)
    return jnp.exp(log_nu + log_taken - log_taken.max(axis=(-2, -1), keepdims=True))


def _of_action(
    head: ActionHead,
    log_phi: Float[Array, "B S A"] | Float[Array, "B S S A"],
    action: Shaped[Array, "B *action"],
) -> Float[Array, "B 1 S"] | Float[Array, "B S S"]:
    """`log phi(action | s)`, with an axis for the state before."""
    row = controls_of_action(head, log_phi, action)
    return row[:, None, :] if row.ndim == 2 else row


def _average(
    moves: Float[Array, "B S S"], of_state: Float[Array, "B S"] | Float[Array, "B S S"]
) -> Float[Array, " B"]:
    """The mean of what depends on the agent state, and maybe on the one before."""
    of_move = of_state[:, None, :] if of_state.ndim == 2 else of_state
    return jnp.sum(moves * of_move, axis=(-2, -1))
