"""The contract of what learns."""

import abc
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from asmpg._support.checks import check_fields
from asmpg.environments import Environment
from asmpg.experience import Gathering, HostRows, Stream
from asmpg.policies import Actor, ASMPolicy, KernelTables

if TYPE_CHECKING:
    from asmpg.training import Agent

LearnerState = TypeVar("LearnerState")
#: The share of the run that is done, from 0 to 1.
Progress = float | Float[Array, ""]
#: Numbers that tell how an update went, by name.
Metrics = dict[str, Float[Array, ""]]


class Experience(eqx.Module):
    """What an update cost and met: environment steps, episodes, and only finite numbers or not."""

    steps: Int[Array, ""]
    episodes: Int[Array, ""]
    finite: Bool[Array, ""]


class Method(eqx.Module, Generic[LearnerState]):
    """Hyperparameters, frozen, and the pure functions that turn experience into a policy."""

    #: The names of the numbers that `improve` reports.
    metric_names: ClassVar[tuple[str, ...]]
    #: The part of the learner that acts once learning is over.
    learned: ClassVar[str]

    def __check_init__(self):
        # Called after those of the subclasses, whose messages may say more.
        check_fields(self)

    def learn(self, environment: Any, **options: Any) -> "Agent":
        """Train on `environment`, and return the agent: see `asmpg.training.learn`.

        >>> agent = asmpg.ASMPPO(num_states=8).learn("asmpg/CheeseMaze-v0", steps=100_000)
        """
        # The one door to a later room, for the sake of those who call it.
        from asmpg.training import learn

        return learn(self, environment, **options)

    @abc.abstractmethod
    def initialise(self, environment: Environment[Any], key: Key[Array, ""]) -> LearnerState:
        """All that learning changes, before it starts."""

    @abc.abstractmethod
    def improve(
        self,
        environment: Environment[Any],
        learner: LearnerState,
        key: Key[Array, ""],
        *,
        progress: Progress = 0.0,
    ) -> tuple[LearnerState, Experience, Metrics]:
        """Play, and learn from it: one update. Schedules follow `progress`."""

    @property
    @abc.abstractmethod
    def return_discount(self) -> float:
        """The discount of the return that is optimised."""

    @abc.abstractmethod
    def actor(self, learner: LearnerState, *, greedy: bool = False) -> Actor[Any]:
        """What has been learned, ready to play."""

    @property
    @abc.abstractmethod
    def gathering(self) -> Gathering:
        """What is played for each update, where environments are stepped on the host."""

    @abc.abstractmethod
    def learn_from(
        self,
        learner: LearnerState,
        rows: HostRows,
        key: Key[Array, ""],
        *,
        progress: Progress = 0.0,
    ) -> tuple[LearnerState, Experience, Metrics]:
        """One update from what `player(learner)` played on the host."""

    def player(self, learner: LearnerState) -> Actor[Any]:
        """Who plays while learning."""
        return self.actor(learner)

    def note(self, before: Any, after: Any) -> Any:
        """What `learn_from` must know of the memory before and after each step."""
        del before, after
        return ()

    def restarted(self, learner: LearnerState, stream: Stream) -> LearnerState:
        """The learner with new episodes begun in all environments, where it keeps track of them."""
        del stream
        return learner

    def kernels(self, learner: LearnerState) -> ASMPolicy | None:
        """The agent-state policy that has been learned; `None` if it is of another kind."""
        del learner
        return None

    def tables(self, learner: LearnerState, *, greedy: bool = False) -> KernelTables | None:
        """What `actor(learner, greedy=greedy)` does on every input, for exact values.

        `None` if that cannot be written down.
        """
        kernels = self.kernels(learner)
        if kernels is None or kernels.num_observations is None:
            return None
        tables = kernels.tabulate()
        return tables.most_probable() if greedy else tables


def all_finite(tree: Any) -> Bool[Array, ""]:
    """Whether no number in `tree` is infinite or NaN."""
    real = [leaf for leaf in jax.tree.leaves(tree) if jnp.issubdtype(leaf.dtype, jnp.floating)]
    return jnp.stack([jnp.isfinite(leaf).all() for leaf in real]).all()
