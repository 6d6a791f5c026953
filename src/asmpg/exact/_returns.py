"""The exact value of an ASM policy on a finite model, and its gradient."""

from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from asmpg.environments import AbstractFiniteEnvironment, Environment, FiniteModel
from asmpg.policies import KernelTables, TabularPolicy

#: What is maximised.
Criterion = Literal["discounted", "undiscounted", "reward_per_step"]
Scalar = Float[Array, ""] | float
#: One number, or one for each policy of a batch.
Numbers = Scalar | Float[Array, "*batch"] | Float[np.ndarray, "*batch"]


class ExactReturns(eqx.Module):
    """Expected outcome of an episode of at most `H` steps, `T` being its length.

    - `discounted`: `E[sum_{t<=T} gamma^(t-1) r_t]`;
    - `undiscounted`: `E[sum_{t<=T} r_t]`;
    - `episode_length`: `E[T]`;
    - `termination`: probability of ending before the time limit cuts the episode off.
    """

    discounted: Numbers
    undiscounted: Numbers
    episode_length: Numbers
    termination: Numbers

    @property
    def reward_per_step(self) -> Numbers:
        """The pooled reward per step, `E[return] / E[T]`."""
        return self.undiscounted / self.episode_length


def exact_returns(
    model: FiniteModel, tables: KernelTables, *, horizon: int, discount: float | Float[Array, ""]
) -> ExactReturns:
    """Push the distribution of (latent state, agent state, action) forward `horizon` steps.

    With `d_t(x, s, a)` the probability that the episode still runs and `X_t = x, S_t = s, A_t = a`,

    `d_{t+1}(x', s', a') = sum_{x, s, a, o} d_t(x, s, a) T(x'|x, a) O(o|a, x') pi(s', a'|s, a, o)`

    and the mean reward of step `t` is `sum_{x, s, a} d_t(x, s, a) r(x, a)`. Computed in the
    precision of `tables`; tables made under `jax.enable_x64(True)` give all digits.
    """
    dtype = tables.log_nu.dtype
    alive = np.flatnonzero(~model.terminal)
    transition = jnp.asarray(model.transition[alive][:, :, alive], dtype)
    observation = jnp.asarray(model.observation[:, alive], dtype)
    start = jnp.asarray(model.start[alive, None] * model.start_observation[alive], dtype)
    reward = jnp.asarray(model.expected_reward[alive], dtype)

    symbols, states, actions = tables.num_observations, tables.num_states, tables.num_actions
    kernel = tables.joint()
    first = jnp.einsum("xo,osa->xsa", start, kernel[0, :symbols])
    kernel = kernel[:, symbols:].reshape(-1, states, actions, symbols, states, actions)
    # Seeing is summed out once: update[t, y, s, a, s', a'] for arriving in y.
    update = jnp.einsum("ayo,hsaotb->hysatb", observation, kernel)
    stationary = update.shape[0] == 1

    def push(
        visits: Float[Array, "X S A"], step: tuple[Float[Array, ""], Float[Array, "Y S A S A"]]
    ) -> tuple[Float[Array, "X S A"], Float[Array, "3"]]:
        discounting, update = step
        paid, running = jnp.vdot(visits.sum(axis=1), reward), visits.sum()
        arrived = jnp.einsum("xsa,xay->ysa", visits, transition)
        following = jnp.einsum("ysa,ysatb->ytb", arrived, update)
        return following, jnp.stack([discounting * paid, paid, running])

    discounting = discount ** jnp.arange(horizon, dtype=dtype)
    if stationary:
        last, steps = jax.lax.scan(
            lambda visits, d: push(visits, (d, update[0])), first, discounting
        )
    else:
        # The update at step t uses the kernels of step t + 1; the last one is never needed.
        following = jnp.concatenate([update[1:horizon], update[:1]])
        last, steps = jax.lax.scan(push, first, (discounting, following))
    discounted, undiscounted, length = steps.sum(axis=0)
    return ExactReturns(discounted, undiscounted, length, 1 - last.sum())


def policy_returns(
    environment: Environment[Any] | None,
    tables: KernelTables | None,
    *,
    discount: float | Float[Array, ""],
) -> ExactReturns | None:
    """The exact outcome of playing `tables` in `environment` up to its time limit.

    `None` unless the environment is a finite model and the policy has tables.
    """
    if tables is None or not isinstance(environment, AbstractFiniteEnvironment):
        return None
    return exact_returns(
        environment.model, tables, horizon=environment.max_steps, discount=discount
    )


def exact_gradient(
    model: FiniteModel,
    policy: TabularPolicy,
    *,
    criterion: Criterion = "discounted",
    horizon: int,
    discount: float,
) -> tuple[Scalar, TabularPolicy]:
    """The exact value of `policy` and its gradient in every logit, by automatic differentiation."""

    def value(policy: TabularPolicy) -> Scalar:
        returns = exact_returns(model, policy.tabulate(), horizon=horizon, discount=discount)
        return getattr(returns, criterion)

    return eqx.filter_value_and_grad(value)(policy)


def num_windows(model: FiniteModel, length: int) -> int:
    """How many windows of the last `length` pairs of observation and action can be met.

    Shorter ones, of the first steps of an episode, are counted too.
    """
    starts = np.argwhere(model.start[:, None] * model.start_observation > 0)
    frontier: set[tuple[int, int, tuple[tuple[int, int], ...]]]
    frontier = {(int(state), int(symbol), ()) for state, symbol in starts}
    known = set(frontier)
    windows: set[tuple[tuple[int, int], ...]] = {()}
    while frontier:
        following = set()
        for state, symbol, window in frontier:
            for action in range(model.num_actions):
                kept = ((symbol, action), *window)[:length]
                for successor in np.flatnonzero(model.transition[state, action] > 0):
                    if model.terminal[successor]:
                        continue
                    windows.add(kept)
                    for shown in np.flatnonzero(model.observation[action, successor] > 0):
                        following.add((int(successor), int(shown), kept))
        frontier = following - known
        known |= frontier
    return len(windows)
