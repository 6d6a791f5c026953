"""The compiled part of training: from one evaluation to the next."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from asmpg.environments import AbstractFiniteEnvironment, Environment
from asmpg.exact import ExactReturns, exact_returns
from asmpg.experience import play_for_returns
from asmpg.methods import Experience, Method, Metrics


class SeedState(eqx.Module):
    """All there is to one seed between two evaluations; training goes on from it exactly."""

    learner: Any
    key: Key[Array, ""]
    #: Evaluations have a stream of their own: more or fewer of them do not change training.
    evaluation_key: Key[Array, ""]
    steps: Int[Array, ""]
    episodes: Int[Array, ""]
    updates: Int[Array, ""]
    #: Whether every reward, observation and gradient so far was a finite number.
    finite: Bool[Array, ""]

    def after(self, learner: Any, key: Key[Array, ""], experience: Experience) -> "SeedState":
        """One update later."""
        return SeedState(
            learner,
            key,
            self.evaluation_key,
            self.steps + experience.steps,
            self.episodes + experience.episodes,
            self.updates + 1,
            self.finite & experience.finite,
        )


#: How good the policy is, and how the updates since the last evaluation went, by name.
#:
#: Returns are averages over fresh episodes; `reward_per_step` is pooled, all rewards over all
#: steps; `standard_error` is that of the return that is optimised. The exact values, for finite
#: models and finite memories, are free of noise, and NaN elsewhere. The method's own numbers are
#: averages over the updates since the last evaluation, NaN without one.
Evaluation = dict[str, Float[Array, ""]]
#: What every evaluation measures, whatever the method.
MEASURES = (
    "discounted_return",
    "undiscounted_return",
    "reward_per_step",
    "episode_length",
    "standard_error",
    "exact_discounted",
    "exact_undiscounted",
    "exact_reward_per_step",
)


class Program(eqx.Module):
    """Training of `method` on `environment`, one seed at a time, as pure compiled functions."""

    environment: Environment[Any]
    method: Method[Any]
    #: The length of the run: schedules follow the share of it that is done.
    total_steps: Int[Array, ""]
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
        nothing = {name: jnp.zeros(()) for name in self.method.metric_names}
        before = state.updates
        arrays, rest = eqx.partition(state, eqx.is_array)

        def unfinished(carry: tuple[SeedState, Metrics]) -> Bool[Array, ""]:
            state, _ = carry
            return (state.steps < until) & state.finite

        def update(carry: tuple[SeedState, Metrics]) -> tuple[SeedState, Metrics]:
            arrays, total = carry
            state, metrics = self._update(eqx.combine(arrays, rest))
            return eqx.filter(state, eqx.is_array), jax.tree.map(jnp.add, total, metrics)

        arrays, total = jax.lax.while_loop(unfinished, update, (arrays, nothing))
        state = eqx.combine(arrays, rest)
        average = jax.tree.map(lambda metric: metric / (state.updates - before), total)
        return state, self._evaluate(state) | average

    def _update(self, state: SeedState) -> tuple[SeedState, Metrics]:
        key, improve_key = jax.random.split(state.key)
        learner, experience, metrics = self.method.improve(
            self.environment, state.learner, improve_key, progress=self.progress(state)
        )
        return state.after(learner, key, experience), metrics

    def progress(self, state: SeedState) -> Float[Array, ""]:
        """The share of the run that is done."""
        return state.steps / self.total_steps

    @property
    def objective(self) -> tuple[str, str]:
        """What the return that is optimised is called among the metrics: sampled, and exact."""
        if self.method.return_discount == 1:
            return "undiscounted_return", "exact_undiscounted"
        return "discounted_return", "exact_discounted"

    def _evaluate(self, state: SeedState) -> Evaluation:
        returns = play_for_returns(
            self.environment,
            self.method.actor(state.learner, greedy=self.greedy),
            jax.random.fold_in(state.evaluation_key, state.updates),
            num_episodes=self.evaluation_episodes,
            discount=self.discount,
        )
        exact = self._exact(state)
        undiscounted = self.objective[0] == "undiscounted_return"
        optimised = returns.undiscounted if undiscounted else returns.discounted
        count = self.evaluation_episodes
        return {
            "discounted_return": returns.discounted.mean(),
            "undiscounted_return": returns.undiscounted.mean(),
            "reward_per_step": returns.reward_per_step,
            "episode_length": returns.lengths.mean(),
            "standard_error": jnp.std(optimised, ddof=1) / count**0.5
            if count > 1
            else jnp.full((), jnp.nan),
            "exact_discounted": jnp.asarray(exact.discounted),
            "exact_undiscounted": jnp.asarray(exact.undiscounted),
            "exact_reward_per_step": jnp.asarray(exact.reward_per_step),
        }

    def _exact(self, state: SeedState) -> ExactReturns:
        tables = self.method.tables(state.learner, greedy=self.greedy)
        if tables is None or not isinstance(self.environment, AbstractFiniteEnvironment):
            return ExactReturns(*(jnp.full((), jnp.nan) for _ in range(4)))
        return exact_returns(
            self.environment.model,
            tables,
            horizon=self.environment.max_steps,
            discount=self.discount,
        )
