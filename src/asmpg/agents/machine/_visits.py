"""How often a machine meets each of its inputs: exactly on finite models, sampled elsewhere."""

import dataclasses

import numpy as np
from jaxtyping import Bool, Float, Int

from asmpg.environments import FiniteModel
from asmpg.experience import Experience

#: Larger joint distributions of latent states and inputs are sampled instead.
MOST_CELLS = 20_000_000


@dataclasses.dataclass(frozen=True, eq=False)
class Visits:
    """Expected numbers per episode.

    - `start[o]`: the first observation is `o`; these sum to one;
    - `inputs[s, a, o]`: `o` follows action `a` in agent state `s`;
    - `latent[s, x]`: the agent acts in state `s` while the environment is in latent state `x`;
      `None` where these were sampled;
    - `observed[0, s]` and `observed[1, s]`: mean and standard deviation of the observations that
      the agent acts on in state `s`; `None` where they are finite;
    - `overruled[s]`: the share of the visits to `s` at which the agent's most probable action is
      not that of the machine, as it knows more, say a window; `None` where the machine knows all.
    """

    start: Float[np.ndarray, " O"]
    inputs: Float[np.ndarray, "S A O"]
    latent: Float[np.ndarray, "S X"] | None = None
    observed: Float[np.ndarray, "2 S d"] | None = None
    overruled: Float[np.ndarray, " S"] | None = None

    @property
    def exact(self) -> bool:
        """Whether a zero means never."""
        return self.latent is not None

    def restricted(self, kept: Bool[np.ndarray, " S"]) -> "Visits":
        """Those of the states that are `kept`."""
        latent, overruled = (
            None if part is None else part[kept] for part in (self.latent, self.overruled)
        )
        observed = None if self.observed is None else self.observed[:, kept]
        return Visits(self.start, self.inputs[kept], latent, observed, overruled)

    @property
    def steps(self) -> float:
        """How many times the agent acts in an episode."""
        return float(self.start.sum() + self.inputs.sum())


def fits(model: FiniteModel, num_states: int) -> bool:
    """Whether exact visits are affordable."""
    size = model.num_states * model.num_actions * (model.num_observations + model.num_states)
    return size * num_states <= MOST_CELLS


def exact_visits(
    model: FiniteModel,
    start: Float[np.ndarray, "O S"],
    update: Float[np.ndarray, "S A O S"],
    control: Float[np.ndarray, "C S A"],
    *,
    horizon: int,
) -> Visits:
    """Push `d_t(x, s, a)`, the joint distribution while the episode runs, through `horizon` steps.

    An input `(s, a, o)` is met `sum_t sum_{x, x'} d_t(x, s, a) T(x'|x, a) O(o|a, x')` times.
    """
    states, actions, symbols, _ = update.shape
    alive = np.flatnonzero(~model.terminal)
    transition = model.transition[alive][:, :, alive]
    seen = np.moveaxis(model.observation[:, alive], 0, 1)  # [x', a, o]
    # kernel[s, a, o, s', a'], and the same for the first step.
    kernel = update[..., None] * control
    first = model.start[alive, None] * model.start_observation[alive]
    begin = start[..., None] * control
    distribution = np.einsum("xo,osa->xsa", first, begin)
    inputs, latent = np.zeros((states, actions, symbols)), np.zeros((states, len(alive)))
    flat = kernel.reshape(states * actions * symbols, states * actions)
    for step in range(horizon):
        latent += distribution.sum(axis=2).T
        arrived = np.einsum("xsa,xay->ysa", distribution, transition, optimize=True)
        if step == horizon - 1 or not arrived.any():
            break
        met = arrived[..., None] * seen[:, None]
        inputs += met.sum(axis=0)
        distribution = (met.reshape(len(alive), -1) @ flat).reshape(-1, states, actions)
    everywhere = np.zeros((states, model.num_states))
    everywhere[:, alive] = latent
    return Visits(first.sum(axis=0), inputs, everywhere)


def sampled_visits(
    played: Experience,
    symbols: np.ndarray,
    *,
    num_states: int,
    num_actions: int,
    num_symbols: int,
    observations: Float[np.ndarray, "T N d"] | None = None,
) -> Visits:
    """Count in whole episodes; `symbols` are their observations `[time, episode]`, numbered.

    Real `observations` are what was numbered.
    """
    valid = np.asarray(played.valid)
    state, action = (np.asarray(part) for part in (played.memories.state, played.actions))
    episodes = valid.shape[1]
    first = np.bincount(symbols[0][valid[0]], minlength=num_symbols) / episodes
    inputs = np.zeros((num_states, num_actions, num_symbols))
    later = valid[1:]
    np.add.at(inputs, (state[:-1][later], action[:-1][later], symbols[1:][later]), 1 / episodes)
    observed = None
    if observations is not None:
        observed = _moments(observations[valid].astype(float), state[valid], num_states)
    return Visits(first.astype(float), inputs, observed=observed)


def _moments(
    observations: Float[np.ndarray, "n d"], state: Int[np.ndarray, " n"], num_states: int
) -> Float[np.ndarray, "2 S d"]:
    """Mean and standard deviation in each state; zeros where it is not visited."""
    counts = np.maximum(np.bincount(state, minlength=num_states), 1)

    def means(columns: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "S d"]:
        sums = [np.bincount(state, column, num_states) for column in columns.T]
        return np.stack(sums, axis=-1) / counts[:, None]

    mean = means(observations)
    return np.stack([mean, np.sqrt(means((observations - mean[state]) ** 2))])
