"""Bounds on the best value of a finite model, by point-based value iteration.

Trials in the manner of heuristic search value iteration (Smith and Simmons, 2005): from the start,
follow the action that the upper bound likes best and the observation behind which the bounds differ
most, then back up both bounds on the way back. The lower bound is made of vectors, each the value
of a plan: an action, and another vector for each observation. Now and then it is backed up at
beliefs of all trials, as in Perseus (Spaan and Vlassis, 2005): a vector that raises several of them
spares the others, and nothing has to be asked of the upper bound, which costs most of the time.
"""

import dataclasses
import time
from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int

from asmpg._support.checks import check_number
from asmpg.environments import FiniteModel
from asmpg.exact._sawtooth import Sawtooth
from asmpg.exact._sparse_process import SparseProcess

#: Observations less likely than this are not followed.
_UNLIKELY = 1e-12
_DEEPEST = 400
#: Trials from one backup of the corners of the sawtooth to the next.
_BETWEEN_CORNERS = 10
#: How many times the beliefs of one sweep of the lower bound there are at the next.
_GROWTH_BETWEEN_SWEEPS = 1.05


@dataclasses.dataclass(frozen=True)
class Plan:
    """A vector of the lower bound: play `action`, then go on with plan `successor[o]`."""

    action: int
    successor: Int[np.ndarray, " O"]


@dataclasses.dataclass(frozen=True)
class ValueBounds:
    """What is known of the best value, over an infinite horizon.

    `lower` is reached by a plan, no policy does better than `upper`. `full_state` and
    `fast_informed` are the upper bounds that the search began with. The vectors of the lower
    bound are worth `vectors[i] @ belief` by following `plans[numbers[i]]`; plans refer to each
    other by number. `beliefs` are those that were visited.
    """

    lower: float
    upper: float
    full_state: float
    fast_informed: float
    seconds: float
    trials: int
    vectors: Float[np.ndarray, "V X"] = dataclasses.field(repr=False)
    numbers: tuple[int, ...] = dataclasses.field(repr=False)
    plans: tuple[Plan, ...] = dataclasses.field(repr=False)
    beliefs: Float[np.ndarray, "B X"] = dataclasses.field(repr=False)

    @property
    def gap(self) -> float:
        return self.upper - self.lower


def value_bounds(
    model: FiniteModel,
    *,
    discount: float,
    seconds: float = 60.0,
    relative_gap: float = 0.001,
    max_trials: int | None = None,
    progress: Callable[[float, float], object] | None = None,
) -> ValueBounds:
    """Bound the best value of `model` from both sides, until they meet or time is up.

    They have met when they differ by `relative_gap` of the larger one. `progress` is called after
    every trial with the lower and the upper bound. The same number of trials gives the same bounds.
    """
    check_number("seconds", seconds, low=0)
    check_number("relative_gap", relative_gap, low=0)
    started = time.monotonic()
    search = PointBasedSearch(SparseProcess.of(model, discount))
    trials = 0
    while True:
        lower, upper = search.lower, search.upper
        if progress is not None:
            progress(lower, upper)
        met = upper - lower <= relative_gap * max(abs(lower), abs(upper))
        late = time.monotonic() - started >= seconds or trials == max_trials
        if met or late:
            break
        search.trial(until=started + seconds)
        trials += 1
    return ValueBounds(
        lower=search.lower,
        upper=search.upper,
        full_state=search.full_state,
        fast_informed=search.fast_informed,
        seconds=time.monotonic() - started,
        trials=trials,
        vectors=search.vectors.copy(),
        numbers=tuple(search.numbers),
        plans=tuple(search.plans),
        beliefs=search.ceiling.points.copy(),
    )


class PointBasedSearch:
    """The two bounds, and the trials that tighten them."""

    def __init__(self, process: SparseProcess):
        self.process = process
        quality = process.full_state_values()
        self.full_state = float((process.starts @ quality.max(axis=1)).sum())
        quality = process.fast_informed_values(quality)
        self.fast_informed = float((process.starts @ quality).max(axis=1).sum())
        self.ceiling = Sawtooth(quality.max(axis=1))
        self._quality = quality
        blind = process.blind_values()
        self.plans = [
            Plan(action, np.full(process.num_observations, action))
            for action in range(process.num_actions)
        ]
        self.numbers = list(range(len(blind)))
        self._vectors, self._size = blind.copy(), len(blind)
        self._trials = 0
        self._next_pruning = 200
        self._next_sweep = 0.0
        self._next_ceiling_pruning = 1000
        weights = process.starts.sum(axis=1)
        self._roots = process.starts / weights[:, None]
        self._root_weights = weights
        for root in self._roots:
            self._update(root)

    @property
    def vectors(self) -> Float[np.ndarray, "V X"]:
        return self._vectors[: self._size]

    @property
    def lower(self) -> float:
        return float(self._root_weights @ self._floor(self._roots))

    @property
    def upper(self) -> float:
        return float(self._root_weights @ self._ceiling(self._roots))

    def trial(self, until: float = np.inf) -> None:
        """One descent from the start, and backups on the way back."""
        gaps = self._ceiling(self._roots) - self._floor(self._roots)
        root = int((self._root_weights * gaps).argmax())
        belief, wanted = self._roots[root], 0.95 * float(gaps[root])
        path = []
        for _ in range(_DEEPEST):
            wanted /= self.process.discount if self.process.discount else np.inf
            arrivals, ceiling = self._look(belief)
            path.append(belief)
            action = int(ceiling.argmax())
            following = arrivals[action]
            weights = following.sum(axis=1)
            differ = self._ceiling(following) - self._floor(following)
            excess = np.where(weights > _UNLIKELY, differ - wanted * weights, -np.inf)
            symbol = int(excess.argmax())
            if excess[symbol] <= 0 or time.monotonic() > until:
                break
            belief = _cleaned(following[symbol] / weights[symbol])
        for belief in reversed(path):
            self._update(belief)
        self._trials += 1
        if self._trials % _BETWEEN_CORNERS == 0:
            self._lower_corners()
        if self.ceiling.num_points >= self._next_sweep:
            self._sweep(until)
            self._next_sweep = _GROWTH_BETWEEN_SWEEPS * self.ceiling.num_points
        if self._size >= self._next_pruning:
            self._prune()

    def _lower_corners(self) -> None:
        """Back up the upper bound where the state is known: all beliefs lie between these."""
        corners = np.eye(self.process.num_states)
        self.ceiling.lower_corners(np.array([self._look(each)[1].max() for each in corners]))

    def _sweep(self, until: float) -> None:
        """Back up the lower bound at the beliefs of all trials, in random order.

        Those that a vector made for another one has raised already are left out.
        """
        beliefs = self.ceiling.points
        before = self._floor(beliefs)
        left = np.random.default_rng(self._trials).permutation(len(beliefs))
        while len(left) and time.monotonic() <= until:
            belief, left = beliefs[left[0]], left[1:]
            if self._raise_floor(belief, self.process.arrivals(belief)):
                left = left[beliefs[left] @ self._vectors[self._size - 1] <= before[left]]

    def _floor(self, beliefs: Float[np.ndarray, "m X"]) -> Float[np.ndarray, " m"]:
        return (beliefs @ self.vectors.T).max(axis=1)

    def _ceiling(self, beliefs: Float[np.ndarray, "m X"]) -> Float[np.ndarray, " m"]:
        informed = (beliefs @ self._quality).max(axis=1)
        return np.minimum(self.ceiling.values(beliefs), informed)

    def _look(
        self, belief: Float[np.ndarray, " X"]
    ) -> tuple[Float[np.ndarray, "A O X"], Float[np.ndarray, " A"]]:
        """The weights one step ahead, and the upper bound on the value of each action."""
        process = self.process
        arrivals = process.arrivals(belief)
        paid = belief @ process.reward
        # Cheap bounds for all actions first; the sawtooth for those that may yet be the best.
        cheap = (arrivals @ self._quality).max(axis=2).sum(axis=1)
        bound, refined = paid + process.discount * cheap, np.zeros(len(paid), bool)
        while not refined[action := int(bound.argmax())]:
            possible = arrivals[action].any(axis=1)
            following = float(self._ceiling(arrivals[action][possible]).sum())
            bound[action] = paid[action] + process.discount * following
            refined[action] = True
        return arrivals, bound

    def _update(self, belief: Float[np.ndarray, " X"]) -> None:
        """Back up both bounds at `belief`."""
        arrivals, ceiling = self._look(belief)
        self.ceiling.add(belief, float(ceiling.max()))
        self._raise_floor(belief, arrivals)

    def _raise_floor(
        self, belief: Float[np.ndarray, " X"], arrivals: Float[np.ndarray, "A O X"]
    ) -> bool:
        """Back up the lower bound at `belief`; whether that gave a new vector."""
        process = self.process
        # The best vector after every action and observation, then the best action.
        worth = arrivals.reshape(-1, process.num_states) @ self.vectors.T
        best = worth.argmax(axis=1).reshape(arrivals.shape[:2])
        reached = worth.max(axis=1).reshape(arrivals.shape[:2]).sum(axis=1)
        values = belief @ process.reward + process.discount * reached
        action = int(values.argmax())
        if values[action] <= (belief @ self.vectors.T).max() + 1e-10 * (1 + abs(values[action])):
            return False
        seen = np.einsum("yo,oy->y", process.observation[action], self.vectors[best[action]])
        vector = process.reward[:, action] + process.discount * (process.transition[action] @ seen)
        self._append(vector, Plan(action, np.asarray(self.numbers)[best[action]]))
        return True

    def _append(self, vector: Float[np.ndarray, " X"], plan: Plan) -> None:
        if self._size == len(self._vectors):
            self._vectors = np.concatenate([self._vectors, np.zeros_like(self._vectors)])
        self._vectors[self._size] = vector
        self._size += 1
        self.numbers.append(len(self.plans))
        self.plans.append(plan)

    def _prune(self) -> None:
        """Keep the vectors that are best at some belief that was visited."""
        used = np.unique((self.ceiling.points @ self.vectors.T).argmax(axis=1))
        self._vectors = self.vectors[used].copy()
        self.numbers = [self.numbers[number] for number in used]
        self._size = len(used)
        self._next_pruning = max(200, int(1.5 * self._size))
        if self.ceiling.num_points >= self._next_ceiling_pruning:
            self.ceiling.prune()
            self._next_ceiling_pruning = max(1000, int(1.5 * self.ceiling.num_points))
            self._next_sweep = _GROWTH_BETWEEN_SWEEPS * self.ceiling.num_points


def _cleaned(belief: Float[np.ndarray, " X"]) -> Float[np.ndarray, " X"]:
    """Without weights that are but rounding; any belief near by will do as well."""
    kept = np.where(belief > _UNLIKELY, belief, 0.0)
    return kept / kept.sum()
