"""The same PPO for other memories: a recurrent network's, and none."""

from typing import Any

import equinox as eqx
from jaxtyping import Array, Key

from asmpg._check import MOST_WIDTH, check_integer
from asmpg.envs import Environment
from asmpg.methods.ppo._method import PPO, PPOLearner
from asmpg.policies import GRUPolicy, KernelTables, MemorylessPolicy


class GRUPPO(PPO):
    """PPO of a policy on a gated recurrent unit: what a finite memory competes with.

    Some rates have defaults of their own, which suit it better.
    """

    value_trace: float | None = eqx.field(static=True, default=0.98)
    learning_rate: float = eqx.field(static=True, default=4e-4)
    second_moment: float = eqx.field(static=True, default=0.999)
    decay: float | None = eqx.field(static=True, default=0.55)
    critic_learning_rate: float = eqx.field(static=True, default=3e-3)
    width: int = eqx.field(static=True, default=64)

    def __check_init__(self):
        check_integer("width", self.width, low=1, high=MOST_WIDTH)

    def make_policy(self, environment: Environment[Any], key: Key[Array, ""]) -> GRUPolicy:
        """A fresh network."""
        return GRUPolicy(width=self.width, encoding=self.encoding(environment), key=key)


class MemorylessPPO(PPO):
    """PPO of a policy that sees the last observation only."""

    def make_policy(self, environment: Environment[Any], key: Key[Array, ""]) -> MemorylessPolicy:
        """A table of zeros, or a fresh network."""
        return MemorylessPolicy(encoding=self.encoding(environment), key=key)

    def tables(self, learner: PPOLearner, *, greedy: bool = False) -> KernelTables | None:
        """The policy with the last observation for an agent state, where those are finite."""
        assert isinstance(learner.average, MemorylessPolicy)
        tables = learner.average.tables()
        return tables.most_probable() if greedy and tables is not None else tables
