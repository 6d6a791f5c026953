"""Learning from one batch: the losses, and several passes in minibatches of whole sequences."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, Key

from asmpg.experience import Segment
from asmpg.methods._method import Metrics, Progress
from asmpg.methods.critics import Critic
from asmpg.policies import ActionLaws, HistoryPolicy


class Batch(eqx.Module):
    """A segment with all that is held fixed while learning from it."""

    segment: Segment
    #: What policy and critic remembered before the first row.
    memory: Any
    critic_memory: Float[Array, "N d"]
    #: `log p(a_t)` under the policy that played.
    log_probability: Float[Array, "T N"]
    advantages: Float[Array, "T N"]
    #: What the critic is to say, in units of the scale.
    targets: Float[Array, "T N"]

    def environments(self, chosen: Int[Array, " M"]) -> "Batch":
        """The part of some of the environments."""
        starts = (self.memory, self.critic_memory)
        rows = (self.log_probability, self.advantages, self.targets)
        return Batch(
            self.segment.environments(chosen),
            *jax.tree.map(lambda leaf: leaf[chosen], starts),
            *(leaf[:, chosen] for leaf in rows),
        )


def policy_loss(
    policy: HistoryPolicy, batch: Batch, *, clip: float, entropy: float
) -> tuple[Float[Array, ""], tuple[ActionLaws, Metrics]]:
    """`-E min(rho A, clip(rho, 1 +- clip) A) - entropy E H(p)`, with `rho = p(a) / p_old(a)`."""
    segment = batch.segment
    laws = policy.laws(batch.memory, segment.past, segment.observations, segment.actions)
    difference = laws.log_probability(segment.actions) - batch.log_probability
    ratio = jnp.exp(difference)
    within = jnp.clip(ratio, 1 - clip, 1 + clip)
    gains = jnp.minimum(ratio * batch.advantages, within * batch.advantages)
    gain = mean_over_steps(gains, segment.valid)
    spreads = -jnp.sum(jnp.exp(laws.log_laws) * laws.log_laws, axis=-1)
    spread = mean_over_steps(spreads, segment.valid)
    outside = (jnp.abs(ratio - 1) > clip).astype(ratio.dtype)
    metrics = {
        "entropy": spread,
        "divergence": mean_over_steps(ratio - 1 - difference, segment.valid),
        "clipped": mean_over_steps(outside, segment.valid),
    }
    return -gain - entropy * spread, (laws, metrics)


def critic_loss(critic: Critic, batch: Batch, laws: ActionLaws) -> Float[Array, ""]:
    """Half the mean squared error."""
    values = critic.values(batch.critic_memory, batch.segment, laws)
    return 0.5 * mean_over_steps(jnp.square(values.now - batch.targets), batch.segment.valid)


def mean_over_steps(
    values: Float[Array, "T N"], valid: Bool[Array, "T N"] | None
) -> Float[Array, ""]:
    """The mean over the steps that were played: all of them where nothing else is said."""
    if valid is None:
        return values.mean()
    return jnp.sum(jnp.where(valid, values, 0.0)) / jnp.maximum(valid.sum(), 1)


def standardised(
    advantages: Float[Array, "T N"], valid: Bool[Array, "T N"] | None
) -> Float[Array, "T N"]:
    """Mean 0 and standard deviation 1 over the steps that were played."""
    if valid is None:
        return (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    centred = advantages - mean_over_steps(advantages, valid)
    return centred / (jnp.sqrt(mean_over_steps(jnp.square(centred), valid)) + 1e-8)


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
