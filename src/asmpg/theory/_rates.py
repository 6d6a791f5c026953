"""Step sizes and right-hand sides of the Theorem "Finite-time convergence", part by part.

The episodic Theorem takes `beta` and `C_H`; its discounted counterpart reads the same with
`beta_gamma` and `C_gamma`. `gap` is `Delta_1 = sup J - J(theta_1)`, `updates` is `K`.
"""

import math


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
