"""A finite model as its solvers want it: sparse, without terminal states, with simple bounds.

Beliefs are weights over latent states. Weight that terminates is lost, so that they need not sum to
one; every bound below is homogeneous: twice the weight is worth twice as much.
"""

import dataclasses
import functools
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from asmpg._support.checks import check_number
from asmpg.environments import FiniteModel

if TYPE_CHECKING:
    import scipy.sparse


@dataclasses.dataclass(frozen=True)
class SparseProcess:
    """`transition[a]` sparse `[X, X]`, `observation[a, x', o]`, `reward[x, a]` and `discount`.

    `starts[i]` are the weights of the latent states together with the first observation `i`, for
    those observations that can come first: what is known when the first action is picked.
    """

    transition: "tuple[scipy.sparse.csr_array, ...]"
    observation: Float[np.ndarray, "A X O"]
    reward: Float[np.ndarray, "X A"]
    starts: Float[np.ndarray, "n X"]
    first_symbols: tuple[int, ...]
    discount: float

    @classmethod
    def of(cls, model: FiniteModel, discount: float) -> "SparseProcess":
        import scipy.sparse

        check_number("discount", discount, low=0, high=1)
        if discount == 1:
            raise ValueError("discount must be below 1 over an infinite horizon, got 1")
        alive = np.flatnonzero(~model.terminal)
        number = np.full(model.num_states, -1)
        number[alive] = np.arange(len(alive))
        size = len(alive)
        matrices = []
        for action in range(model.num_actions):
            successor, probability = (
                model.successor[alive, action],
                model.probability[alive, action],
            )
            x, k = np.nonzero((probability > 0) & ~model.terminal[successor])
            entries = (probability[x, k], (x, number[successor[x, k]]))
            matrices.append(scipy.sparse.csr_array(entries, shape=(size, size)))
        starts = (model.start[:, None] * model.start_observation)[alive].T
        first = np.flatnonzero(starts.any(axis=1))
        return cls(
            tuple(matrices),
            model.observation[:, alive],
            model.expected_reward[alive],
            starts[first],
            tuple(first.tolist()),
            float(discount),
        )

    @functools.cached_property
    def arriving(self) -> "scipy.sparse.csr_array":
        """All transitions, transposed, one below the other: from weights to weights at once."""
        import scipy.sparse

        return scipy.sparse.csr_array(
            scipy.sparse.vstack([matrix.T.tocsr() for matrix in self.transition], format="csr")
        )

    @functools.cached_property
    def _shown(self) -> Float[np.ndarray, "A O X"]:
        return np.ascontiguousarray(self.observation.transpose(0, 2, 1))

    @functools.cached_property
    def joint(self) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray], ...]:
        """For each action, all `(x, x', o)` that can happen and `T(x'|x, a) O(o|a, x')`."""
        found = []
        for matrix, shown in zip(self.transition, self.observation, strict=True):
            entries = matrix.tocoo()
            x, y = entries.coords
            edge, symbol = np.nonzero(shown[y])
            weight = entries.data[edge] * shown[y[edge], symbol]
            found.append((x[edge], y[edge], symbol, weight))
        return tuple(found)

    @property
    def num_states(self) -> int:
        return self.reward.shape[0]

    @property
    def num_actions(self) -> int:
        return self.reward.shape[1]

    @property
    def num_observations(self) -> int:
        return self.observation.shape[2]

    def arrivals(self, belief: Float[np.ndarray, " X"]) -> Float[np.ndarray, "A O X"]:
        """The weights after every action and observation: `sum_x b(x) T(x'|x, a) O(o|a, x')`."""
        moved = (self.arriving @ belief).reshape(self.num_actions, 1, self.num_states)
        return moved * self._shown

    def full_state_values(self) -> Float[np.ndarray, "X A"]:
        """`Q(x, a)` of one who sees the latent state, by policy iteration: the QMDP bound.

        `Q` is an upper bound up to rounding: what is left of Bellman's residual is added to it.
        """
        import scipy.sparse.linalg

        states = np.arange(self.num_states)
        choice = self.reward.argmax(axis=1)
        values, quality = np.zeros(self.num_states), self.reward
        for _ in range(1000):
            chosen = sum(
                scipy.sparse.diags_array((choice == action).astype(float)) @ matrix
                for action, matrix in enumerate(self.transition)
            )
            system = scipy.sparse.eye_array(self.num_states) - self.discount * chosen
            values = np.asarray(
                scipy.sparse.linalg.spsolve(system.tocsc(), self.reward[states, choice])
            ).reshape(self.num_states)
            quality = self._looking_ahead(values)
            better = quality.max(axis=1) > quality[states, choice] + 1e-12 * np.abs(values).max()
            if not better.any():
                break
            choice = np.where(better, quality.argmax(axis=1), choice)
        residual = max(0.0, float((quality.max(axis=1) - values).max()))
        return quality + residual / (1 - self.discount)

    def _looking_ahead(self, values: Float[np.ndarray, " X"]) -> Float[np.ndarray, "X A"]:
        following = np.stack([matrix @ values for matrix in self.transition], axis=1)
        return self.reward + self.discount * following

    def fast_informed_values(
        self, quality: Float[np.ndarray, "X A"], *, iterations: int = 2000, tolerance: float = 1e-4
    ) -> Float[np.ndarray, "X A"]:
        """The fast informed bound, from a bound `quality` that it only lowers.

        `Q(x, a) = r(x, a) + gamma sum_o max_{a'} sum_{x'} T(x'|x, a) O(o|a, x') Q(x', a')`. Every
        iterate is an upper bound; `tolerance` is relative.
        """
        for _ in range(iterations):
            new = np.empty_like(quality)
            for action, matrix in enumerate(self.transition):
                seen = self.observation[action][:, :, None] * quality[:, None, :]
                following = matrix @ seen.reshape(self.num_states, -1)
                best = following.reshape(seen.shape).max(axis=2).sum(axis=1)
                new[:, action] = self.reward[:, action] + self.discount * best
            new = np.minimum(new, quality)
            change = float((quality - new).max())
            quality = new
            if change <= tolerance * (1 - self.discount) * (1e-9 + np.abs(quality).max()):
                break
        return quality

    def blind_values(self) -> Float[np.ndarray, "A X"]:
        """The value of playing one action for ever, for each: lower bounds."""
        import scipy.sparse.linalg

        identity = scipy.sparse.eye_array(self.num_states)
        return np.stack(
            [
                np.asarray(
                    scipy.sparse.linalg.spsolve(
                        (identity - self.discount * matrix).tocsc(), self.reward[:, action]
                    )
                ).reshape(self.num_states)
                for action, matrix in enumerate(self.transition)
            ]
        )
