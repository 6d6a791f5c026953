"""The two losses of a minibatch."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from asmpg.methods._method import Metrics
from asmpg.methods.ppo._critic import Critic
from asmpg.policies import ActionLaws, HistoryPolicy
from asmpg.rollouts import Segment


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
