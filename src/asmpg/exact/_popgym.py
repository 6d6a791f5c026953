"""Yardsticks of the POPGym tasks, most of them in closed form.

A recall task pays `+scale` for a right answer and `-scale` for a wrong one at the steps `T` of its
answers, `scale = 1 / |T|`, discounted by `gamma^t`. Guessing among `n` actions is right with
probability `1 / n` whatever was dealt, and a memory of all observations is always right:

```
random  = (2 / n - 1) scale sum_{t in T} gamma^t
optimum =             scale sum_{t in T} gamma^t
```

A bandit with `n` arms pays `(2 p - 1) / steps` on average if its arm wins with probability `p`: 0
for a random arm, and `E[max p] = n / (n + 1)` for the best one. What the history allows in bandits
and noisy poles is not known here, nor what policies without memory reach.
"""

from typing import Any

import jax
import numpy as np

from asmpg.environments.popgym import (
    MultiarmedBandit,
    NoisyPositionOnlyCartPole,
    POPGymTask,
    RecallTask,
)
from asmpg.exact._simulation import UniformAct, simulate
from asmpg.exact._yardsticks import Yardstick, Yardsticks

_EPISODES = 10_000


def popgym_yardsticks(environment: POPGymTask[Any], *, discount: float) -> Yardsticks:
    """The yardsticks of a compiled POPGym task."""
    match environment:
        case RecallTask():
            return _recall(environment, discount)
        case MultiarmedBandit():
            return _bandit(environment, discount)
        case NoisyPositionOnlyCartPole():
            return _cart_pole(environment, discount)
        case _:
            raise ValueError(f"environment must be a known POPGym task, got {environment.name}")


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


def _cart_pole(environment: NoisyPositionOnlyCartPole, discount: float) -> Yardsticks:
    steps = environment.max_steps
    played = simulate(environment, UniformAct(2), _EPISODES, jax.random.key(0), discount)
    weights = float(np.sum(discount ** np.arange(steps))) / steps
    return Yardsticks(
        random=Yardstick(
            played.discounted.mean,
            played.undiscounted.mean,
            1 / steps,
            kind="simulation",
            standard_error=(played.discounted.standard_error, played.undiscounted.standard_error),
            note=f"{_EPISODES:,} episodes",
        ),
        memoryless_deterministic=None,
        memoryless=None,
        history_optimal=None,
        full_state=Yardstick(weights, 1.0, 1 / steps, note="never falls"),
    )
