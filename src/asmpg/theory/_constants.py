"""The paper's constants, step sizes and rates, as formulas."""

import dataclasses
import math


@dataclasses.dataclass(frozen=True)
class KernelBounds:
    """`G` and `M` of Assumptions 1 and 2: bounds on score and Hessian of `log pi`."""

    score: float
    hessian: float


def joint_softmax_bounds() -> KernelBounds:
    """`G = sqrt 2` and `M = 1`, of the Lemma "Lipschitz continuity and smoothness" (softmax)."""
    return KernelBounds(score=math.sqrt(2), hessian=1.0)


def factored_softmax_bounds() -> KernelBounds:
    """`G = 2` and `M = 1`, for separate softmax tables of `nu` and `phi`.

    The remark after Assumption 1 says "different universal constants" and leaves them open. The
    two tables are separate coordinates of `theta`, so squared norms of scores add up, and each is
    at most 2 by the softmax Lemma: `|grad log pi|^2 <= 2 + 2`. The Hessian is block diagonal, so
    its norm is the larger one of the two, at most 1 by the same Lemma.
    """
    joint = joint_softmax_bounds()
    return KernelBounds(score=math.sqrt(2) * joint.score, hessian=joint.hessian)


def episodic_beta(reward_bound: float, horizon: int, bounds: KernelBounds) -> float:
    """`beta = r_max H (H + 1) / 6 (3 M + G^2 (2 H + 1))`, Lemma "Smoothness of the episodic"."""
    steps = horizon * (horizon + 1) / 6
    return reward_bound * steps * (3 * bounds.hessian + bounds.score**2 * (2 * horizon + 1))


def episodic_noise(reward_bound: float, horizon: int, bounds: KernelBounds) -> float:
    """`C_H = r_max G H (H + 1)`, Theorem "Finite-time convergence of ASMPG"."""
    return reward_bound * bounds.score * horizon * (horizon + 1)


def discounted_beta(reward_bound: float, discount: float, bounds: KernelBounds) -> float:
    """`beta_gamma = r_max / (1 - gamma)^2 (M + G^2 (1 + gamma) / (1 - gamma))`.

    The Lemma on smoothness of the discounted objective, in the appendix.
    """
    left = 1 - discount
    return reward_bound / left**2 * (bounds.hessian + bounds.score**2 * (1 + discount) / left)


def discounted_noise(reward_bound: float, discount: float, bounds: KernelBounds) -> float:
    """`C_gamma = 2 r_max G / (1 - gamma)^2`, Theorem "Finite-time convergence of discounted"."""
    return 2 * reward_bound * bounds.score / (1 - discount) ** 2


def truncation_bias(
    reward_bound: float, discount: float, bounds: KernelBounds, steps: int
) -> float:
    """`G r_max sum_{l > T} l gamma^(l-1)`: what the gradient can lose when cut after `T` steps.

    The inequality that makes the gradients uniformly Cauchy, in the proof of the Proposition
    behind Theorem 2, for `t = 1` and `L` to infinity. The sum is
    `gamma^T (1 + T (1 - gamma)) / (1 - gamma)^2`.
    """
    left = 1 - discount
    return bounds.score * reward_bound * discount**steps * (1 + steps * left) / left**2


def expected_step_size(beta: float, noise: float, gap: float, updates: int) -> float:
    """Part (a): `min(1 / beta, 2 / C sqrt(2 Delta_1 / (beta K)))`."""
    return min(1 / beta, 2 / noise * math.sqrt(2 * gap / (beta * updates)))


def expected_bound(beta: float, noise: float, gap: float, updates: int) -> float:
    """Part (a): `2 beta Delta_1 / K + C sqrt(beta Delta_1 / (2 K))`, in expectation."""
    return 2 * beta * gap / updates + noise * math.sqrt(beta * gap / (2 * updates))


def likely_step_size(beta: float, noise: float, gap: float, updates: int) -> float:
    """Part (b)(i): `min(1 / beta, 1 / C sqrt(Delta_1 / (beta K)))`."""
    return min(1 / beta, math.sqrt(gap / (beta * updates)) / noise)


def likely_bound(beta: float, noise: float, gap: float, updates: int, *, delta: float) -> float:
    """Part (b)(i): with probability `1 - delta`.

    `2 beta Delta_1 / K + 5 C sqrt(beta Delta_1 / K) + 12 C^2 log(1 / delta) / K`.
    """
    slow = 5 * noise * math.sqrt(beta * gap / updates)
    return (2 * beta * gap + 12 * noise**2 * math.log(1 / delta)) / updates + slow


def decreasing_step_size(beta: float, update: int) -> float:
    """Part (b)(ii): `alpha_k = 1 / (beta sqrt k)`."""
    return 1 / (beta * math.sqrt(update))


def decreasing_bound(beta: float, noise: float, gap: float, updates: int, *, delta: float) -> float:
    """Part (b)(ii): with probability `1 - delta`.

    `(2 beta Delta_1 + 3 C^2 (1 + log K) + 12 C^2 log(1 / delta)) / sqrt K`.
    """
    chance = 3 * (1 + math.log(updates)) + 12 * math.log(1 / delta)
    return (2 * beta * gap + noise**2 * chance) / math.sqrt(updates)


def summable_bound(beta: float, noise: float, gap: float, squared_steps: float) -> float:
    """`E sum_k alpha_k |grad J(theta_k)|^2 <= Delta_1 + beta C^2 / 8 sum_k alpha_k^2`.

    The inequality in the proof from which part (c), almost sure convergence, follows.
    """
    return gap + beta * noise**2 / 8 * squared_steps
