"""Sentences of the paper that do not hold as they are written, or need what they do not say.

Every function here shows one by example: its row is a gap if the example does what it should.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from asmpg.environments import NMDP, FiniteModel
from asmpg.policies import Encoding, MLPPolicy
from asmpg.theory._gradient_claims import exact_gradient
from asmpg.theory._ideal_state_claims import cart_pole_integrator
from asmpg.theory._processes import KernelFamily, random_policy
from asmpg.theory._row import Row

#: What an episode of the bandit below pays for each of its two arms.
_ARMS = (1.0, 0.5)
_UPDATES = 5000


def steps_that_look(
    *, weight: Callable[[Array], Array] = lambda arm: jnp.where(arm == 0, 0.5, 1.0)
) -> Row:
    """Part (c) for discounted processes says "any positive sequence"; it must not look ahead.

    A bandit with two arms, step sizes `weight(arm) k^-3/4`. They are positive, their sum is
    infinite, their squares are summable. If the better arm, which pays twice as much, gets half
    the step, the drift is zero everywhere, and the iterates stop at random places.
    """

    def run(key: Array, weight: Callable[[Array], Array]) -> Float[Array, ""]:
        def update(k: Int[Array, ""], logit: Float[Array, ""]) -> Float[Array, ""]:
            chance = jax.nn.sigmoid(logit)
            arm = (jax.random.uniform(jax.random.fold_in(key, k)) >= chance).astype(int)
            # Half the estimate's component along (1, -1), for the difference of the two logits.
            score = jnp.where(arm == 0, 1 - chance, -chance)
            return logit + 2 * weight(arm) * (k + 1.0) ** -0.75 * jnp.array(_ARMS)[arm] * score

        chance = jax.nn.sigmoid(jax.lax.fori_loop(0, _UPDATES, update, jnp.zeros(())))
        return jnp.sqrt(2.0) * chance * (1 - chance) * (_ARMS[0] - _ARMS[1])

    keys = jax.random.split(jax.random.key(0), 64)
    looked, blind = (
        float(np.median(jax.jit(jax.vmap(lambda key, w=w: run(key, w)))(keys)))
        for w in (weight, lambda arm: jnp.ones(()))
    )
    return Row(
        '(c) for "any positive sequence" of step sizes',
        "Theorem on discounted convergence (c)",
        f"median |grad J| after {_UPDATES} updates, steps chosen after the episode; limit: 3 times "
        "what steps fixed in advance reach",
        looked,
        3 * blind,
        kind="gap",
        note="step sizes must be fixed in advance, as the episodic Theorem says (deterministic)",
    )


def no_stationary_point(*, rewards: tuple[float, float] = _ARMS) -> Row:
    """The conclusion speaks of "the set of stationary points", which can be empty.

    In the bandit `|grad J| = sqrt 2 p (1 - p) |r_0 - r_1|` is positive for every `theta`. Gradient
    ascent drives it to zero by sending `theta` to infinity.
    """
    nmdp = NMDP.from_functions(
        lambda observations, actions: [1.0],
        lambda observations, actions: rewards[actions[-1]],
        num_observations=1,
        num_actions=2,
        horizon=1,
    )
    family = KernelFamily("joint", num_states=1, num_actions=2, num_observations=1)
    parameters = jnp.zeros(family.num_parameters)
    for _ in range(100):
        parameters = parameters + 10 * exact_gradient(family.policy(parameters), nmdp, 1.0)
    left = float(jnp.linalg.norm(exact_gradient(family.policy(parameters), nmdp, 1.0)))
    return Row(
        '"almost sure convergence to the set of stationary points"',
        "Conclusion",
        f"|grad J| after 100 exact steps in a bandit, |theta| = {jnp.linalg.norm(parameters):.1f}",
        left,
        0.0,
        kind="gap",
        note="softmax has no stationary point here: |grad J| -> 0, but theta goes to infinity",
    )


def networks(*, scale: float = 1000.0, bound: float) -> Row:
    """Assumptions 1 and 2 hold for tables; for the networks of the experiments no `G` exists."""
    policy = random_policy(
        lambda key: MLPPolicy(num_states=2, encoding=Encoding(2, 2), hidden=4, key=key),
        seed=0,
    )
    assert isinstance(policy, MLPPolicy)

    def output_weights(policy: MLPPolicy) -> tuple[Any, Any]:
        return policy.nu_layers[-1].weight, policy.phi_layers[-1].weight

    weights = tuple(scale * weight for weight in output_weights(policy))
    arrays, rest = eqx.partition(eqx.tree_at(output_weights, policy, weights), eqx.is_inexact_array)
    vector, unravel = jax.flatten_util.ravel_pytree(arrays)

    def log_pi(vector: Float[Array, " d"]) -> Float[Array, " n"]:
        tables = eqx.combine(unravel(vector), rest).tabulate()
        return (tables.log_nu[..., None] + tables.log_phi).ravel()

    scores = np.linalg.norm(jax.jit(jax.jacrev(log_pi))(vector), axis=-1)
    return Row(
        "Assumption 1 for the networks of the experiments",
        "Assumptions 1 and 2; Section on experiments",
        f"largest |grad log pi| of a small network, output weights times {scale:g}; limit: G of "
        "tables",
        float(scores.max()),
        bound,
        kind="gap",
        note="no convergence statement covers the paper's networks (nor Adam, nor the barrier)",
    )


def truncation_in_the_experiments(*, discount: float = 0.99, steps: int = 200) -> Row:
    """Truncate "such that `gamma^(t-1)` is negligibly small"; at 200 steps of 0.99 it is not."""
    return Row(
        "the discarded tail is negligible",
        "Section on discounted processes; Section on experiments",
        f"share of the largest possible gradient beyond {steps} steps, gamma = {discount:g}: "
        "gamma^T (1 + T (1 - gamma))",
        discount**steps * (1 + steps * (1 - discount)),
        0.01,
        kind="gap",
        note=f"gamma^T is {discount**steps:.3f}: the experiments maximise a truncated return",
    )


def unknown_start(*, seeds: range, start_range: float = 0.05) -> Row:
    """The integrator needs "initial positions known"; the environment draws and hides them."""
    row = cart_pole_integrator(seeds=seeds, known_start=False, start_range=start_range)
    return dataclasses.replace(
        row,
        claim="the integrator in VelocityOnlyCartPole as it is",
        what=f"largest error with the hidden first positions, up to {start_range}, taken as zero",
        kind="gap",
        note="the error stays what it was at the start; a real number also needs infinite S",
    )


def joint_kernels_do_not_factor(
    *,
    reward: Callable[[int, int], float] = lambda observation, action: float(observation == action),
) -> Row:
    """The softmax of the appendix is wider than ASM policies: its action may look at the input.

    With one agent state and one step, a joint kernel picks the best action for each observation,
    and `nu phi` the best action for all of them.
    """
    nmdp = NMDP.from_functions(
        lambda observations, actions: [0.5, 0.5],
        lambda observations, actions: reward(observations[-1], actions[-1]),
        num_observations=2,
        num_actions=2,
        horizon=1,
    )
    rewards = nmdp.rewards[0]
    joint = float(nmdp.start @ rewards.max(axis=1))
    factored = float((nmdp.start @ rewards).max())
    return Row(
        '"softmax ASM policies" are ASM policies',
        "Properties of softmax ASM policies",
        "sup J of the joint softmax minus sup J of nu phi, one agent state, one step",
        joint - factored,
        0.0,
        kind="gap",
        note="theorems hold for both; pi(s, a | x) = nu(s | x) phi(a | s) does not",
    )


def rewards_of_a_pomdp(model: FiniteModel, *, horizon: int) -> Row:
    """In a POMDP `r_t` depends on the latent state: it is no function of the history."""
    nmdp = NMDP.from_model(model, horizon=horizon)
    squares = FiniteModel(
        successor=model.successor,
        probability=model.probability,
        reward=model.reward**2,
        observation=model.observation,
        start=model.start,
        start_observation=model.start_observation,
        terminal=model.terminal,
    )
    mean_squares = NMDP.from_model(squares, horizon=horizon).rewards
    spread = max(
        float(np.sqrt(np.maximum(square - mean**2, 0)).max())
        for mean, square in zip(nmdp.rewards, mean_squares, strict=True)
    )
    return Row(
        "a POMDP is an NMDP with rewards r_t(O_{1:t}, A_{1:t})",
        "Section on episodic NMDPs; remark on examples",
        "largest standard deviation of the reward given history and action, Tiger",
        spread,
        0.0,
        kind="gap",
        note="r_t must be read as the mean reward given the history; J is the same",
    )
