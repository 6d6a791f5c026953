"""Tasks of POPGym, compiled: the same steps as the originals, at every difficulty."""

import functools
from collections.abc import Callable
from typing import Any

from asmpg.environments.popgym._task import DIFFICULTIES as DIFFICULTIES
from asmpg.environments.popgym._task import POPGymTask as POPGymTask
from asmpg.environments.popgym._task import RecallTask as RecallTask
from asmpg.environments.popgym.bandit import MultiarmedBandit as MultiarmedBandit
from asmpg.environments.popgym.boards import Battleship as Battleship
from asmpg.environments.popgym.boards import MineSweeper as MineSweeper
from asmpg.environments.popgym.card_games import Concentration as Concentration
from asmpg.environments.popgym.card_games import HigherLower as HigherLower
from asmpg.environments.popgym.cart_poles import CartPoleTask as CartPoleTask
from asmpg.environments.popgym.cart_poles import (
    NoisyPositionOnlyCartPole as NoisyPositionOnlyCartPole,
)
from asmpg.environments.popgym.cart_poles import PositionOnlyCartPole as PositionOnlyCartPole
from asmpg.environments.popgym.cart_poles import VelocityOnlyCartpole as VelocityOnlyCartpole
from asmpg.environments.popgym.pendulums import (
    NoisyPositionOnlyPendulum as NoisyPositionOnlyPendulum,
)
from asmpg.environments.popgym.pendulums import PendulumTask as PendulumTask
from asmpg.environments.popgym.pendulums import PositionOnlyPendulum as PositionOnlyPendulum
from asmpg.environments.popgym.recall import Autoencode as Autoencode
from asmpg.environments.popgym.recall import CountRecall as CountRecall
from asmpg.environments.popgym.repeat import RepeatFirst as RepeatFirst
from asmpg.environments.popgym.repeat import RepeatPrevious as RepeatPrevious

_TASKS: tuple[type[POPGymTask[Any]], ...] = (
    RepeatFirst,
    RepeatPrevious,
    CountRecall,
    Autoencode,
    MultiarmedBandit,
    NoisyPositionOnlyCartPole,
    PositionOnlyCartPole,
    VelocityOnlyCartpole,
    HigherLower,
    Concentration,
    PositionOnlyPendulum,
    NoisyPositionOnlyPendulum,
    Battleship,
    MineSweeper,
)
#: A name for each task at each difficulty, and what makes it.
POPGYM_TASKS: dict[str, Callable[..., POPGymTask[Any]]] = {
    f"popgym-{task.__name__}{difficulty}": functools.partial(task, difficulty)
    for task in _TASKS
    for difficulty in DIFFICULTIES
}
