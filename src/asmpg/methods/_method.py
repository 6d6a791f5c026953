"""The contract of what learns."""

import abc
from typing import Any, ClassVar, Generic, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from asmpg.envs import Environment
from asmpg.policies import Actor, ASMPolicy, KernelTables

LearnerState = TypeVar("LearnerState")
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
    #: Whether its seeds are better run abreast on CPUs too: many small operations in sequence.
    abreast: ClassVar[bool] = False

    @abc.abstractmethod
    def initialise(self, environment: Environment[Any], key: Key[Array, ""]) -> LearnerState:
        """All that learning changes, before it starts."""

    @abc.abstractmethod
    def improve(
        self, environment: Environment[Any], learner: LearnerState, key: Key[Array, ""]
    ) -> tuple[LearnerState, Experience, Metrics]:
        """Play, and learn from it: one update."""

    @abc.abstractmethod
    def actor(self, learner: LearnerState, *, greedy: bool = False) -> Actor[Any]:
        """What has been learned, ready to play."""

    def kernels(self, learner: LearnerState) -> ASMPolicy | None:
        """The agent-state policy that has been learned; `None` if it is of another kind."""
        del learner
        return None

    def tables(self, learner: LearnerState) -> KernelTables | None:
        """The policy on every input, for exact values; `None` if that cannot be written down."""
        kernels = self.kernels(learner)
        if kernels is None or kernels.num_observations is None:
            return None
        return kernels.tabulate()


def all_finite(tree: Any) -> Bool[Array, ""]:
    """Whether no number in `tree` is infinite or NaN."""
    real = [leaf for leaf in jax.tree.leaves(tree) if jnp.issubdtype(leaf.dtype, jnp.floating)]
    return jnp.stack([jnp.isfinite(leaf).all() for leaf in real]).all()
