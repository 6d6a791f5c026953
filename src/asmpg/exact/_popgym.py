"""Yardsticks of the POPGym tasks, most of them in closed form.

A recall task pays `+scale` for a right answer and `-scale` for a wrong one at the steps `T` of its
answers, `scale = 1 / |T|`, discounted by `gamma^t`. Guessing among `n` actions is right with
probability `1 / n` whatever was dealt, and a memory of all observations is always right:

```
random  = (2 / n - 1) scale sum_{t in T} gamma^t
optimum =             scale sum_{t in T} gamma^t
```

A bandit with `n` arms pays `(2 p - 1) / steps` on average if its arm wins with probability `p`: 0
for a random arm, and `E[max p] = n / (n + 1)` for the best one.

In HigherLower no action changes the cards, so the best guess is the likelier one. With `H` higher
and `L` lower cards among the `m` that are left it pays `|H - L| / (m cards)`. The card on the table
is equally likely to be of any rank, and those left are drawn from the rest of the deck.

In the others the random policy is simulated, and somebody who sees the state gets the whole return
in as few steps as possible; in the pendulums, that is only a bound. What the history allows in them
and in bandits is not known here, nor what policies without memory reach.
"""

import math
from typing import Any

import jax
import numpy as np

from asmpg.environments.popgym import (
    Battleship,
    CartPoleTask,
    Concentration,
    HigherLower,
    MineSweeper,
    MultiarmedBandit,
    PendulumTask,
    POPGymTask,
    RecallTask,
)
from asmpg.environments.popgym.boards import SHIPS
from asmpg.exact._simulation import UniformAct, simulate
from asmpg.exact._yardsticks import Yardstick, Yardsticks

_EPISODES = 10_000


def popgym_yardsticks(environment: POPGymTask[Any], *, discount: float) -> Yardsticks:
    """The yardsticks of a compiled POPGym task."""
    steps = np.arange(environment.max_steps)
    match environment:
        case RecallTask():
            return _recall(environment, discount)
        case MultiarmedBandit():
            return _bandit(environment, discount)
        case HigherLower():
            return _higher_lower(environment, discount)
        case CartPoleTask():
            best = _spread(steps, environment.max_steps, discount, "never falls")
        case PendulumTask():
            best = _spread(steps, environment.max_steps, discount, "always upright", bound=True)
        case Concentration(cards=cards):
            best = _spread(steps[1:cards:2], cards // 2, discount, "turns pairs only")
        case Battleship():
            best = _spread(steps[: sum(SHIPS)], sum(SHIPS), discount, "hits only")
        case MineSweeper(goals=goals):
            best = _spread(steps[:goals], goals, discount, "opens no mine")
        case _:
            raise ValueError(f"environment must be a known POPGym task, got {environment.name}")
    return Yardsticks(
        random=_simulated(environment, discount),
        memoryless_deterministic=None,
        memoryless=None,
        history_optimal=None,
        full_state=best,
    )


def _recall(environment: RecallTask[Any], discount: float) -> Yardsticks:
    steps = environment.max_steps
    answers = np.asarray([step for step in environment.answers if step < steps], float)
    scale = environment.reward_bound

    def worth(value: float) -> Yardstick:
        discounted = value * scale * float(np.sum(discount**answers))
        total = value * len(answers) / len(environment.answers)
        return Yardstick(discounted, total, total / min(steps, environment.answers.stop))

    optimum = worth(1.0)
    return Yardsticks(
        random=worth(2 / len(environment.action_names) - 1),
        memoryless_deterministic=None,
        memoryless=None,
        history_optimal=optimum,
        full_state=optimum,
    )


def _bandit(environment: MultiarmedBandit, discount: float) -> Yardsticks:
    steps, arms = environment.max_steps, environment.arms
    best = (arms - 1) / (arms + 1)
    weights = float(np.sum(discount ** np.arange(steps))) / steps
    return Yardsticks(
        random=Yardstick(0.0, 0.0, 0.0),
        memoryless_deterministic=None,
        memoryless=None,
        history_optimal=None,
        full_state=Yardstick(best * weights, best, best / steps),
    )


def _higher_lower(environment: HigherLower, discount: float) -> Yardsticks:
    cards, ranks = environment.cards, environment.observation_space.n
    steps = np.arange(min(environment.max_steps, cards - 1))

    def worth(gains: np.ndarray) -> Yardstick:
        gains = gains / cards
        discounted, total = float(np.sum(discount**steps * gains)), float(np.sum(gains))
        return Yardstick(discounted, total, total / len(steps))

    # Without memory, the cards left are as likely as the rest of the deck: the first guess's.
    gains = np.array(
        [_likelier_guess(cards // ranks, ranks, int(left)) for left in cards - 1 - steps]
    )
    by_rank, best = worth(np.full(len(steps), gains[0])), worth(gains)
    return Yardsticks(
        random=Yardstick(0.0, 0.0, 0.0),
        memoryless_deterministic=by_rank,
        memoryless=by_rank,
        history_optimal=best,
        full_state=best,
    )


def _likelier_guess(of_rank: int, ranks: int, left: int) -> float:
    """`E |H - L| / left`, on average over the rank of the card on the table."""
    same, mean = of_rank - 1, 0.0
    for rank in range(ranks):
        lower, higher = of_rank * rank, of_rank * (ranks - 1 - rank)
        low, high = np.ogrid[: lower + 1, : higher + 1]
        rest = left - low - high
        ways = (
            _combinations(lower)[low]
            * _combinations(higher)[high]
            * _combinations(same)[np.clip(rest, 0, same)]
        )
        ways = np.where((rest >= 0) & (rest <= same), ways, 0.0)
        mean += float(np.sum(ways * np.abs(high - low)) / np.sum(ways)) / ranks
    return mean / left


def _combinations(n: int) -> np.ndarray:
    return np.array([float(math.comb(n, k)) for k in range(n + 1)])


def _spread(
    paid: np.ndarray, parts: int, discount: float, note: str, *, bound: bool = False
) -> Yardstick:
    """A return of 1 in equal parts, at the steps `paid`, as many as the time limit allows."""
    total = len(paid) / parts
    discounted = float(np.sum(discount ** paid.astype(float))) / parts
    per_step = total / (int(paid[-1]) + 1) if len(paid) else 0.0
    return Yardstick(discounted, total, per_step, kind="bound" if bound else "exact", note=note)


def _simulated(environment: POPGymTask[Any], discount: float) -> Yardstick:
    act = UniformAct(environment.action_space)
    played = simulate(environment, act, _EPISODES, jax.random.key(0), discount)
    return Yardstick(
        played.discounted.mean,
        played.undiscounted.mean,
        played.undiscounted.mean / played.length.mean,
        kind="simulation",
        standard_error=(played.discounted.standard_error, played.undiscounted.standard_error),
        note=f"{_EPISODES:,} episodes",
    )
