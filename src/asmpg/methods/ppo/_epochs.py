"""Learning from one batch: the losses, and several passes in minibatches of whole sequences."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, Key

from asmpg.experience import Experience
from asmpg.methods._method import Metrics
from asmpg.methods.critics import Critic
from asmpg.policies import ActionDistributions, HistoryPolicy, Number


class Batch(eqx.Module):
    """Experience with all that is held fixed while learning from it."""

    experience: Experience
    #: What the critic remembered before the first row.
    critic_memory: Float[Array, "N d"]
    #: `log p(a_t)` under the policy that played.
    log_probability: Float[Array, "T N"]
    advantages: Float[Array, "T N"]
    #: Their standard deviation, before they were divided by it.
    spread: Float[Array, ""]
    #: What the critic is to say, in units of the scale.
    targets: Float[Array, "T N"]

    def environments(self, chosen: Int[Array, " M"]) -> "Batch":
        """The part of some of the environments."""
        return Batch(
            self.experience.environments(chosen),
            self.critic_memory[chosen],
            self.log_probability[:, chosen],
            self.advantages[:, chosen],
            self.spread,
            self.targets[:, chosen],
        )


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
    clip_range: Number
    entropy_coefficient: Number
    target_kl: Number | None
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
        self, trained: Trained, batch: Batch, key: Key[Array, ""], *, rate: Number = 1.0
    ) -> tuple[Trained, Metrics]:
        """All passes, the steps of the policy multiplied by `rate`.

        The policy stops where its approximate KL from the one that played exceeds `target_kl`.
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
            if self.target_kl is not None:
                stopped = stopped | (metrics["approximate_kl"] > self.target_kl)
            return (eqx.filter(trained, eqx.is_array), stopped), metrics

        (arrays, _), metrics = jax.lax.scan(step, (arrays, jnp.asarray(False)), order)
        return eqx.combine(arrays, rest), jax.tree.map(jnp.mean, metrics)

    def _step(
        self, trained: Trained, batch: Batch, stopped: Bool[Array, ""], rate: Number
    ) -> tuple[Trained, Metrics]:
        """One step of the policy, unless `stopped`, and one of the critic."""
        gradient, (distributions, metrics) = eqx.filter_grad(self._policy_loss, has_aux=True)(
            trained.policy, batch
        )
        step, optimiser = self.policy_steps.update(gradient, trained.policy_optimiser)
        step = jax.tree.map(lambda part: rate * part, step)
        climbed = (eqx.apply_updates(trained.policy, step), optimiser)
        if self.target_kl is not None:
            climbed = jax.tree.map(
                lambda new, old: jnp.where(stopped, old, new) if eqx.is_array(new) else new,
                climbed,
                (trained.policy, trained.policy_optimiser),
            )
        policy, policy_optimiser = climbed
        value_loss, slope = eqx.filter_value_and_grad(_critic_loss)(
            trained.critic, batch, distributions
        )
        step, critic_optimiser = self.critic_steps.update(slope, trained.critic_optimiser)
        critic = eqx.apply_updates(trained.critic, step)
        metrics = {
            "gradient_norm": optax.tree.norm(gradient),
            **metrics,
            "value_loss": value_loss,
        }
        return Trained(policy, critic, policy_optimiser, critic_optimiser), metrics

    def _policy_loss(
        self, policy: HistoryPolicy, batch: Batch
    ) -> tuple[Float[Array, ""], tuple[ActionDistributions, Metrics]]:
        """`-E min(rho A, clip(rho, 1 +- clip_range) A) - c E H(p)`, with `rho = p(a) / p_old(a)`.

        `c` is the entropy coefficient.
        """
        experience, valid = batch.experience, batch.experience.valid
        distributions = distributions_along(policy, experience)
        difference = distributions.log_probability - batch.log_probability
        ratio = jnp.exp(difference)
        within = jnp.clip(ratio, 1 - self.clip_range, 1 + self.clip_range)
        gains = jnp.minimum(ratio * batch.advantages, within * batch.advantages)
        entropy = mean_over_steps(distributions.entropy, valid)
        outside = (jnp.abs(ratio - 1) > self.clip_range).astype(ratio.dtype)
        metrics = {
            "entropy": entropy,
            "approximate_kl": mean_over_steps(ratio - 1 - difference, valid),
            "clip_fraction": mean_over_steps(outside, valid),
        }
        loss = -mean_over_steps(gains, valid) - self.entropy_coefficient * entropy
        return loss, (distributions, metrics)


def distributions_along(policy: HistoryPolicy, experience: Experience) -> ActionDistributions:
    """The distributions of actions at each step of what was played."""
    return policy.distributions(
        experience.start,
        experience.past,
        experience.observations,
        experience.actions,
        experience.masks,
    )


def _critic_loss(
    critic: Critic, batch: Batch, distributions: ActionDistributions
) -> Float[Array, ""]:
    """Half the mean squared error."""
    values = critic.values(batch.critic_memory, batch.experience, distributions)
    return 0.5 * mean_over_steps(jnp.square(values.now - batch.targets), batch.experience.valid)


def mean_over_steps(values: Float[Array, "T N"], valid: Bool[Array, "T N"]) -> Float[Array, ""]:
    """The mean over the steps that were played."""
    return jnp.sum(jnp.where(valid, values, 0.0)) / jnp.maximum(valid.sum(), 1)


def standardised(
    advantages: Float[Array, "T N"], valid: Bool[Array, "T N"]
) -> tuple[Float[Array, "T N"], Float[Array, ""]]:
    """Mean 0 and standard deviation 1 over the steps that were played; what it was before."""
    centred = advantages - mean_over_steps(advantages, valid)
    spread = jnp.sqrt(mean_over_steps(jnp.square(centred), valid))
    return centred / (spread + 1e-8), spread
