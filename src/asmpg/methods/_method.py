"""The interface of methods."""

import abc
import copy
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from asmpg._support.checks import check_fields
from asmpg.experience import Collection, Experience
from asmpg.interop import Interface
from asmpg.policies import Actor, ASMPolicy, KernelTables, Number

if TYPE_CHECKING:
    from asmpg.agents import Agent

LearnerState = TypeVar("LearnerState")
MethodKind = TypeVar("MethodKind", bound="Method[Any]")
#: Metrics of an update, by name.
Metrics = dict[str, Float[Array, ""]]


def structure(default: Any) -> Any:
    """A static field, which determines what is compiled: a size, a kind or a switch."""
    return eqx.field(static=True, default=default)


class Method(eqx.Module, Generic[LearnerState]):
    """Frozen hyperparameters, and the pure functions that turn experience into a policy.

    A method declares what experience to collect, and learns from it. It never steps environments
    itself, and does not know whether they are compiled or run on the host. Fields that are numbers
    are leaves of the pytree, so that changing their values does not recompile anything; all others
    are `structure`. A number may be `None` if its default depends on the environment: training uses
    `settled` methods.
    """

    #: The names of the numbers that `update` reports.
    metric_names: ClassVar[tuple[str, ...]]
    #: The part of the learner that acts after training.
    learned: ClassVar[str]

    def __check_init__(self):
        # Called after those of the subclasses, whose messages may say more.
        check_fields(self)

    def learn(self, environment: Any, **options: Any) -> "Agent":
        """Train on `environment`, and return the agent: see `asmpg.learn`.

        >>> agent = asmpg.ASMPPO(num_states=8).learn("asmpg/CheeseMaze-v0", steps=100_000)
        """
        # The one door to a later room, for the sake of those who call it.
        from asmpg.training import learn

        return learn(self, environment, **options)

    def defaults(self, interface: Interface) -> dict[str, Number]:
        """The defaults in an environment of the numbers that may be `None`, by name."""
        del interface
        return {}

    def settled(self: MethodKind, interface: Interface) -> MethodKind:
        """The method for one environment, with the numbers that are `None` filled in.

        All methods below except `return_discount` are called on settled ones, so whether a number
        was given makes no difference to what is compiled.
        """
        missing = {
            name: number
            for name, number in self.defaults(interface).items()
            if getattr(self, name) is None
        }
        return eqx.tree_at(
            lambda method: [getattr(method, name) for name in missing],
            self,
            list(missing.values()),
            is_leaf=lambda leaf: leaf is None,
        )

    @property
    @abc.abstractmethod
    def collects(self) -> Collection:
        """The experience to collect for each update."""

    @property
    @abc.abstractmethod
    def return_discount(self) -> Number:
        """The discount of the return being optimised."""

    @abc.abstractmethod
    def initialise(self, interface: Interface, key: Key[Array, ""]) -> LearnerState:
        """The initial learner: everything that training changes."""

    @abc.abstractmethod
    def actor(
        self, learner: LearnerState, *, training: bool = False, greedy: bool = False
    ) -> Actor[Any]:
        """The learned policy, ready to act, or in `training` the one that collects experience."""

    @abc.abstractmethod
    def update(
        self,
        learner: LearnerState,
        experience: Experience,
        key: Key[Array, ""],
        *,
        progress: Number = 0.0,
    ) -> tuple[LearnerState, Metrics]:
        """Learn from the experience that `actor(learner, training=True)` collected.

        Schedules follow `progress`, the fraction of the run that is done.
        """

    def continued(self, fresh: LearnerState, earlier: LearnerState) -> LearnerState:
        """The learner to start a run with from `earlier`, where it would otherwise be `fresh`."""
        del fresh
        return earlier

    def with_learned(self, fresh: LearnerState, learned: Any) -> LearnerState:
        """The `fresh` learner with the acting part of another, `learned`."""
        return eqx.tree_at(lambda learner: getattr(learner, self.learned), fresh, learned)

    def kernels(self, learner: LearnerState) -> ASMPolicy | None:
        """The learned agent-state policy; `None` if the policy is of another kind."""
        del learner
        return None

    def tables(self, learner: LearnerState, *, greedy: bool = False) -> KernelTables | None:
        """What `actor(learner, greedy=greedy)` does on every input, as tables for exact values.

        `None` if it cannot be tabulated.
        """
        kernels = self.kernels(learner)
        if kernels is None or not kernels.tabulates:
            return None
        tables = kernels.tabulate()
        return tables.most_probable() if greedy else tables


def given(number: Number | None) -> Number:
    """A number of a method that is `settled`, so never `None`."""
    if number is None:
        raise ValueError("a method must be settled before use: method.settled(interface)")
    return number


def with_structure(method: MethodKind, **fields: Any) -> MethodKind:
    """The same method with some of its `structure` replaced."""
    changed = copy.copy(method)
    for name, value in fields.items():
        object.__setattr__(changed, name, value)
    return changed


def with_array_numbers(method: MethodKind) -> MethodKind:
    """The same method with its numbers as arrays, which `jit` traces and `vmap` can batch."""
    real = jnp.result_type(float)

    def array(leaf: Any) -> Any:
        return jax.device_put(np.asarray(leaf, real)) if isinstance(leaf, int | float) else leaf

    return jax.tree.map(array, method)
