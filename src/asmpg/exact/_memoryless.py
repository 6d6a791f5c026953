"""The best policies without memory on a finite model."""

import functools
import itertools
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from asmpg.environments import FiniteModel
from asmpg.exact._decision_process import observed_process
from asmpg.exact._returns import Criterion, ExactReturns, Scalar

_BATCH = 4096


def memoryless_returns(
    model: FiniteModel, *, horizon: int, discount: float
) -> Callable[[Float[Array, "O A"]], ExactReturns]:
    """The exact outcome of a memoryless policy `policy[o, a]`, as a differentiable function."""
    process, shown = observed_process(model)
    discounting = np.array([discount, 1.0, 1.0, 1.0])
    one_step = np.stack(
        [process.reward, process.reward, np.ones_like(process.reward), 0 * process.reward], axis=-1
    )

    def returns(policy: Float[Array, "O A"]) -> ExactReturns:
        act = policy[shown]
        paid = jnp.einsum("na,nac->nc", act, one_step)
        weight = act[:, :, None] * process.probability

        def backup(value: Float[Array, "N 4"], _: None) -> tuple[Float[Array, "N 4"], None]:
            following = jnp.einsum("nak,nakc->nc", weight, value[process.successor])
            return paid + discounting * following, None

        last = jnp.zeros(4).at[3].set(1.0)
        value, _ = jax.lax.scan(
            backup, jnp.broadcast_to(last, (len(shown), 4)), None, length=horizon
        )
        discounted, undiscounted, length, running = process.start @ value
        return ExactReturns(discounted, undiscounted, length, 1 - running)

    return returns


def deterministic_memoryless_returns(
    model: FiniteModel, *, horizon: int, discount: float, max_policies: int = 2**20
) -> tuple[Int[np.ndarray, "P O"], ExactReturns]:
    """Try them all: every deterministic memoryless policy, an action a symbol, and its outcome.

    Symbols that no running episode shows get action 0. More than `max_policies` policies raise a
    `ValueError`.
    """
    symbols = np.unique(observed_process(model)[1])
    count = model.num_actions ** len(symbols)
    if count > max_policies:
        raise ValueError(
            f"there are {model.num_actions}^{len(symbols)} = {count} deterministic memoryless "
            f"policies; at most max_policies = {max_policies} are tried"
        )
    choices = np.zeros((count, model.num_observations), np.int32)
    choices[:, symbols] = list(itertools.product(range(model.num_actions), repeat=len(symbols)))
    returns = memoryless_returns(model, horizon=horizon, discount=discount)

    @jax.jit
    def evaluate(choices: Int[Array, "P O"]) -> ExactReturns:
        one_hot = functools.partial(jax.nn.one_hot, num_classes=model.num_actions)
        return jax.lax.map(lambda choice: returns(one_hot(choice)), choices, batch_size=_BATCH)

    with jax.enable_x64(True):
        return choices, jax.tree.map(np.asarray, evaluate(jnp.asarray(choices)))


def best_stochastic_memoryless(
    model: FiniteModel,
    *,
    criteria: Sequence[Criterion],
    horizon: int,
    discount: float,
    restarts: int = 12,
    iterations: int = 1000,
    seed: int = 0,
) -> list[tuple[Float[np.ndarray, "O A"], ExactReturns]]:
    """L-BFGS on the exact value of a softmax policy: the best policy for each criterion.

    A local search from several random starts: what it finds is a lower bound on the best.
    """
    import scipy.optimize

    shape = (model.num_observations, model.num_actions)
    returns = jax.jit(memoryless_returns(model, horizon=horizon, discount=discount))

    @jax.jit
    @jax.value_and_grad
    def loss(logits: Float[Array, " OA"], weights: Float[Array, " C"]) -> Scalar:
        outcome = returns(jax.nn.softmax(logits.reshape(shape)))
        return -weights @ jnp.stack([getattr(outcome, criterion) for criterion in criteria])

    def search(criterion: int) -> tuple[Float[np.ndarray, "O A"], ExactReturns]:
        generator = np.random.default_rng(seed)
        weights = np.eye(len(criteria))[criterion]
        best = min(
            (
                scipy.optimize.minimize(
                    lambda logits: tuple(np.asarray(part) for part in loss(logits, weights)),
                    generator.normal(size=shape[0] * shape[1]),
                    jac=True,
                    method="L-BFGS-B",
                    options={"maxiter": iterations, "ftol": 1e-15, "gtol": 1e-10},
                )
                for _ in range(restarts)
            ),
            key=lambda result: result.fun,
        )
        policy = jax.nn.softmax(jnp.asarray(best.x).reshape(shape))
        return np.asarray(policy), jax.tree.map(float, returns(policy))

    with jax.enable_x64(True):
        return [search(criterion) for criterion in range(len(criteria))]
