"""How large an estimate can be, and what truncation costs."""

import dataclasses
from collections.abc import Iterable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from asmpg.environments import NMDP
from asmpg.experience import Experience
from asmpg.gradients import reward_to_go
from asmpg.policies import log_probability
from asmpg.theory._climb import climb, random_starts
from asmpg.theory._gradient_claims import exact_gradient
from asmpg.theory._processes import KernelFamily, enumerate_trajectories
from asmpg.theory._row import Row, tightest

#: A supremum that is approached at infinity is met up to rounding.
_ROUNDING = 1 + 1e-12
#: More trajectories than this are thinned out.
_MOST_TRAJECTORIES = 128


@dataclasses.dataclass(frozen=True)
class _EstimateNorm:
    """`|sum_t W_t grad log pi|` of a policy on one episode."""

    family: KernelFamily

    def __call__(
        self, parameters: Float[Array, " d"], episode: Experience, weights: Float[Array, " T"]
    ) -> Float[Array, ""]:
        def weighted(parameters: Float[Array, " d"]) -> Float[Array, ""]:
            tables = self.family.policy(parameters).tabulate()
            rows = tables.log_rows(episode.past, episode.observations, episode.states)
            log_pi = log_probability(tables.head, *rows, episode.states, episode.actions)
            return jnp.sum(weights * log_pi[:, 0])

        return jnp.linalg.norm(jax.grad(weighted)(parameters))


def estimate_bound(
    family: KernelFamily,
    *,
    horizon: int,
    discount: float,
    reward_bound: float,
    noise: float,
    statement: str,
    steps: int,
) -> Row:
    """`|g-hat| <= C / 2`, by gradient ascent on the policy for every trajectory.

    All rewards are `r_max`, the worst case.
    """
    nmdp = NMDP.from_functions(
        lambda observations, actions: np.full(family.num_observations, 1 / family.num_observations),
        lambda observations, actions: reward_bound,
        num_observations=family.num_observations,
        num_actions=family.num_actions,
        horizon=horizon,
    )
    episodes = enumerate_trajectories(nmdp, num_states=family.num_states).episodes
    weights = np.asarray(reward_to_go(episodes, discount=discount))
    # The last symbols vary fastest, and all symbols are alike: whole strides leave nothing out.
    stride = -(-episodes.states.shape[1] // _MOST_TRAJECTORIES)
    chosen = jnp.arange(0, episodes.states.shape[1], stride)
    every = jax.vmap(lambda trajectory: episodes.environments(trajectory[None]))(chosen)
    starts = random_starts(np.zeros(family.num_parameters), starts=len(chosen), seed=0)
    each = jnp.asarray(np.broadcast_to(weights[:, :1].T, (len(chosen), horizon)))
    values, _ = climb(_EstimateNorm(family), starts, given=(every, each), steps=steps)
    setting = "episodic" if discount == 1 else "discounted"
    return Row(
        f"{setting} estimate <= C / 2, {family.title}",
        statement,
        f"largest |g-hat| found over policies and trajectories, H = {horizon}",
        float(values.max()),
        noise / 2 * _ROUNDING,
    )


def truncation(
    nmdps: Iterable[NMDP],
    family: KernelFamily,
    *,
    steps: int,
    discount: float,
    bias: float,
) -> Row:
    """`|grad J_gamma - grad J_T|` when rewards after `T = steps` are cut off."""

    def cut(nmdp: NMDP) -> NMDP:
        kept = [
            rewards if time < steps else np.zeros_like(rewards)
            for time, rewards in enumerate(nmdp.rewards)
        ]
        return eqx.tree_at(lambda nmdp: nmdp.rewards, nmdp, tuple(kept))

    def lost(nmdp: NMDP, seed: int) -> float:
        policy = family.random(seed)
        whole, part = (exact_gradient(policy, each, discount) for each in (nmdp, cut(nmdp)))
        return float(np.linalg.norm(np.asarray(whole) - np.asarray(part)))

    return tightest(
        Row(
            "the cost of truncation",
            "proof of the Proposition behind Theorem 2",
            f"|grad J_gamma - grad J_T| at T = {steps}, gamma = {discount:g}",
            lost(nmdp, seed),
            bias,
        )
        for seed, nmdp in enumerate(nmdps)
    )
