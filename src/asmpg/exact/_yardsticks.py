"""What policies of several kinds are worth: yardsticks for learning, and those of finite models.

A finite model is solved exactly, but for its best stochastic memoryless policy, which is the best
of a search.
"""

import dataclasses
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from asmpg._support.words import counted
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
)
from asmpg.exact._returns import exact_returns
from asmpg.policies import KernelTables

#: How a value is known: computed exactly; on a grid, so nearly; the best of a search, so a lower
#: bound; a simulation; or an upper bound.
Kind = Literal["exact", "grid", "search", "simulation", "bound"]
#: What is put before a value of each kind: nearly, at least, or at most.
KIND_MARKS: dict[str, str] = {
    "exact": "",
    "grid": "≈",
    "search": "≥",
    "simulation": "≈",
    "bound": "≤",
}


@dataclasses.dataclass(frozen=True)
class Yardstick:
    """The best value of one kind of policy, each criterion optimised on its own.

    `standard_error` belongs to simulated values, in the order of the fields above it.
    `reward_per_step` is pooled, `E[return] / E[length]`, and `None` where it says nothing, as are
    undiscounted values.
    """

    discounted: float
    undiscounted: float | None
    reward_per_step: float | None = None
    kind: Kind = "exact"
    standard_error: tuple[float, float] | None = None
    note: str = ""


@dataclasses.dataclass(frozen=True)
class Yardsticks:
    """The yardsticks of an environment, from what knows least to what knows most.

    Where nothing computes a yardstick, or a model is too large for what does, it is `None`. Where
    `history_optimal` is but the best that was found, `history_bound` is what no history beats.
    """

    random: Yardstick
    memoryless_deterministic: Yardstick | None
    memoryless: Yardstick | None
    history_optimal: Yardstick | None
    full_state: Yardstick
    history_bound: Yardstick | None = None


#: How much belief search may compute, and how much the search for memoryless policies.
_MOST_PRODUCTS, _MOST_GRADIENT_PRODUCTS = 2_000_000_000, 20_000_000_000

#: What each yardstick is called wherever it is shown.
YARDSTICK_LABELS = {
    "random": "uniformly random",
    "memoryless_deterministic": "best memoryless, deterministic",
    "memoryless": "best memoryless",
    "history_optimal": "history optimum",
    "history_bound": "upper bound",
    "full_state": "full state",
}


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
        # One agent state is no memory, and costs less than a policy of the last observation.
        inputs = model.num_observations * (1 + model.num_actions)
        uniform = KernelTables(
            jnp.zeros((1, inputs, 1)),
            jnp.full((1, 1, 1, model.num_actions), -np.log(model.num_actions)),
        )
        returns = exact_returns(model, uniform, horizon=horizon, discount=discount)
        return Yardstick(
            float(returns.discounted), float(returns.undiscounted), float(returns.reward_per_step)
        )


def _memoryless_deterministic(
    model: FiniteModel, horizon: int, discount: float
) -> Yardstick | None:
    if _affordable_gradients(model, horizon) < 100:
        return None
    try:
        _, returns = deterministic_memoryless_returns(model, horizon=horizon, discount=discount)
    except ValueError:
        return None
    return Yardstick(
        float(np.max(returns.discounted)),
        float(np.max(returns.undiscounted)),
        float(np.max(returns.reward_per_step)),
    )


def _affordable_gradients(model: FiniteModel, horizon: int) -> int:
    """How many gradients of a memoryless policy's value are worth computing, by their size."""
    possible = (model.observation > 0).any(axis=0) | (model.start_observation > 0)
    symbols = int((model.observation > 0).sum(axis=-1).max())
    products = 16 * horizon * int(possible.sum()) * model.successor[0].size * symbols
    return _MOST_GRADIENT_PRODUCTS // products


def _memoryless(model: FiniteModel, horizon: int, discount: float) -> Yardstick | None:
    gradients = _affordable_gradients(model, horizon) // 3
    if gradients < 100:
        return None
    restarts = min(12, max(1, gradients // 200))
    found = best_stochastic_memoryless(
        model,
        criteria=("discounted", "undiscounted", "reward_per_step"),
        horizon=horizon,
        discount=discount,
        restarts=restarts,
        iterations=min(1000, max(20, gradients // restarts)),
    )
    discounted, undiscounted, reward_per_step = (returns for _, returns in found)
    return Yardstick(
        float(discounted.discounted),
        float(undiscounted.undiscounted),
        float(reward_per_step.reward_per_step),
        kind="search",
        note=f"L-BFGS on the exact value, {counted(restarts, 'start')}",
    )


def _history_optimal(model: FiniteModel, horizon: int, discount: float) -> Yardstick | None:
    # Each belief is multiplied by all of this; a thousand of them a second on small models.
    size = model.num_observations * model.num_actions * model.num_states**2
    try:
        process = belief_process(
            model, horizon=horizon, max_beliefs=min(50_000, 1 + _MOST_PRODUCTS // size)
        )
    except ValueError:
        return None
    return _optimal(process, horizon, discount)


def _optimal(process: DecisionProcess, horizon: int, discount: float) -> Yardstick:
    return Yardstick(
        float(optimal_returns(process, horizon=horizon, discount=discount).discounted),
        float(optimal_returns(process, horizon=horizon, discount=1.0).undiscounted),
        float(optimal_reward_per_step(process, horizon=horizon).reward_per_step),
    )
