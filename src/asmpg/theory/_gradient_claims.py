"""The two gradient theorems, in both forms, and the baseline lemma."""

from collections.abc import Callable, Iterable

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from asmpg.environments import NMDP
from asmpg.exact import history_q, history_value
from asmpg.gradients import reward_to_go
from asmpg.policies import ASMPolicy, TimeIndexedPolicy
from asmpg.theory._processes import (
    Enumeration,
    KernelFamily,
    enumerate_trajectories,
    flat,
    random_policy,
)
from asmpg.theory._row import Row, tightest

#: The weight `W_t` of the score at step `t`, for every trajectory.
Weights = Callable[[NMDP, Enumeration, ASMPolicy, float], Float[Array, "H N"]]
_ROUNDING = 1e-10
_STATES = 2


def return_weights(
    nmdp: NMDP, everything: Enumeration, policy: ASMPolicy, discount: float
) -> Float[Array, "H N"]:
    """`discount^(t-1) R_{t:H}`, as the library's training has it."""
    del nmdp, policy
    return reward_to_go(everything.episodes, discount=discount)


def q_weights(
    nmdp: NMDP, everything: Enumeration, policy: ASMPolicy, discount: float
) -> Float[Array, "H N"]:
    """`discount^(t-1) Q_t(O_{1:t}, A_{0:t}, S_t)`."""
    values = _q_values(policy, nmdp, jnp.asarray(discount))
    episodes = everything.episodes
    states, actions = np.asarray(episodes.states), np.asarray(episodes.actions)
    return jnp.asarray(
        [
            discount**time * np.asarray(q)[history, state, action]
            for time, (q, history, state, action) in enumerate(
                zip(values, everything.histories, states, actions, strict=True)
            )
        ]
    )


def past_weights(
    nmdp: NMDP, everything: Enumeration, policy: ASMPolicy, discount: float
) -> Float[Array, "H N"]:
    """`R_{1:t-1}`: what was earned before step `t`."""
    del nmdp, policy
    rewards = np.asarray(everything.episodes.rewards)
    paid = discount ** np.arange(len(rewards))[:, None] * rewards
    return jnp.asarray(np.cumsum(paid, axis=0) - paid)


def gradient_theorem(
    nmdps: Iterable[NMDP], *, claim: str, statement: str, discount: float, weights: Weights
) -> Row:
    """`grad J = E[sum_t W_t grad log pi]`, against automatic differentiation of the exact `J`."""

    def error(nmdp: NMDP, policy: ASMPolicy) -> float:
        everything = enumerate_trajectories(nmdp, num_states=_STATES)
        exact = np.asarray(exact_gradient(policy, nmdp, discount))
        stated = everything.expectation(policy, weights(nmdp, everything, policy, discount))
        return float(np.linalg.norm(stated - exact) / np.linalg.norm(exact))

    return tightest(
        Row(
            claim,
            statement,
            "relative distance of E[estimate] from the exact gradient",
            error(nmdp, policy),
            _ROUNDING,
            kind="identity",
        )
        for seed, nmdp in enumerate(nmdps)
        for policy in _policies(nmdp, seed, stationary=discount < 1)
    )


def baseline_lemma(nmdps: Iterable[NMDP], *, weights: Weights = past_weights) -> Row:
    """`E[R_{1:t-1} grad log pi(S_t, A_t | S_{t-1}, A_{t-1}, O_t)] = 0` for every `t`."""

    def largest(nmdp: NMDP, policy: ASMPolicy) -> float:
        everything = enumerate_trajectories(nmdp, num_states=_STATES)
        earlier = np.asarray(weights(nmdp, everything, policy, 1.0))
        only = np.eye(nmdp.horizon)[:, :, None]
        terms = [
            everything.expectation(policy, jnp.asarray(only[time] * earlier))
            for time in range(nmdp.horizon)
        ]
        return max(float(np.linalg.norm(term)) for term in terms)

    return tightest(
        Row(
            "rewards before t contribute nothing",
            "proof of Theorem 1 (the baseline lemma)",
            "largest |E[R_{1:t-1} score_t]| over t",
            largest(nmdp, policy),
            _ROUNDING,
            kind="identity",
        )
        for seed, nmdp in enumerate(nmdps)
        for policy in _policies(nmdp, seed, stationary=False)
    )


@eqx.filter_jit
def _gradient(policy: ASMPolicy, nmdp: NMDP, discount: Float[Array, ""]) -> Float[Array, " d"]:

    def value(policy: ASMPolicy) -> Float[Array, ""]:
        return history_value(nmdp, policy.tabulate(), discount=discount)

    return flat(eqx.filter_grad(value)(policy))


def exact_gradient(policy: ASMPolicy, nmdp: NMDP, discount: float) -> Float[Array, " d"]:
    """`grad J`, by automatic differentiation of the recursion over histories."""
    return _gradient(policy, nmdp, jnp.asarray(discount))


@eqx.filter_jit
def _q_values(
    policy: ASMPolicy, nmdp: NMDP, discount: Float[Array, ""]
) -> list[Float[Array, "_ S A"]]:
    return history_q(nmdp, policy.tabulate(), discount=discount)


def _policies(nmdp: NMDP, seed: int, *, stationary: bool) -> list[ASMPolicy]:
    """A joint and a factored softmax, with kernels of their own for each step where allowed."""
    sizes = (_STATES, nmdp.num_actions, nmdp.num_observations)
    factored, joint = KernelFamily("tabular", *sizes), KernelFamily("joint", *sizes)
    if stationary:
        return [factored.random(seed), joint.random(seed)]
    by_time = random_policy(
        lambda key: TimeIndexedPolicy(joint.make, horizon=nmdp.horizon, key=key), seed
    )
    return [factored.random(seed), by_time]
