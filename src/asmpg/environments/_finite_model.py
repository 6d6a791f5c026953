"""A finite partially observed model, written out in arrays."""

import hashlib
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike

_SUM_TOLERANCE = 1e-9


class FiniteModel:
    """Transition, observation, reward and start of a finite POMDP, in float64.

    Latent states `x`, actions `a`, observations `o`. Every pair `(x, a)` has up to `K` outcomes,
    listed in a fixed order (sampling follows that order with a single uniform number):

    - `successor[x, a, k]`, `probability[x, a, k]`, `reward[x, a, k]`: outcome `k`;
    - `observation[a, x', o]`: probability of seeing `o` on arriving in `x'` by `a`;
    - `start[x]` and `start_observation[x, o]`: the first latent state and what it shows;
    - `terminal[x]`: entering `x` ends the episode.

    Instances are immutable and compare by content.
    """

    successor: Int[np.ndarray, "X A K"]
    probability: Float[np.ndarray, "X A K"]
    reward: Float[np.ndarray, "X A K"]
    observation: Float[np.ndarray, "A X O"]
    start: Float[np.ndarray, " X"]
    start_observation: Float[np.ndarray, "X O"]
    terminal: Bool[np.ndarray, " X"]
    _digest: bytes

    def __init__(
        self,
        *,
        successor: ArrayLike,
        probability: ArrayLike,
        reward: ArrayLike,
        observation: ArrayLike,
        start: ArrayLike,
        terminal: ArrayLike | None = None,
        start_observation: ArrayLike | None = None,
    ):
        """Build from outcome lists.

        `reward` may omit the last axis if it does not depend on the outcome, and `observation` the
        first if it does not depend on the action; only in that second case may `start_observation`
        be omitted.
        """
        successors = np.array(successor, dtype=np.int64)
        if successors.ndim != 3:
            raise ValueError(f"successor must have shape [X, A, K], got {successors.shape}")
        states, actions, outcomes = successors.shape
        if successors.size == 0 or successors.min() < 0 or successors.max() >= states:
            raise ValueError(f"successor must hold states in [0, {states - 1}]")
        shape = (states, actions, outcomes)
        probabilities = _floats("probability", probability, [shape])
        _check_distributions("probability", probabilities)
        rewards = _floats("reward", reward, [shape, (states, actions)])
        if rewards.ndim == 2:
            rewards = np.broadcast_to(rewards[:, :, None], shape)
        observations = np.array(observation, dtype=np.float64)
        symbols = observations.shape[-1] if observations.ndim else 0
        observations = _floats(
            "observation", observations, [(actions, states, symbols), (states, symbols)]
        )
        _check_distributions("observation", observations)
        if observations.ndim == 2:
            if start_observation is None:
                start_observation = observations
            observations = np.broadcast_to(observations[None], (actions, states, symbols))
        elif start_observation is None:
            raise ValueError(
                "start_observation must be given when observation depends on the action"
            )
        starts = _floats("start", start, [(states,)])
        _check_distributions("start", starts)
        start_observations = _floats("start_observation", start_observation, [(states, symbols)])
        _check_distributions("start_observation", start_observations)
        ends = np.zeros(states, bool) if terminal is None else np.array(terminal, dtype=bool)
        if ends.shape != (states,):
            raise ValueError(f"terminal must have shape {(states,)}, got {ends.shape}")
        if starts[ends].any():
            raise ValueError("start must not give probability to a terminal state")
        self._set(
            successor=successors,
            probability=probabilities,
            reward=rewards,
            observation=observations,
            start=starts,
            start_observation=start_observations,
            terminal=ends,
        )

    @classmethod
    def from_arrays(
        cls,
        *,
        transition: ArrayLike,
        observation: ArrayLike,
        reward: ArrayLike,
        start: ArrayLike,
        terminal: ArrayLike | None = None,
        start_observation: ArrayLike | None = None,
    ) -> "FiniteModel":
        """Build from dense arrays: `transition[x, a, x']` and `reward[x, a]` or `[x, a, x']`."""
        dense = np.array(transition, dtype=np.float64)
        if dense.ndim != 3 or dense.shape[0] != dense.shape[2]:
            raise ValueError(f"transition must have shape [X, A, X], got {dense.shape}")
        _check_distributions("transition", dense)
        states, actions, _ = dense.shape
        rewards = _floats("reward", reward, [(states, actions, states), (states, actions)])
        outcomes = int((dense > 0).sum(axis=-1).max())
        # A stable sort puts the possible successors first and keeps them in ascending order.
        successor = np.argsort(dense == 0, axis=-1, kind="stable")[:, :, :outcomes]
        probability = np.take_along_axis(dense, successor, axis=-1)
        if rewards.ndim == 3:
            rewards = np.take_along_axis(rewards, successor, axis=-1)
        return cls(
            successor=successor,
            probability=probability,
            reward=rewards,
            observation=observation,
            start=start,
            terminal=terminal,
            start_observation=start_observation,
        )

    def _set(self, **arrays: np.ndarray) -> None:
        digest = hashlib.sha256()
        for name, array in arrays.items():
            array = np.ascontiguousarray(array)
            array.setflags(write=False)
            object.__setattr__(self, name, array)
            digest.update(f"{name}{array.shape}".encode())
            digest.update(array.tobytes())
        object.__setattr__(self, "_digest", digest.digest())

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"FiniteModel is immutable; {name} cannot be set")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FiniteModel) and self._digest == other._digest

    def __hash__(self) -> int:
        return hash(self._digest)

    def __repr__(self) -> str:
        return (
            f"FiniteModel(num_states={self.num_states}, num_actions={self.num_actions}, "
            f"num_observations={self.num_observations})"
        )

    @property
    def num_states(self) -> int:
        """Number of latent states, terminal ones included."""
        return self.successor.shape[0]

    @property
    def num_actions(self) -> int:
        return self.successor.shape[1]

    @property
    def num_observations(self) -> int:
        return self.observation.shape[2]

    @property
    def reward_bound(self) -> float:
        """The largest `|r|` any possible step from a non-terminal state can pay."""
        possible = (self.probability > 0) & ~self.terminal[:, None, None]
        return float(np.abs(self.reward[possible]).max(initial=0.0))

    @property
    def transition(self) -> Float[np.ndarray, "X A X"]:
        """The dense transition probabilities `transition[x, a, x']`."""
        dense = np.zeros((self.num_states, self.num_actions, self.num_states))
        x, a, _ = np.indices(self.successor.shape)
        np.add.at(dense, (x, a, self.successor), self.probability)
        return dense

    @property
    def expected_reward(self) -> Float[np.ndarray, "X A"]:
        """The mean reward of playing `a` in `x`."""
        return (self.probability * self.reward).sum(axis=-1)


def _floats(name: str, value: ArrayLike, shapes: list[tuple[int, ...]]) -> np.ndarray:
    array = np.array(value, dtype=np.float64)
    if array.shape not in shapes:
        accepted = " or ".join(str(shape) for shape in shapes)
        raise ValueError(f"{name} must have shape {accepted}, got {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got {array[~np.isfinite(array)][0]}")
    return array


def _check_distributions(name: str, array: np.ndarray) -> None:
    """Check that every row along the last axis is a probability distribution."""
    if (array < 0).any():
        index = tuple(int(i) for i in np.argwhere(array < 0)[0])
        raise ValueError(f"{name} must not be negative, got {array[index]:g} at {list(index)}")
    sums = array.sum(axis=-1)
    wrong = np.abs(sums - 1) > _SUM_TOLERANCE
    if wrong.any():
        index = tuple(int(i) for i in np.argwhere(wrong)[0])
        row = f"row {list(index)}" if index else "the whole"
        raise ValueError(
            f"{name} must sum to one along its last axis, but {row} sums to {sums[index]:.9g}"
        )
