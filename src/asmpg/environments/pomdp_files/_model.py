"""A POMDP as its file has it: sparse, with names and a discount."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from asmpg._support.checks import check_number
from asmpg.environments._finite_model import FiniteModel
from asmpg.environments.pomdp_files._statements import MOST_ENTRIES, RewardStatements

#: Entries of the arrays that playing needs.
_MOST_DENSE = 200_000_000


@dataclasses.dataclass(frozen=True)
class ObservationRewards:
    """Rewards of the outcomes that pay by observation: `reward[i]` if `symbol[i]` is seen.

    `outcome[i]` is a row of the model's `outcomes`; sorted by it, then by symbol.
    """

    outcome: Int[np.ndarray, " n"]
    symbol: Int[np.ndarray, " n"]
    reward: Float[np.ndarray, " n"]


@dataclasses.dataclass(frozen=True, eq=False)
class PomdpModel:
    """States, actions and observations by name, and sparse lists of everything that is possible.

    - `outcomes[e] = (a, x, x')` has `probability[e]` and pays `reward[e]`, sorted;
    - `symbols[i] = (a, x', o)` has `symbol_probability[i]`, sorted;
    - `reward_by_observation`: where the reward depends on what is seen, `reward[e]` is its mean,
      `sum_o O(o | a, x') r(a, x, x', o)`, and this has the parts; `None` where it never does.
    """

    states: tuple[str, ...]
    actions: tuple[str, ...]
    observations: tuple[str, ...]
    discount: float
    start: Float[np.ndarray, " X"]
    outcomes: Int[np.ndarray, "E 3"]
    probability: Float[np.ndarray, " E"]
    reward: Float[np.ndarray, " E"]
    symbols: Int[np.ndarray, "Z 3"]
    symbol_probability: Float[np.ndarray, " Z"]
    reward_by_observation: ObservationRewards | None = None

    def __repr__(self) -> str:
        return (
            f"PomdpModel(num_states={len(self.states)}, num_actions={len(self.actions)}, "
            f"num_observations={len(self.observations)}, discount={self.discount:g})"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PomdpModel):
            return NotImplemented
        mine, others = (_flat(dataclasses.asdict(model)) for model in (self, other))
        return mine.keys() == others.keys() and all(
            np.array_equal(mine[name], others[name]) for name in mine
        )

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    @classmethod
    def from_finite(
        cls,
        model: FiniteModel,
        *,
        discount: float,
        states: tuple[str, ...] | None = None,
        actions: tuple[str, ...] | None = None,
        observations: tuple[str, ...] | None = None,
    ) -> "PomdpModel":
        """A finite model in the terms of the format.

        Terminal states are never left and pay nothing. What is seen before the first action is not
        part of the format, and is omitted.
        """
        check_number("discount", discount, low=0, high=1)
        a, x, k = (part.ravel() for part in np.indices(model.successor.shape)[[1, 0, 2]])
        successor, probability = model.successor[x, a, k], model.probability[x, a, k]
        reward = model.reward[x, a, k]
        ended = model.terminal[x]
        successor = np.where(ended, x, successor)
        reward = np.where(ended, 0.0, reward)
        # Outcomes that lead to the same state become one, which pays their mean.
        possible = probability > 0
        index = np.stack([a, x, successor], axis=1)[possible]
        outcomes, inverse = np.unique(index, axis=0, return_inverse=True)
        total = np.bincount(inverse, probability[possible])
        paid = np.bincount(inverse, (probability * reward)[possible]) / total
        certain = np.bincount(inverse) == 1
        paid[inverse] = np.where(certain[inverse], reward[possible], paid[inverse])
        symbols = np.argwhere(model.observation > 0)
        sizes = (model.num_states, model.num_actions, model.num_observations)
        names = [
            tuple(map(str, range(size))) if given is None else given
            for given, size in zip((states, actions, observations), sizes, strict=True)
        ]
        return cls(
            *names,
            discount=float(discount),
            start=model.start,
            outcomes=outcomes,
            probability=total,
            reward=paid,
            symbols=symbols,
            symbol_probability=model.observation[tuple(symbols.T)],
        )

    def finite(
        self, *, first_observation: bool = False, stop_at_goals: bool = False
    ) -> FiniteModel:
        """The same as arrays, with one more observation: "nothing yet", which `reset` shows.

        With `first_observation` the start shows what arriving there would, by an action drawn
        uniformly, and "nothing yet" is never seen; the format knows no such observation.

        With `stop_at_goals` episodes end where the file starts over: in states outside the start
        from which every action leads back to the start distribution, and in those that are never
        left and pay nothing. A goal that pays on leaving it is left for one more state, the end.
        """
        states, actions, seen = len(self.states), len(self.actions), len(self.observations)
        a, x, y = self.outcomes.T
        row = x * actions + a
        count = np.bincount(row, minlength=states * actions)
        width = int(count.max())
        if max(states * actions * width, actions * states * (seen + 1)) > _MOST_DENSE:
            raise ValueError(
                f"the model must fit in memory: {states} states, {actions} actions, {seen} "
                f"observations and {width} successors are too many"
            )
        slot = self.outcome_slots()
        shape = (states, actions, width)
        successor, probability, reward = np.zeros(shape, int), np.zeros(shape), np.zeros(shape)
        successor[x, a, slot], probability[x, a, slot] = y, self.probability
        reward[x, a, slot] = self.reward
        observation = np.zeros((actions, states, seen + 1))
        observation[tuple(self.symbols.T)] = self.symbol_probability
        first = np.zeros((states, seen + 1))
        first[:, seen] = 1.0
        arrays: dict[str, Any] = {
            "successor": successor,
            "probability": probability,
            "reward": reward,
            "observation": observation,
            "start": self.start,
            "start_observation": observation.mean(axis=0) if first_observation else first,
        }
        return FiniteModel(**(_stopping(arrays, self.goals()) if stop_at_goals else arrays))

    def outcome_slots(self) -> Int[np.ndarray, " E"]:
        """The number of each outcome among those of its state and action."""
        row = self.outcomes[:, 0] * len(self.states) + self.outcomes[:, 1]
        first = np.searchsorted(row, row)
        return np.arange(len(row)) - first

    def goals(self) -> Int[np.ndarray, " goals"]:
        """The states that `stop_at_goals` means."""
        states, actions = len(self.states), len(self.actions)
        a, x, y = self.outcomes.T
        row = a * states + x
        # A row is the start distribution if each entry is its entry, and none is missing.
        differs = np.abs(self.probability - self.start[y]) > 1e-9
        restarts = (np.bincount(row, differs, minlength=actions * states) == 0) & (
            np.bincount(row, self.start[y], minlength=actions * states) > 1 - 1e-9
        )
        leaves = (y != x) | (self.reward != 0)
        absorbs = np.bincount(row, leaves, minlength=actions * states) == 0
        restarts, absorbs = (
            each.reshape(actions, states).all(axis=0) for each in (restarts, absorbs)
        )
        return np.flatnonzero((restarts | absorbs) & (self.start == 0))


def _stopping(arrays: dict[str, Any], goals: Int[np.ndarray, " goals"]) -> dict[str, Any]:
    """The arrays of a model whose episodes end in `goals`, or on leaving one that pays for it."""
    states = len(arrays["start"])
    pays = (arrays["probability"][goals] * np.abs(arrays["reward"][goals])).sum(axis=(1, 2)) > 0
    terminal = np.zeros(states, bool)
    terminal[goals[~pays]] = True
    if not pays.any():
        return arrays | {"terminal": terminal}

    def longer(array: np.ndarray, axis: int) -> np.ndarray:
        """With the end as one more state, which is like the last; nobody acts in it."""
        return np.concatenate([array, array.take([-1], axis=axis)], axis=axis)

    successor = longer(arrays["successor"], 0)
    successor[goals[pays]] = states
    return arrays | {
        "successor": successor,
        "probability": longer(arrays["probability"], 0),
        "reward": longer(arrays["reward"], 0),
        "observation": longer(arrays["observation"], 1),
        "start": np.append(arrays["start"], 0.0),
        "start_observation": longer(arrays["start_observation"], 0),
        "terminal": np.append(terminal, True),
    }


def outcome_rewards(
    statements: RewardStatements,
    outcomes: Int[np.ndarray, "E 3"],
    symbols: Int[np.ndarray, "Z 3"],
    symbol_probability: Float[np.ndarray, " Z"],
    names: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]],
    *,
    sign: float,
) -> tuple[Float[np.ndarray, " E"], ObservationRewards | None]:
    """The mean reward of every outcome, and the rewards by observation where they differ.

    `names` are those of actions, states and observations; `sign` is -1 where statements are costs.
    """
    actions, states, seen = (len(part) for part in names)
    shape = (actions, states, states, seen)
    if not statements.by_observation:
        unseen = np.zeros((len(outcomes), 1), int)
        return sign * statements.look_up(np.concatenate([outcomes, unseen], axis=1), shape), None
    # Every outcome with every observation that it may show.
    arrival = symbols[:, 0] * states + symbols[:, 1]
    wanted = outcomes[:, 0] * states + outcomes[:, 2]
    begin, end = (np.searchsorted(arrival, wanted, side=side) for side in ("left", "right"))
    count = end - begin
    if count.sum() > MOST_ENTRIES:
        raise MemoryError(f"rewards by observation must be at most {MOST_ENTRIES}")
    outcome = np.repeat(np.arange(len(outcomes)), count)
    position = np.arange(len(outcome)) - np.repeat(np.cumsum(count) - count, count)
    entry = begin[outcome] + position
    symbol = symbols[entry, 2]
    rewards = sign * statements.look_up(
        np.concatenate([outcomes[outcome], symbol[:, None]], axis=1), shape
    )
    probability = symbol_probability[entry]
    size = len(outcomes)
    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(low, outcome, rewards)
    np.maximum.at(high, outcome, rewards)
    mean = np.where(low == high, high, np.bincount(outcome, probability * rewards, minlength=size))
    differs = (low < high)[outcome]
    if not differs.any():
        return mean, None
    return mean, ObservationRewards(outcome[differs], symbol[differs], rewards[differs])


def _flat(fields: dict[str, Any]) -> dict[str, Any]:
    inner = fields.pop("reward_by_observation") or {}
    return fields | {f"by_observation_{name}": value for name, value in inner.items()}
