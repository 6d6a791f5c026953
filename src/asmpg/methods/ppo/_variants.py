"""PPO for agent-state policies, and for other memories: a recurrent network's, and none."""

from typing import Any, Literal

import equinox as eqx
from jaxtyping import Array, Key

from asmpg._support.checks import MOST_STATES, MOST_WIDTH, check_integer, check_number, check_one_of
from asmpg.environments import Environment
from asmpg.methods._kernels import POLICY_KINDS, PolicyKind, kernel_maker
from asmpg.methods.ppo._ppo import PPO, PPOLearner
from asmpg.policies import (
    Actor,
    ASMPolicy,
    FilteredPolicy,
    GRUPolicy,
    KernelTables,
    MemorylessPolicy,
)

ActBy = Literal["sampling", "filtering"]


class ASMPPO(PPO):
    """PPO on the marginal policy `p_t(a)` of an ASM policy: its agent state is integrated out.

    The kernels are tables where observations are finite (`policy="tabular"`), else a network that
    makes a matrix of each observation (`"matrix"`); `"mlp"` is the paper's. Agents act by
    `"sampling"` agent states, or by `"filtering"`, with the same law of actions.
    """

    num_states: int = eqx.field(static=True, default=8)
    policy: PolicyKind = eqx.field(static=True, default="auto")
    hidden: int | None = eqx.field(static=True, default=None)
    nu_scale: float = eqx.field(static=True, default=0.5)
    stay: float = eqx.field(static=True, default=0.0)
    act_by: ActBy = eqx.field(static=True, default="sampling")

    def __check_init__(self):
        check_integer("num_states", self.num_states, low=1, high=MOST_STATES)
        check_one_of("policy", self.policy, POLICY_KINDS)
        if self.hidden is not None:
            check_integer("hidden", self.hidden, low=1, high=MOST_WIDTH)
        check_number("nu_scale", self.nu_scale, low=0)
        check_number("stay", self.stay)
        check_one_of("act_by", self.act_by, ("sampling", "filtering"))

    def make_policy(self, environment: Environment[Any], key: Key[Array, ""]) -> FilteredPolicy:
        """Fresh kernels."""
        make = kernel_maker(
            environment,
            self.policy,
            num_states=self.num_states,
            hidden=self.hidden,
            activation="tanh",
            encoding=self.encoding(environment),
            nu_scale=self.nu_scale,
            stay=self.stay,
        )
        return FilteredPolicy(make(key))

    def actor(self, learner: PPOLearner, *, greedy: bool = False) -> Actor[Any]:
        """The policy, ready to play by sampling or by filtering."""
        assert isinstance(learner.average, FilteredPolicy)
        if self.act_by == "filtering":
            return learner.average.actor(greedy=greedy)
        return learner.average.sampling_actor(greedy=greedy)

    def tables(self, learner: PPOLearner, *, greedy: bool = False) -> KernelTables | None:
        """None for greedy play by filtering: its action depends on the belief."""
        if greedy and self.act_by == "filtering":
            return None
        return super().tables(learner, greedy=greedy)

    def kernels(self, learner: PPOLearner) -> ASMPolicy:
        """The kernels that are filtered."""
        assert isinstance(learner.average, FilteredPolicy)
        return learner.average.kernels


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
