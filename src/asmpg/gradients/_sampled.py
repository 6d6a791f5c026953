"""The paper's estimator: sampled agent states, weighted scores."""

from typing import Any

from jaxtyping import Array, Float

from asmpg.gradients._blocks import Spread, entropy, gradient_over_steps, is_tabulated
from asmpg.gradients._episodes import Episodes
from asmpg.policies import ASMPolicy, log_probability


def sampled_gradient(
    policy: ASMPolicy,
    episodes: Episodes,
    weights: Float[Array, "T N"],
    *,
    barrier: float | Float[Array, ""] = 0.0,
    tabulated: bool | None = None,
) -> tuple[ASMPolicy, Spread]:
    """The gradient of the objective by Theorems 1 and 2, averaged over the episodes.

    `g = 1/N sum_i sum_t W_t grad log pi(S_t, A_t | S_{t-1}, A_{t-1}, O_t)`, plus the gradient of
    the log-barrier: `barrier` times the average over all steps of the mean over `s` of
    `log nu(s | x_t)` and of the mean over `a` of `log phi(a | S_t)`.

    With finite observations the kernels have few inputs, and all of them are evaluated once
    (`tabulated`); the scores are then collected in the tables and pulled back through the networks.
    Otherwise, or if told so, they are evaluated step by step. Both give the same gradient.
    """
    num_episodes, steps = weights.shape[1], episodes.running.sum()

    def terms(kernels: Any, row: Any) -> tuple[Float[Array, " B"], Spread]:
        memory, observation, state, action, weight = row
        log_nu, log_phi = kernels.log_rows(memory, observation, state)
        score = log_probability(log_nu, log_phi, state, action)
        pushed = log_nu.mean(axis=-1) + log_phi.mean(axis=-1)
        value = weight * score / num_episodes + barrier * pushed / steps
        return value, Spread(entropy(log_nu), entropy(log_phi))

    rows = (
        episodes.memories,
        episodes.observations,
        episodes.states,
        episodes.actions,
        weights,
    )
    return gradient_over_steps(
        policy, rows, episodes.running, terms, tabulated=is_tabulated(policy, tabulated)
    )
