"""What AIS minimises: prediction losses for the information state, REINFORCE for the policy."""

from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.lax import stop_gradient
from jaxtyping import Array, Bool, Float, Int, Shaped

from asmpg._support.checks import check_one_of
from asmpg.experience import Experience
from asmpg.gradients import STANDARDISE, Standardise, standardised
from asmpg.methods.ais._networks import MIXTURE_COMPONENTS, AISNetworks, LSTMState


class Segments(eqx.Module):
    """`N` columns of `T` steps, time first; every column holds one segment of an episode or more.

    Row `t` holds `o_t`, `a_t`, the reward `r_t` and the observation `o_{t+1}` they led to (also
    where the episode ended or was cut there), and whether that ended the episode. A segment starts
    where `first` (row 0 is always a start) and runs up to the next start, the end of the batch, or
    the first row that is not `valid`. Rows that are not valid are padding: they must be finite,
    and mean nothing. `starts` holds the recurrent states that the segments started from; only its
    rows at `first` are read.
    """

    observations: Shaped[Array, "T N *observation"]
    actions: Int[Array, "T N"]
    rewards: Float[Array, "T N"]
    next_observations: Shaped[Array, "T N *observation"]
    terminated: Bool[Array, "T N"]
    first: Bool[Array, "T N"]
    valid: Bool[Array, "T N"]
    starts: LSTMState

    @classmethod
    def from_experience(cls, experience: Experience) -> "Segments":
        """Of what an `AISActor` played."""
        return cls(
            experience.observations,
            experience.actions,
            experience.rewards,
            experience.next_observations,
            experience.terminated,
            experience.first,
            experience.valid,
            experience.memories.start,
        )

    @property
    def last(self) -> Bool[Array, "T N"]:
        """The last valid step of every segment: termination, truncation, or end of the batch."""
        goes_on = self.valid[1:] & ~self.first[1:]
        return self.valid & ~jnp.concatenate([goes_on, jnp.zeros_like(self.valid[:1])])

    @property
    def previous_actions(self) -> Int[Array, "T N"]:
        """`a_{t-1}`; means nothing at `first`."""
        return jnp.roll(self.actions, 1, axis=0)

    @property
    def previous_rewards(self) -> Float[Array, "T N"]:
        """`r_{t-1}`; means nothing at `first`."""
        return jnp.roll(self.rewards, 1, axis=0)

    def returns(self, discount: float | Float[Array, ""]) -> Float[Array, "T N"]:
        """`G_t = r_t + discount (1 - last_t) G_{t+1}`: nothing is added at a cut."""
        rewards = jnp.where(self.valid, self.rewards, 0.0)

        def step(
            following: Float[Array, " N"], row: tuple[Array, Array]
        ) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
            reward, last = row
            total = reward + discount * jnp.where(last, 0.0, following)
            return total, total

        rows = (rewards, self.last)
        _, returns = jax.lax.scan(step, jnp.zeros_like(rewards[0]), rows, reverse=True)
        return returns


ReturnBaseline = Literal["none", "batch-mean"]
#: Log-scales of the Gaussian mixture stay between minus and plus this.
_LOG_SCALE_BOUND = 5.0
#: The losses that are reported.
_PARTS = ("reward_loss", "observation_loss", "ais_loss", "policy_loss")
#: How many steps of every column are differentiated at once.
_BLOCK = 16


class WeightedSteps(eqx.Module):
    """What the losses need of each step: what was seen and done, and what it counts for."""

    observations: Shaped[Array, "T N *observation"]
    actions: Int[Array, "T N"]
    rewards: Float[Array, "T N"]
    next_observations: Shaped[Array, "T N *observation"]
    previous_actions: Int[Array, "T N"]
    previous_rewards: Float[Array, "T N"]
    first: Bool[Array, "T N"]
    valid: Bool[Array, "T N"]
    starts: LSTMState
    reward_share: Float[Array, "T N"]
    observation_share: Float[Array, "T N"]
    advantages: Float[Array, "T N"]


def weigh_steps(
    segments: Segments,
    *,
    discount: float | Float[Array, ""],
    predict_terminal_observation: bool = False,
    return_baseline: ReturnBaseline = "none",
    standardise: Standardise = "none",
) -> WeightedSteps:
    """What each step counts in the means over steps, and its advantage `G_t - b`.

    Rewards are predicted at all steps. Observations are predicted at the steps that another one
    follows in their segment: as in the reference, the observation that comes with the end of a
    segment is not, unless `predict_terminal_observation`. The baseline `b` is 0, or the mean of all
    `G_t` (`"batch-mean"`). To `standardise` is to subtract the mean and divide by the deviation, of
    the whole batch or of each segment.
    """
    check_one_of("return_baseline", return_baseline, ("none", "batch-mean"))
    check_one_of("standardise", standardise, STANDARDISE)
    valid = segments.valid
    predicted = valid if predict_terminal_observation else valid & ~segments.last
    advantages = segments.returns(discount)
    if return_baseline == "batch-mean":
        advantages = advantages - jnp.sum(advantages * _shares(valid))
    if standardise != "none":
        advantages = standardised(advantages, valid, segments.first, over=standardise)
    return WeightedSteps(
        segments.observations,
        segments.actions,
        segments.rewards,
        segments.next_observations,
        segments.previous_actions,
        segments.previous_rewards,
        segments.first,
        valid,
        segments.starts,
        _shares(valid),
        _shares(predicted),
        jnp.where(valid, advantages, 0.0),
    )


def ais_loss(
    networks: AISNetworks, steps: WeightedSteps, reward_weight: float | Float[Array, ""]
) -> tuple[Float[Array, ""], dict[str, Float[Array, ""]]]:
    """The sum of the two losses of AIS, `L_AIS + L_pi`, and its parts.

    - `L_AIS = w L_r + (1 - w) L_o` with `w = reward_weight` trains encoder and heads, through the
      whole segment. `L_r` is the mean of `(rhat_t - r_t)^2`, `L_o` that of `observation_loss` (0 if
      nothing is to be predicted).
    - `L_pi = -sum_t log pi(a_t | z_t) (G_t - b)` trains the policy alone: no gradient passes
      through `z_t`.

    The losses share no parameters, so one gradient step on the sum is one on each.
    """
    parts, _ = _losses(networks, _blank(networks, steps), steps, reward_weight)
    return parts["ais_loss"] + parts["policy_loss"], parts


def ais_gradient(
    networks: AISNetworks, steps: WeightedSteps, reward_weight: float | Float[Array, ""]
) -> tuple[AISNetworks, dict[str, Float[Array, ""]]]:
    """The gradient of `ais_loss`, and its parts, in time that depends on the longest column.

    The padding behind its end is left out: the encoder runs forward block by block, as far as there
    are valid steps, and the gradient comes back the same way, each block encoded once more.
    """
    blocks = jax.tree.map(_cut, steps)
    used = steps.valid.any(axis=1)
    needed = (jnp.max(jnp.where(used, jnp.arange(1, len(used) + 1), 0)) + _BLOCK - 1) // _BLOCK

    def block(index: Int[Array, ""]) -> WeightedSteps:
        return jax.tree.map(lambda leaf: leaf[index], blocks)

    def forward(
        index: Int[Array, ""], carry: tuple[LSTMState, LSTMState]
    ) -> tuple[LSTMState, LSTMState]:
        state, starts = carry
        starts = jax.tree.map(lambda rows, row: rows.at[index].set(row), starts, state)
        return _encode(networks, state, block(index))[0], starts

    blank = _blank(networks, steps)
    starts = jax.tree.map(
        lambda leaf: jnp.zeros((len(blocks.first), *leaf.shape), leaf.dtype), blank
    )
    _, starts = jax.lax.fori_loop(0, needed, forward, (blank, starts))

    def objective(
        learned: tuple[AISNetworks, LSTMState], index: Int[Array, ""], slope: LSTMState
    ) -> tuple[Float[Array, ""], dict[str, Float[Array, ""]]]:
        parts, end = _losses(*learned, block(index), reward_weight)
        later = jnp.vdot(slope.hidden, end.hidden) + jnp.vdot(slope.cell, end.cell)
        return parts["ais_loss"] + parts["policy_loss"] + later, parts

    def backward(done: Int[Array, ""], carry: tuple[Any, LSTMState]) -> tuple[Any, LSTMState]:
        total, slope = carry
        index = needed - 1 - done
        start = jax.tree.map(lambda rows: rows[index], starts)
        (gradient, slope), parts = eqx.filter_grad(objective, has_aux=True)(
            (networks, start), index, slope
        )
        return jax.tree.map(jnp.add, total, (gradient, parts)), slope

    zero = jax.tree.map(jnp.zeros_like, eqx.filter(networks, eqx.is_inexact_array))
    no_parts = dict.fromkeys(_PARTS, jnp.zeros((), blank.hidden.dtype))
    return jax.lax.fori_loop(0, needed, backward, ((zero, no_parts), blank))[0]


def encode_segments(networks: AISNetworks, segments: Segments) -> Float[Array, "T N d"]:
    """`z_t` of every step; starting a segment afresh also cuts the gradient through time."""
    return _encode(networks, _blank(networks, segments), segments)[1]


def _shares(chosen: Bool[Array, "T N"]) -> Float[Array, "T N"]:
    """What each step counts in a mean over those chosen; nothing at all if there are none."""
    return chosen / jnp.maximum(chosen.sum(), 1)


def _cut(rows: Shaped[Array, "T N *rest"]) -> Shaped[Array, "blocks B N *rest"]:
    """The rows in blocks of the same length, the last one filled up with zeros."""
    missing = -len(rows) % _BLOCK
    filled = jnp.concatenate([rows, jnp.zeros((missing, *rows.shape[1:]), rows.dtype)])
    return filled.reshape(-1, _BLOCK, *rows.shape[1:])


def _blank(networks: AISNetworks, steps: Segments | WeightedSteps) -> LSTMState:
    """A recurrent state to carry before the first segment starts; it is never read."""
    nothing = jnp.zeros(
        (steps.first.shape[1], networks.dimension), networks.encoder.lstm.input_bias.dtype
    )
    return LSTMState(nothing, nothing)


def _encode(
    networks: AISNetworks, state: LSTMState, steps: Segments | WeightedSteps
) -> tuple[LSTMState, Float[Array, "T N d"]]:
    """The recurrent state after the steps, and `z_t` of each."""
    drive = networks.drive(
        steps.observations, steps.previous_actions, steps.previous_rewards, steps.first
    )

    def step(
        state: LSTMState, row: tuple[Array, Array, LSTMState]
    ) -> tuple[LSTMState, Float[Array, "N d"]]:
        drive, first, start = row
        state = jax.tree.map(lambda a, b: jnp.where(first[:, None], a, b), start, state)
        state = networks.encoder.lstm.advance(state, drive)
        return state, state.hidden

    return jax.lax.scan(step, state, (drive, steps.first, steps.starts))


def _losses(
    networks: AISNetworks,
    state: LSTMState,
    steps: WeightedSteps,
    reward_weight: float | Float[Array, ""],
) -> tuple[dict[str, Float[Array, ""]], LSTMState]:
    """What the steps add to each loss, going on from `state`, and the state they end in."""
    state, z = _encode(networks, state, steps)
    reward, output = networks.predict(z, steps.actions)
    target = networks.encode_observation(steps.next_observations)
    log_policy = networks.log_policy(stop_gradient(z))
    log_taken = jnp.take_along_axis(log_policy, steps.actions[..., None], axis=-1)[..., 0]
    reward_loss = jnp.sum(steps.reward_share * jnp.square(reward - steps.rewards))
    observation = jnp.sum(steps.observation_share * observation_loss(networks, output, target))
    parts = (
        reward_loss,
        observation,
        reward_weight * reward_loss + (1 - reward_weight) * observation,
        -jnp.sum(log_taken * steps.advantages),
    )
    return dict(zip(_PARTS, parts, strict=True)), state


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
    discrete = networks.encoding.num_observations is not None
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
