"""The yardsticks of a finite model: all exact but the stochastic memoryless one, a search."""

import jax
import jax.numpy as jnp
import numpy as np

from asmpg.environments import FiniteModel
from asmpg.exact._decision_process import (
    DecisionProcess,
    belief_process,
    latent_process,
    optimal_returns,
    optimal_reward_per_step,
)
from asmpg.exact._memoryless import (
    best_stochastic_memoryless,
    deterministic_memoryless_returns,
    memoryless_returns,
)
from asmpg.exact._yardsticks import Yardstick, Yardsticks


def finite_yardsticks(model: FiniteModel, *, horizon: int, discount: float) -> Yardsticks:
    """Compute every yardstick of `model` with episodes of at most `horizon` steps."""
    return Yardsticks(
        random=_random(model, horizon, discount),
        memoryless_deterministic=_memoryless_deterministic(model, horizon, discount),
        memoryless=_memoryless(model, horizon, discount),
        history_optimal=_history_optimal(model, horizon, discount),
        full_state=_optimal(latent_process(model), horizon, discount),
    )


def _random(model: FiniteModel, horizon: int, discount: float) -> Yardstick:
    with jax.enable_x64(True):
        shape = (model.num_observations, model.num_actions)
        uniform = jnp.full(shape, 1 / model.num_actions)
        returns = memoryless_returns(model, horizon=horizon, discount=discount)(uniform)
        return Yardstick(
            float(returns.discounted), float(returns.undiscounted), float(returns.reward_per_step)
        )


def _memoryless_deterministic(
    model: FiniteModel, horizon: int, discount: float
) -> Yardstick | None:
    try:
        _, returns = deterministic_memoryless_returns(model, horizon=horizon, discount=discount)
    except ValueError:
        return None
    return Yardstick(
        float(np.max(returns.discounted)),
        float(np.max(returns.undiscounted)),
        float(np.max(returns.reward_per_step)),
    )


def _memoryless(model: FiniteModel, horizon: int, discount: float) -> Yardstick:
    found = best_stochastic_memoryless(
        model,
        criteria=("discounted", "undiscounted", "reward_per_step"),
        horizon=horizon,
        discount=discount,
    )
    discounted, undiscounted, reward_per_step = (returns for _, returns in found)
    return Yardstick(
        float(discounted.discounted),
        float(undiscounted.undiscounted),
        float(reward_per_step.reward_per_step),
        kind="search",
        note="L-BFGS on the exact value, 12 starts",
    )


def _history_optimal(model: FiniteModel, horizon: int, discount: float) -> Yardstick | None:
    try:
        process = belief_process(model, horizon=horizon)
    except ValueError:
        return None
    return _optimal(process, horizon, discount)


def _optimal(process: DecisionProcess, horizon: int, discount: float) -> Yardstick:
    return Yardstick(
        float(optimal_returns(process, horizon=horizon, discount=discount).discounted),
        float(optimal_returns(process, horizon=horizon, discount=1.0).undiscounted),
        float(optimal_reward_per_step(process, horizon=horizon).reward_per_step),
    )
