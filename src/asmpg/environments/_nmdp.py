"""A finite non-Markovian decision process, written out over all its histories."""

import itertools
from collections.abc import Callable, Sequence

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float
from numpy.typing import ArrayLike

from asmpg._support.checks import check_integer, check_number
from asmpg.environments._finite_environment import FiniteEnvironment
from asmpg.environments._finite_model import FiniteModel

Symbols = tuple[int, ...]
_MOST_HISTORIES = 200_000


class NMDP(eqx.Module):
    """The episodic process `(O, A, {p_t}, {r_t}, H)`: everything may depend on the whole history.

    A history `h_t = (o_1, a_1, ..., a_{t-1}, o_t)` is a number: `o_1` at first, and
    `(h_t A + a_t) O + o_{t+1}` one step on. With `n_t = O^t A^(t-1)` histories at step `t`,

    - `start[o]` is `mu(o)`;
    - `transitions[t-1][h, a, o]` is `p_t(o | h, a)`, for `t = 1, ..., H - 1`;
    - `rewards[t-1][h, a]` is `r_t(h, a)`, for `t = 1, ..., H`.
    """

    start: Float[Array | np.ndarray, " O"]
    transitions: tuple[Float[Array | np.ndarray, "_ A O"], ...]
    rewards: tuple[Float[Array | np.ndarray, "_ A"], ...]

    @classmethod
    def from_functions(
        cls,
        transition: Callable[[Symbols, Symbols], ArrayLike],
        reward: Callable[[Symbols, Symbols], float],
        *,
        num_observations: int,
        num_actions: int,
        horizon: int,
    ) -> "NMDP":
        """Call `transition` and `reward` on every history.

        `transition((o_1, ..., o_t), (a_1, ..., a_t))` is the distribution of `o_{t+1}`, and that of
        `o_1` if both tuples are empty; `reward` of the same arguments is `r_t`.
        """
        check_integer("num_observations", num_observations, low=1)
        check_integer("num_actions", num_actions, low=1)
        check_integer("horizon", horizon, low=1)
        most = (num_observations * num_actions) ** horizon
        if most > _MOST_HISTORIES:
            raise ValueError(
                f"horizon must leave at most {_MOST_HISTORIES} histories with their actions, "
                f"got {most} for horizon={horizon}"
            )
        transitions, rewards = [], []
        for steps in range(1, horizon + 1):
            played = [
                (tuple(both[0::2]), tuple(both[1::2]))
                for both in itertools.product(
                    *([range(num_observations), range(num_actions)] * steps)
                )
            ]
            paid = [check_number("reward", float(reward(*history))) for history in played]
            rewards.append(np.array(paid).reshape(-1, num_actions))
            if steps < horizon:
                rows = [_distribution(transition, *history, num_observations) for history in played]
                transitions.append(np.array(rows).reshape(-1, num_actions, num_observations))
        start = _distribution(transition, (), (), num_observations)
        return cls(start, tuple(transitions), tuple(rewards))

    @classmethod
    def random(
        cls,
        seed: int,
        *,
        num_observations: int = 2,
        num_actions: int = 2,
        horizon: int,
        reward_bound: float = 1.0,
    ) -> "NMDP":
        """Distributions drawn uniformly and rewards uniform in `+-reward_bound`.

        Both are drawn independently for every history, so that no shorter memory is enough.
        """
        generator = np.random.default_rng(seed)
        return cls.from_functions(
            lambda observations, actions: generator.dirichlet(np.ones(num_observations)),
            lambda observations, actions: generator.uniform(-reward_bound, reward_bound),
            num_observations=num_observations,
            num_actions=num_actions,
            horizon=horizon,
        )

    @classmethod
    def from_model(cls, model: FiniteModel, *, horizon: int) -> "NMDP":
        """A finite POMDP as it appears to an observer of its observations alone.

        `r_t` is the mean reward given the history. The model must not have terminal states.
        """
        if model.terminal.any():
            raise ValueError("model must not have terminal states")
        arrive = np.einsum("xay,ayo->aoxy", model.transition, model.observation)

        def joint(observations: Symbols, actions: Symbols) -> Float[np.ndarray, " X"]:
            """`P(o_{1:t}, X_t = x | a_{1:t-1})`."""
            weights = model.start * model.start_observation[:, observations[0]]
            for action, symbol in zip(actions, observations[1:], strict=False):
                weights = weights @ arrive[action, symbol]
            return weights

        def belief(observations: Symbols, actions: Symbols) -> Float[np.ndarray, " X"]:
            weights = joint(observations, actions)
            # What cannot happen may be followed by anything.
            return weights / weights.sum() if weights.any() else model.start

        def transition(observations: Symbols, actions: Symbols) -> Float[np.ndarray, " O"]:
            if not observations:
                return model.start @ model.start_observation
            now = belief(observations, actions)
            return np.einsum("x,oxy->o", now, arrive[actions[-1]])

        return cls.from_functions(
            transition,
            lambda observations, actions: float(
                belief(observations, actions) @ model.expected_reward[:, actions[-1]]
            ),
            num_observations=model.num_observations,
            num_actions=model.num_actions,
            horizon=horizon,
        )

    @property
    def horizon(self) -> int:
        return len(self.rewards)

    @property
    def num_observations(self) -> int:
        return len(self.start)

    @property
    def num_actions(self) -> int:
        return self.rewards[0].shape[1]

    @property
    def reward_bound(self) -> float:
        """`r_max`: the largest reward, in absolute value."""
        return max(float(np.abs(rewards).max()) for rewards in self.rewards)

    def model(self) -> FiniteModel:
        """As a finite model whose latent states are the histories, and one for the end."""
        symbols, actions = self.num_observations, self.num_actions
        sizes = [len(rewards) for rewards in self.rewards]
        end = sum(sizes)
        successor = np.full((end + 1, actions, symbols), end)
        probability = np.zeros(successor.shape)
        probability[..., 0] = 1.0
        first = 0
        for size, following in zip(sizes[:-1], self.transitions, strict=True):
            here, first = slice(first, first + size), first + size
            successor[here] = first + np.arange(following.size).reshape(following.shape)
            probability[here] = following
        shown = np.concatenate([np.arange(size) % symbols for size in [*sizes, 1]])
        return FiniteModel(
            successor=successor,
            probability=probability,
            reward=np.concatenate([*self.rewards, np.zeros((1, actions))]),
            observation=np.eye(symbols)[shown],
            start=np.concatenate([self.start, np.zeros(end + 1 - symbols)]),
            terminal=np.arange(end + 1) == end,
        )

    def environment(self, *, label: str = "NMDP") -> FiniteEnvironment:
        """To be played and trained on: the latent state is the history."""
        return FiniteEnvironment(self.model(), max_steps=self.horizon, label=label)


def _distribution(
    transition: Callable[[Symbols, Symbols], ArrayLike],
    observations: Symbols,
    actions: Symbols,
    num_observations: int,
) -> Float[np.ndarray, " O"]:
    given: Sequence[float] | np.ndarray = np.asarray(transition(observations, actions), float)
    if given.shape != (num_observations,) or (given < 0).any() or abs(given.sum() - 1) > 1e-9:
        raise ValueError(
            f"transition must give {num_observations} probabilities that sum to one, "
            f"got {given.tolist()} for {observations}, {actions}"
        )
    return given
