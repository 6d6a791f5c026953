"""Learning from one batch: several passes over it, in minibatches of whole sequences."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Int, Key

from asmpg.methods._method import Metrics, Progress
from asmpg.methods.ppo._critic import Critic
from asmpg.methods.ppo._loss import Batch, critic_loss, policy_loss
from asmpg.policies import HistoryPolicy


class Trained(eqx.Module):
    """What the passes change."""

    policy: HistoryPolicy
    critic: Critic
    policy_optimiser: optax.OptState
    critic_optimiser: optax.OptState


class Passes(NamedTuple):
    """How a batch is learned from."""

    epochs: int
    minibatches: int
    clip: float
    entropy: float
    divergence_limit: float | None
    policy_steps: optax.GradientTransformation
    critic_steps: optax.GradientTransformation

    def start(self, policy: HistoryPolicy, critic: Critic) -> Trained:
        """Before the first step of either optimiser."""
        return Trained(
            policy,
            critic,
            self.policy_steps.init(eqx.filter(policy, eqx.is_inexact_array)),
            self.critic_steps.init(eqx.filter(critic, eqx.is_inexact_array)),
        )

    def run(
        self, trained: Trained, batch: Batch, key: Key[Array, ""], *, rate: Progress = 1.0
    ) -> tuple[Trained, Metrics]:
        """All passes, the steps of the policy multiplied by `rate`.

        The policy stops where it has diverged too far from the one that played.
        """
        environments = batch.advantages.shape[1]
        order = jax.vmap(lambda key: jax.random.permutation(key, environments))(
            jax.random.split(key, self.epochs)
        ).reshape(self.epochs * self.minibatches, -1)
        arrays, rest = eqx.partition(trained, eqx.is_array)

        def step(
            carry: tuple[Any, Bool[Array, ""]], chosen: Int[Array, " M"]
        ) -> tuple[tuple[Any, Bool[Array, ""]], Metrics]:
            arrays, stopped = carry
            trained, metrics = self._step(
                eqx.combine(arrays, rest), batch.environments(chosen), stopped, rate
            )
            if self.divergence_limit is not None:
                stopped = stopped | (metrics["divergence"] > self.divergence_limit)
            return (eqx.filter(trained, eqx.is_array), stopped), metrics

        (arrays, _), metrics = jax.lax.scan(step, (arrays, jnp.asarray(False)), order)
        return eqx.combine(arrays, rest), jax.tree.map(jnp.mean, metrics)

    def _step(
        self, trained: Trained, batch: Batch, stopped: Bool[Array, ""], rate: Progress
    ) -> tuple[Trained, Metrics]:
        """One step of the policy, unless `stopped`, and one of the critic."""
        gradient, (laws, metrics) = eqx.filter_grad(policy_loss, has_aux=True)(
            trained.policy, batch, clip=self.clip, entropy=self.entropy
        )
        step, optimiser = self.policy_steps.update(gradient, trained.policy_optimiser)
        step = jax.tree.map(lambda part: rate * part, step)
        climbed = (eqx.apply_updates(trained.policy, step), optimiser)
        policy, policy_optimiser = jax.tree.map(
            lambda new, old: jnp.where(stopped, old, new) if eqx.is_array(new) else new,
            climbed,
            (trained.policy, trained.policy_optimiser),
        )
        value_error, slope = eqx.filter_value_and_grad(critic_loss)(trained.critic, batch, laws)
        step, critic_optimiser = self.critic_steps.update(slope, trained.critic_optimiser)
        critic = eqx.apply_updates(trained.critic, step)
        metrics = {
            "gradient_norm": optax.tree.norm(gradient),
            **metrics,
            "value_error": value_error,
        }
        return Trained(policy, critic, policy_optimiser, critic_optimiser), metrics
