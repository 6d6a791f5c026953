"""PPO for agent-state policies, and for other memories: a recurrent network's, or none."""

import typing
from typing import Any, ClassVar, Literal

from jaxtyping import Array, Key

from asmpg._support.checks import MOST_STATES, MOST_WIDTH, check_integer, check_number, check_one_of
from asmpg.environments import Box, Discrete
from asmpg.interop import Interface
from asmpg.methods._kernels import KernelFactory, PolicyKind, check_kernels, kernel_maker
from asmpg.methods._method import given, structure
from asmpg.methods.critics import CriticKind
from asmpg.methods.ppo._ppo import PPO, PPOLearner
from asmpg.policies import (
    Actor,
    ASMPolicy,
    FilteredPolicy,
    FilterKind,
    GRUPolicy,
    KernelTables,
    MemorylessPolicy,
    MinGRUPolicy,
    Number,
)

ActBy = Literal["sampling", "filtering"]
#: How many agent states there are by default. With real observations, a network has as many
#: outputs as their square for each action, and a window holds the recent past; with counts, these
#: hold most of what must be remembered.
_MANY_STATES, _FEW_STATES = 32, 8
#: Of networks, with counts: theirs has nearly everything to learn.
_COUNTS_LEARNING_RATE = 2e-3
#: Of networks, where actions are real.
_REAL_ACTIONS_LEARNING_RATE = 1e-3
_STATES_PER_GROUP = 8
_REAL_WINDOW = 32
_SHORTEST_HOLD, _LONGEST_HOLD = 100.0, 1000.0
#: Larger latent states are not shown to the critic by default: one of so many, or so long a vector.
_MOST_LATENT_STATES, _LONGEST_LATENT = 4096, 256


class ASMPPO(PPO):
    """PPO on the marginal policy `p_t(a)` of an ASM policy: its agent state is integrated out.

    The kernels are tables if observations are finite (`policy="tabular"`), else a network that maps
    each observation to a matrix (`"matrix"`); `"mlp"` is the paper's. For any other `ASMPolicy`,
    pass a function `policy(interface, num_states, key)` that makes it. Agents act by `"sampling"`
    agent states or by `"filtering"`, with the same distribution of actions. The `filter` that is
    differentiated in training processes rollouts step by step (`"sequential"`), by a parallel scan
    (`"parallel"`) or in a single GPU kernel (`"fused"`); `"auto"` picks the best one for the
    device.

    `nu` is initialised to keep its memory: the agent states are in `groups` (by default of eight
    states each, and at least two), and a group is kept for `hold` steps on average, by default for
    as many as an episode may last, between 100 and 1000. The action may also depend on the last
    `window` observations and the actions between them, `phi(a | s, w)`; 0 is the paper's policy. By
    default there are 32 agent states and a window of 1 if observations are finite, else 8 and a
    window of 32; your own kernels have no window unless you ask for one. With `counts`, the action
    also depends on how often each observation has occurred in the episode, alone and after each
    action; the default is then 8 agent states.

    `critic="auto"` is `"latent"` in compiled environments, whose latent state costs nothing: only
    training sees it. On the host, and where latent states are very large, it is `"history"`. Where
    observations are finite, `advantage_floor` is 0 by default.
    """

    by_observations: ClassVar[dict[str, tuple[float, float]]] = PPO.by_observations | {
        "advantage_floor": (0.0, 0.1),
    }

    num_states: int | None = structure(None)
    policy: PolicyKind | KernelFactory = structure("auto")
    hidden: int | None = structure(None)
    nu_scale: float = 0.5
    groups: int | None = structure(None)
    hold: float | None = None
    window: int | None = structure(None)
    counts: bool = structure(False)
    act_by: ActBy = structure("sampling")
    filter: FilterKind = structure("auto")

    def __check_init__(self):
        if self.num_states is not None:
            check_integer("num_states", self.num_states, low=1, high=MOST_STATES)
        check_kernels(
            self.policy,
            hidden=self.hidden,
            nu_scale=self.nu_scale,
            groups=self.groups,
            hold=_SHORTEST_HOLD if self.hold is None else self.hold,
            window=self.window,
            counts=self.counts,
        )
        if self.policy == "joint" and self.window:
            raise ValueError(f"window must be 0 for policy='joint', got {self.window}")
        check_one_of("act_by", self.act_by, ("sampling", "filtering"))
        check_one_of("filter", self.filter, typing.get_args(FilterKind))

    def defaults(self, interface: Interface) -> dict[str, Number]:
        """`hold` is as long as an episode may last, within bounds.

        Networks with counts or real actions have higher learning rates.
        """
        hold = min(max(float(interface.max_steps), _SHORTEST_HOLD), _LONGEST_HOLD)
        chosen = {**super().defaults(interface), "hold": hold}
        if self.counts:
            chosen["learning_rate"] = _COUNTS_LEARNING_RATE
        elif isinstance(interface.action_space, Box):
            chosen["learning_rate"] = _REAL_ACTIONS_LEARNING_RATE
        return chosen

    def default_critic(self, interface: Interface) -> CriticKind:
        """`"latent"` in compiled environments, unless their latent states are too large."""
        if interface.on_host:
            return "history"
        space = interface.latent_space(self.latent)
        finite = isinstance(space, Discrete)
        small = space.n <= _MOST_LATENT_STATES if finite else len(space.low) <= _LONGEST_LATENT
        return "latent" if small else "history"

    def make_policy(self, interface: Interface, key: Key[Array, ""]) -> FilteredPolicy:
        encoding = self.encoding(interface)
        finite = encoding.num_observations is not None
        many = finite and not self.counts
        num_states = self.num_states or (_MANY_STATES if many else _FEW_STATES)
        groups = self.groups or max(2, num_states // _STATES_PER_GROUP)
        window = self.window
        if window is None:
            longest = 1 if finite else _REAL_WINDOW
            plain = (callable(self.policy) and not self.counts) or self.policy == "joint"
            window = 0 if plain else min(longest, interface.max_steps)
        make = kernel_maker(
            interface,
            self.policy,
            num_states=num_states,
            hidden=self.hidden,
            activation="tanh",
            encoding=encoding,
            nu_scale=self.nu_scale,
            groups=groups,
            hold=given(self.hold),
            window=window,
            counts=self.counts,
        )
        return FilteredPolicy(make(key), self.filter)

    def actor(
        self, learner: PPOLearner, *, training: bool = False, greedy: bool = False
    ) -> Actor[Any]:
        """The average policy, by sampling or by filtering; training is always by filtering."""
        if training or self.act_by == "filtering":
            return super().actor(learner, training=training, greedy=greedy)
        assert isinstance(learner.average, FilteredPolicy)
        return learner.average.sampling_actor(greedy=greedy)

    def tables(self, learner: PPOLearner, *, greedy: bool = False) -> KernelTables | None:
        """None for greedy play by filtering: its action depends on the belief."""
        if greedy and self.act_by == "filtering":
            return None
        return super().tables(learner, greedy=greedy)

    def kernels(self, learner: PPOLearner) -> ASMPolicy:
        assert isinstance(learner.average, FilteredPolicy)
        return learner.average.kernels


class GRUPPO(PPO):
    """PPO with a gated recurrent unit: the baseline that a finite memory competes with.

    Some options have their own defaults, which suit it better. The recurrent weights are
    initialised orthogonally if `orthogonal` (by default if observations are finite); `keep_bias` is
    added to the bias of the gate that keeps the memory: above 0, a fresh memory lasts longer; below
    0, it takes in more of what is new.
    """

    by_observations: ClassVar[dict[str, tuple[float, float]]] = PPO.by_observations | {
        "gae_lambda": (0.7, 0.95),
        "learning_rate": (2e-3, 4e-4),
        "critic_keep_bias": (-1.0, 0.0),
    }

    value_lambda: float | None = 0.99
    decay: float | None = 0.55
    entropy_coefficient: float = 0.0
    critic_learning_rate: float = 3e-3
    width: int = structure(64)
    orthogonal: bool | None = structure(None)
    keep_bias: float = 0.0

    def __check_init__(self):
        check_integer("width", self.width, low=1, high=MOST_WIDTH)
        check_number("keep_bias", self.keep_bias)

    def make_policy(self, interface: Interface, key: Key[Array, ""]) -> GRUPolicy:
        encoding = self.encoding(interface)
        finite = encoding.num_observations is not None
        return GRUPolicy(
            width=self.width,
            encoding=encoding,
            key=key,
            orthogonal=finite if self.orthogonal is None else self.orthogonal,
            keep_bias=self.keep_bias,
        )


class MinGRUPPO(PPO):
    """PPO with two minimal gated recurrent units, whose gates read only the inputs.

    A rollout is processed by a parallel scan instead of a loop over its steps. `keep_bias` is as in
    `GRUPPO`.
    """

    by_observations: ClassVar[dict[str, tuple[float, float]]] = PPO.by_observations | {
        "gae_lambda": (0.7, 0.95),
        "learning_rate": (2e-3, 1e-3),
        "critic_keep_bias": (0.0, 0.0),
    }

    value_lambda: float | None = 0.9
    decay: float | None = 0.55
    entropy_coefficient: float = 0.0
    critic_learning_rate: float = 3e-3
    width: int = structure(64)
    keep_bias: float = 0.0

    def __check_init__(self):
        check_integer("width", self.width, low=1, high=MOST_WIDTH)
        check_number("keep_bias", self.keep_bias)

    def make_policy(self, interface: Interface, key: Key[Array, ""]) -> MinGRUPolicy:
        encoding = self.encoding(interface)
        return MinGRUPolicy(width=self.width, encoding=encoding, key=key, keep_bias=self.keep_bias)


class MemorylessPPO(PPO):
    """PPO with a policy that sees only the last observation."""

    def make_policy(self, interface: Interface, key: Key[Array, ""]) -> MemorylessPolicy:
        return MemorylessPolicy(encoding=self.encoding(interface), key=key)

    def tables(self, learner: PPOLearner, *, greedy: bool = False) -> KernelTables | None:
        """The policy with the last observation as its agent state, if observations are finite."""
        assert isinstance(learner.average, MemorylessPolicy)
        tables = learner.average.tables()
        return tables.most_probable() if greedy and tables is not None else tables
