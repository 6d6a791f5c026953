"""The compiled part of training: from one evaluation to the next."""

import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from asmpg.envs import AbstractFiniteEnvironment, Environment
from asmpg.exact import ExactReturns, exact_returns
from asmpg.methods import ASMPG, Learner, UpdateMetrics
from asmpg.policies import ASMPolicy, actor
from asmpg.training._rollout import play_episodes


class SeedState(eqx.Module):
    """All there is to one seed between two evaluations; training goes on from it exactly."""

    learner: Learner
    key: Key[Array, ""]
    #: Evaluations have a stream of their own: more or fewer of them do not change training.
    evaluation_key: Key[Array, ""]
    steps: Int[Array, ""]
    episodes: Int[Array, ""]
    updates: Int[Array, ""]
    #: Whether every reward, observation and gradient so far was a finite number.
    finite: Bool[Array, ""]


class Evaluation(eqx.Module):
    """How good the policy is, and how the updates since the last evaluation went.

    Returns are averages over fresh episodes; `reward_per_step` is pooled, all rewards over all
    steps. The exact values, for finite models, are free of noise, and NaN elsewhere. The last three
    are averages over the updates since the last evaluation, NaN where there was none.
    """

    discounted_return: Float[Array, ""]
    undiscounted_return: Float[Array, ""]
    reward_per_step: Float[Array, ""]
    episode_length: Float[Array, ""]
    exact_discounted: Float[Array, ""]
    exact_undiscounted: Float[Array, ""]
    exact_reward_per_step: Float[Array, ""]
    gradient_norm: Float[Array, ""]
    nu_entropy: Float[Array, ""]
    phi_entropy: Float[Array, ""]


class Program(eqx.Module):
    """Training of `method` on `environment`, one seed at a time, as pure compiled functions."""

    environment: Environment[Any]
    method: ASMPG
    evaluation_episodes: int = eqx.field(static=True, default=100)
    greedy: bool = eqx.field(static=True, default=False)
    discount: float = eqx.field(static=True, default=0.99)

    @eqx.filter_jit
    def start(self, seed: Int[Array, ""]) -> SeedState:
        """The state of `seed` before its first step."""
        learner_key, key, evaluation_key = jax.random.split(jax.random.key(seed), 3)
        zero = jnp.zeros((), jnp.int32)
        learner = self.method.initialise(self.environment, learner_key)
        return SeedState(learner, key, evaluation_key, zero, zero, zero, jnp.asarray(True))

    @eqx.filter_jit
    def advance(self, state: SeedState, until: Int[Array, ""]) -> tuple[SeedState, Evaluation]:
        """Update until at least `until` environment steps are done, then evaluate."""
        nothing = UpdateMetrics(*(jnp.zeros(()) for _ in range(3)))
        before = state.updates
        arrays, rest = eqx.partition(state, eqx.is_array)

        def unfinished(carry: tuple[SeedState, UpdateMetrics]) -> Bool[Array, ""]:
            state, _ = carry
            return (state.steps < until) & state.finite

        def update(
            carry: tuple[SeedState, UpdateMetrics],
        ) -> tuple[SeedState, UpdateMetrics]:
            arrays, total = carry
            state, metrics = self._update(eqx.combine(arrays, rest))
            return eqx.filter(state, eqx.is_array), jax.tree.map(jnp.add, total, metrics)

        arrays, total = jax.lax.while_loop(unfinished, update, (arrays, nothing))
        state = eqx.combine(arrays, rest)
        average = jax.tree.map(lambda metric: metric / (state.updates - before), total)
        return state, self._evaluate(state, average)

    def _update(self, state: SeedState) -> tuple[SeedState, UpdateMetrics]:
        key, play_key = jax.random.split(state.key)
        episodes = play_episodes(
            self.environment,
            actor(state.learner.policy),
            play_key,
            num_episodes=self.method.episodes_per_update,
        )
        learner, metrics = self.method.update(state.learner, episodes)
        data = (episodes.observations, episodes.rewards, metrics.gradient_norm)
        state = SeedState(
            learner,
            key,
            state.evaluation_key,
            state.steps + episodes.lengths.sum(),
            state.episodes + episodes.lengths.shape[0],
            state.updates + 1,
            state.finite & functools.reduce(jnp.logical_and, map(_all_finite, data)),
        )
        return state, metrics

    def _evaluate(self, state: SeedState, average: UpdateMetrics) -> Evaluation:
        key = jax.random.fold_in(state.evaluation_key, state.updates)
        policy = state.learner.policy
        episodes = play_episodes(
            self.environment,
            actor(policy, greedy=self.greedy),
            key,
            num_episodes=self.evaluation_episodes,
        )
        undiscounted = episodes.returns(1.0)
        exact = self._exact(policy)
        return Evaluation(
            discounted_return=episodes.returns(self.discount).mean(),
            undiscounted_return=undiscounted.mean(),
            reward_per_step=undiscounted.sum() / episodes.lengths.sum(),
            episode_length=episodes.lengths.mean(),
            exact_discounted=jnp.asarray(exact.discounted),
            exact_undiscounted=jnp.asarray(exact.undiscounted),
            exact_reward_per_step=jnp.asarray(exact.reward_per_step),
            gradient_norm=average.gradient_norm,
            nu_entropy=average.nu_entropy,
            phi_entropy=average.phi_entropy,
        )

    def _exact(self, policy: ASMPolicy) -> ExactReturns:
        if not isinstance(self.environment, AbstractFiniteEnvironment):
            return ExactReturns(*(jnp.full((), jnp.nan) for _ in range(4)))
        return exact_returns(
            self.environment.model,
            policy.tabulate(),
            horizon=self.environment.max_steps,
            discount=self.discount,
        )


def _all_finite(values: Array) -> Bool[Array, ""]:
    if not jnp.issubdtype(values.dtype, jnp.floating):
        return jnp.asarray(True)
    return jnp.isfinite(values).all()
