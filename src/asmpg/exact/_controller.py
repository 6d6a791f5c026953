"""The best finite-memory policy of a given size, by gradient ascent on its exact value."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

from asmpg._support.checks import check_integer
from asmpg.environments import FiniteModel
from asmpg.exact._returns import Criterion, ExactReturns, exact_gradient, exact_returns
from asmpg.policies import TabularPolicy


class BestController(eqx.Module):
    """What gradient ascent found: the best policy, its outcome, and the values of all restarts."""

    policy: TabularPolicy
    returns: ExactReturns
    restart_values: Float[np.ndarray, " restarts"]


def best_controller(
    model: FiniteModel,
    *,
    num_states: int,
    criterion: Criterion = "discounted",
    horizon: int = 200,
    discount: float = 0.99,
    restarts: int = 8,
    iterations: int = 500,
    learning_rate: float = 0.4,
    seed: int = 0,
) -> BestController:
    """Adam on the exact value of a tabular softmax policy with `num_states` agent states.

    All restarts, from random logits, climb together in one compiled program in float64. A local
    search: the value is reached by a policy, and is a lower bound on the best.
    """
    check_integer("num_states", num_states, low=1)
    check_integer("restarts", restarts, low=1)
    check_integer("iterations", iterations, low=1)
    optimiser = optax.adam(learning_rate)

    @jax.jit
    def ascend(policies: TabularPolicy) -> tuple[TabularPolicy, ExactReturns]:
        def gradient(policy: TabularPolicy) -> TabularPolicy:
            _, ascent = exact_gradient(
                model, policy, criterion=criterion, horizon=horizon, discount=discount
            )
            return jax.tree.map(jnp.negative, ascent)

        def step(
            carry: tuple[TabularPolicy, optax.OptState], _: None
        ) -> tuple[tuple[TabularPolicy, optax.OptState], None]:
            policies, state = carry
            updates, state = optimiser.update(eqx.filter(jax.vmap(gradient)(policies), True), state)
            return (eqx.apply_updates(policies, updates), state), None

        (policies, _), _ = jax.lax.scan(
            step, (policies, optimiser.init(eqx.filter(policies, True))), None, length=iterations
        )
        evaluate = jax.vmap(
            lambda policy: exact_returns(
                model, policy.tabulate(), horizon=horizon, discount=discount
            )
        )
        return policies, evaluate(policies)

    def start(key: Array) -> TabularPolicy:
        return TabularPolicy(
            key=key,
            num_states=num_states,
            num_actions=model.num_actions,
            num_observations=model.num_observations,
        )

    with jax.enable_x64(True):
        policies, returns = ascend(
            jax.vmap(start)(jax.random.split(jax.random.key(seed), restarts))
        )
        values = np.asarray(getattr(returns, criterion))
        best = int(values.argmax())
        logits = jax.tree.map(lambda leaf: np.asarray(leaf[best]), policies)
        found = jax.tree.map(lambda leaf: float(leaf[best]), returns)
    # Back in the precision of the caller.
    policy = jax.tree.map(lambda leaf: jnp.asarray(leaf, float), logits)
    return BestController(policy, found, values)
