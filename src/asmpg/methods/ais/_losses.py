"""What AIS minimises: prediction losses for the information state, REINFORCE for the policy."""

from typing import Literal

import jax
import jax.numpy as jnp
from jax.lax import stop_gradient
from jaxtyping import Array, Bool, Float

from asmpg._check import check_one_of
from asmpg.methods.ais._networks import MIXTURE_COMPONENTS, AISNetworks, LSTMState
from asmpg.methods.ais._segments import Segments

ReturnBaseline = Literal["none", "batch-mean"]
#: Log-scales of the Gaussian mixture stay between minus and plus this.
_LOG_SCALE_BOUND = 5.0


def ais_loss(
    networks: AISNetworks,
    segments: Segments,
    *,
    discount: float | Float[Array, ""],
    reward_weight: float | Float[Array, ""],
    predict_terminal_observation: bool = False,
    return_baseline: ReturnBaseline = "none",
) -> tuple[Float[Array, ""], dict[str, Float[Array, ""]]]:
    """The sum of the two losses of AIS, `L_AIS + L_pi`, and its parts.

    - `L_AIS = w L_r + (1 - w) L_o` with `w = reward_weight` trains encoder and heads, through the
      whole segment. `L_r` is the mean over all steps of `(rhat_t - r_t)^2`. `L_o` is the mean of
      `observation_loss` over the steps that another one follows in their segment (0 if there is
      none): as in the reference, the observation that comes with the end of a segment is not
      predicted, unless `predict_terminal_observation`.
    - `L_pi = -sum_t log pi(a_t | z_t) (G_t - b)` trains the policy alone: no gradient passes
      through `z_t`. The baseline `b` is 0, or the mean of all `G_t` (`"batch-mean"`).

    The losses share no parameters, so one gradient step on the sum is one on each.
    """
    check_one_of("return_baseline", return_baseline, ("none", "batch-mean"))
    valid = segments.valid
    z = encode_segments(networks, segments)
    reward, output = networks.predict(z, segments.actions)
    reward_loss = _mean(jnp.square(reward - segments.rewards), valid)
    predicted = valid if predict_terminal_observation else valid & ~segments.last
    target = networks.encode_observation(segments.next_observations)
    observation = _mean(observation_loss(networks, output, target), predicted)
    state_loss = reward_weight * reward_loss + (1 - reward_weight) * observation

    log_policy = networks.log_policy(stop_gradient(z))
    log_taken = jnp.take_along_axis(log_policy, segments.actions[..., None], axis=-1)[..., 0]
    advantages = segments.returns(discount)
    if return_baseline == "batch-mean":
        advantages = advantages - _mean(advantages, valid)
    policy_loss = -jnp.sum(jnp.where(valid, log_taken * advantages, 0.0))
    parts = {
        "reward_loss": reward_loss,
        "observation_loss": observation,
        "ais_loss": state_loss,
        "policy_loss": policy_loss,
    }
    return state_loss + policy_loss, parts


def encode_segments(networks: AISNetworks, segments: Segments) -> Float[Array, "T N d"]:
    """`z_t` of every step; starting a segment afresh also cuts the gradient through time."""
    drive = networks.drive(
        segments.observations, segments.previous_actions, segments.previous_rewards, segments.first
    )

    def step(
        state: LSTMState, row: tuple[Array, Array, LSTMState]
    ) -> tuple[LSTMState, Float[Array, "N d"]]:
        drive, first, start = row
        state = jax.tree.map(lambda a, b: jnp.where(first[:, None], a, b), start, state)
        state = networks.encoder.lstm.advance(state, drive)
        return state, state.hidden

    rows = (drive, segments.first, segments.starts)
    nothing = jnp.zeros((drive.shape[1], networks.dimension), drive.dtype)
    return jax.lax.scan(step, LSTMState(nothing, nothing), rows)[1]


def observation_loss(
    networks: AISNetworks, output: Float[Array, "*batch outputs"], target: Float[Array, "*batch n"]
) -> Float[Array, "*batch"]:
    """How badly the observation head's `output` predicts `target`, step by step.

    - MMD, with the kernel induced by the squared distance, needs the predicted mean `m` only:
      `2 |m|^2 - 4 <m, target>`. `m` is the softmax of the output for one-hot targets (this is twice
      the Brier score, less 2), and the output itself for real ones.
    - KL is the negative log-likelihood, which is KL up to a constant: of the softmax, or for real
      targets of a mixture of Gaussians, `gaussian_mixture_loss`.
    """
    discrete = networks.num_observations is not None
    if networks.variant == "mmd":
        mean = jax.nn.softmax(output) if discrete else output
        return 2 * jnp.sum(mean**2, axis=-1) - 4 * jnp.sum(mean * target, axis=-1)
    if discrete:
        return -jnp.sum(target * jax.nn.log_softmax(output), axis=-1)
    return gaussian_mixture_loss(output, target)


def gaussian_mixture_loss(
    output: Float[Array, "*batch outputs"], target: Float[Array, "*batch n"]
) -> Float[Array, "*batch"]:
    """`-log sum_k w_k prod_j N(target_j; mean_kj, scale_kj)`, five components.

    `output` holds the logits of `w`, then all means, then all raw log-scales `s`; the log-scales
    are `5 tanh(s / 5)`. Scales thus stay between 0.0067 and 148 (in units of the target), which
    keeps the likelihood of a certain observation finite and its gradient smooth; the sum over the
    components is a log-sum-exp.
    """
    components, size = MIXTURE_COMPONENTS, target.shape[-1]
    shape = (*target.shape[:-1], 2, components, size)
    log_weight = jax.nn.log_softmax(output[..., :components])
    mean, raw = jnp.moveaxis(output[..., components:].reshape(shape), -3, 0)
    log_scale = _LOG_SCALE_BOUND * jnp.tanh(raw / _LOG_SCALE_BOUND)
    distance = (target[..., None, :] - mean) * jnp.exp(-log_scale)
    log_density = -0.5 * distance**2 - log_scale - 0.5 * jnp.log(2 * jnp.pi)
    return -jax.nn.logsumexp(log_weight + log_density.sum(axis=-1), axis=-1)


def _mean(values: Float[Array, "T N"], where: Bool[Array, "T N"]) -> Float[Array, ""]:
    """The mean over the steps chosen; 0 if there are none."""
    return jnp.sum(jnp.where(where, values, 0.0)) / jnp.maximum(where.sum(), 1)
