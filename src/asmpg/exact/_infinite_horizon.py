"""The value of an ASM policy over an infinite horizon, by one linear solve, and its gradient.

With `V(x, s)` the value of being in latent state `x` with agent state `s`, before acting,

`V(x, s) = sum_a phi(a|s) [r(x, a) + gamma sum_{x', o, s'} T(x'|x, a) O(o|a, x') nu(s'|s, a, o)
V(x', s')]`,

a linear system of as many unknowns as there are pairs. The policy is worth
`sum_{x, o, s} p(x) O_1(o|x) nu_1(s|o) V(x, s)`. Terminal states are worth nothing.
"""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.scipy.sparse.linalg
import numpy as np
from jaxtyping import Array, Float, Int

from asmpg._support.checks import check_number
from asmpg.environments import FiniteModel
from asmpg.exact._returns import Scalar
from asmpg.policies import KernelTables, TabularPolicy

#: Systems of at most so many unknowns are factorised; larger ones are solved by iteration.
_MOST_FACTORISED = 1_200
#: Transition tables with at most so many entries are multiplied as dense matrices.
_MOST_DENSE = 20_000_000
#: The relative residual at which iteration stops, and the most iterations.
_TOLERANCE, _ITERATIONS = 1e-11, 2_000
#: The most iterations where a coarser residual is asked for.
_ROUGH_ITERATIONS = 150
#: The most sweeps of plain iteration, which makes up for a solver that did not converge.
_SWEEPS = 100_000


#: Values, how much they changed last, and how often.
_Sweep = tuple[Float[Array, "X S"], Float[Array, ""], Int[Array, ""]]


class Controller(eqx.Module):
    """A stationary policy: `first[o, s]`, `update[s, a, o, s']` and `control[s, a]`."""

    first: Float[Array, "*batch O S"]
    update: Float[Array, "*batch S A O S"]
    control: Float[Array, "*batch S A"]

    @classmethod
    def of(cls, tables: KernelTables) -> "Controller":
        """The policy in `tables`.

        Where the action depends on more than the agent state, the pair of both is the agent state.
        """
        if tables.log_nu.shape[0] > 1:
            raise ValueError(
                "tables must be those of a stationary policy: a policy that changes with time has "
                "no infinite horizon"
            )
        symbols, states, actions = tables.num_observations, tables.num_states, tables.num_actions
        if tables.log_phi.shape[1] == 1:
            nu = jnp.exp(tables.log_nu[0])
            update = nu[symbols:].reshape(states, actions, symbols, states)
            return cls(nu[:symbols], update, jnp.exp(tables.log_phi[0, 0]))
        pairs = states * actions
        joint = tables.joint()[0].reshape(-1, pairs)
        update = joint[symbols:].reshape(pairs, 1, symbols, pairs)
        control = jnp.tile(jnp.eye(actions, dtype=joint.dtype), (states, 1))
        return cls(joint[:symbols], jnp.repeat(update, actions, axis=1), control)


class RunningProcess(eqx.Module):
    """What a policy meets while an episode runs: a finite model without its terminal states.

    `transition[a, x, x']` is dense where it is small; else `edges` are its entries, as `(a, x, x')`
    with `weight`.
    """

    transition: Float[Array, "A X X"] | None
    edges: Int[Array, "E 3"] | None
    weight: Float[Array, " E"] | None
    observation: Float[Array, "A X O"]
    reward: Float[Array, "X A"]
    start: Float[Array, "X O"]

    @classmethod
    def of(cls, model: FiniteModel) -> "RunningProcess":
        """In float64 under `jax.enable_x64(True)`."""
        alive = np.flatnonzero(~model.terminal)
        size = len(alive)
        number = np.full(model.num_states, -1)
        number[alive] = np.arange(size)
        x, a, k = np.nonzero(
            (model.probability > 0)
            & ~model.terminal[:, None, None]
            & ~model.terminal[model.successor]
        )
        entries = (a, number[x], number[model.successor[x, a, k]])
        weight = model.probability[x, a, k]
        dense = None
        if model.num_actions * size**2 <= _MOST_DENSE:
            dense = np.zeros((model.num_actions, size, size))
            np.add.at(dense, entries, weight)
        return cls(
            None if dense is None else jnp.asarray(dense, float),
            None if dense is not None else jnp.asarray(np.stack(entries, axis=1), jnp.int32),
            None if dense is not None else jnp.asarray(weight, float),
            jnp.asarray(model.observation[:, alive], float),
            jnp.asarray(model.expected_reward[alive], float),
            jnp.asarray(model.start[alive, None] * model.start_observation[alive], float),
        )

    def expect(self, value: Float[Array, "A X S"]) -> Float[Array, "A X S"]:
        """`sum_{x'} T(x' | x, a) value[a, x', s]`."""
        if self.transition is not None:
            return jnp.einsum("axy,ays->axs", self.transition, value)
        assert self.edges is not None
        assert self.weight is not None
        actions, states, width = value.shape
        a, x, y = self.edges.T
        summed = jax.ops.segment_sum(
            self.weight[:, None] * value[a, y], a * states + x, num_segments=actions * states
        )
        return summed.reshape(actions, states, width)


def controller_values(
    process: RunningProcess,
    controller: Controller,
    discount: Scalar,
    tolerance: float = _TOLERANCE,
) -> Float[Array, "X S"]:
    """`V(x, s)` for all latent and agent states; differentiable.

    `tolerance` is the relative residual at which iteration stops, where it is needed.
    """
    states, memories = process.reward.shape[0], controller.control.shape[0]
    paid = process.reward @ controller.control.T
    # Seeing is summed out: arrive[a, x', s, s'] is the update on arriving in x' by a.
    arrive = jnp.einsum("ayo,saoz->aysz", process.observation, controller.update)

    def residual(value: Float[Array, "X S"]) -> Float[Array, "X S"]:
        following = process.expect(jnp.einsum("aysz,yz->ays", arrive, value))
        return value - discount * jnp.einsum("sa,axs->xs", controller.control, following)

    if states * memories > _MOST_FACTORISED or process.transition is None:
        most = _ITERATIONS if tolerance <= _TOLERANCE else _ROUGH_ITERATIONS
        value, _ = jax.scipy.sparse.linalg.bicgstab(residual, paid, tol=tolerance, maxiter=most)
        return value
    chain = jnp.einsum("sa,axy,aysz->xsyz", controller.control, process.transition, arrive)
    size = states * memories
    system = jnp.eye(size, dtype=chain.dtype) - discount * chain.reshape(size, size)
    return jnp.linalg.solve(system, paid.reshape(size)).reshape(states, memories)


def controller_value(
    process: RunningProcess,
    controller: Controller,
    discount: Scalar,
    tolerance: float = _TOLERANCE,
) -> Scalar:
    """The value at the start; differentiable."""
    values = controller_values(process, controller, discount, tolerance)
    return jnp.einsum("xo,os,xs->", process.start, controller.first, values)


@functools.partial(jax.jit, static_argnames="model")
def _value(model: FiniteModel, tables: KernelTables, discount: Scalar) -> Scalar:
    process, controller = RunningProcess.of(model), Controller.of(tables)
    values = controller_values(process, controller, discount)
    arrive = jnp.einsum("ayo,saoz->aysz", process.observation, controller.update)
    paid = process.reward @ controller.control.T

    def backup(values: Float[Array, "X S"]) -> Float[Array, "X S"]:
        following = process.expect(jnp.einsum("aysz,yz->ays", arrive, values))
        return paid + discount * jnp.einsum("sa,axs->xs", controller.control, following)

    def off(state: _Sweep) -> Array:
        values, change, sweeps = state
        return (change > 1e-12 * (1 + jnp.abs(values).max())) & (sweeps < _SWEEPS)

    def sweep(state: _Sweep) -> _Sweep:
        new = backup(state[0])
        return new, jnp.abs(new - state[0]).max(), state[2] + 1

    # A contraction, which cannot fail: nothing to do where the system was solved.
    values = jnp.where(jnp.isfinite(values), values, 0.0)
    begin = (values, jnp.asarray(jnp.inf), jnp.zeros((), jnp.int32))
    values, _, _ = jax.lax.while_loop(off, sweep, begin)
    return jnp.einsum("xo,os,xs->", process.start, controller.first, values)


def infinite_horizon_value(model: FiniteModel, tables: KernelTables, *, discount: float) -> float:
    """The expected discounted return of an endless episode, in float64.

    Where `exact_returns` looks `horizon` steps ahead, this is its limit.
    """
    _check_discount(discount)
    with jax.enable_x64(True):
        # What was made in single precision sums to one only nearly.
        tables = jax.tree.map(lambda leaf: jax.nn.log_softmax(jnp.asarray(leaf, float)), tables)
        return float(_value(model, tables, discount))


def infinite_horizon_gradient(
    model: FiniteModel, policy: TabularPolicy, *, discount: float
) -> tuple[float, TabularPolicy]:
    """The value of `policy` over an infinite horizon, and its gradient in every logit, in float64.

    Both by a linear solve: the gradient needs one more, with the transposed system.
    """
    _check_discount(discount)

    @jax.jit
    def value_and_gradient(policy: TabularPolicy) -> tuple[Scalar, TabularPolicy]:
        process = RunningProcess.of(model)
        return eqx.filter_value_and_grad(
            lambda policy: controller_value(process, Controller.of(policy.tabulate()), discount)
        )(policy)

    with jax.enable_x64(True):
        policy = jax.tree.map(lambda leaf: jnp.asarray(leaf, float), policy)
        value, gradient = value_and_gradient(policy)
        return float(value), jax.tree.map(np.asarray, gradient)


def _check_discount(discount: float) -> None:
    check_number("discount", discount, low=0, high=1)
    if discount == 1:
        raise ValueError("discount must be below 1 over an infinite horizon, got 1")
