"""The part of a learner that acts, apart from the rest."""

from typing import Any

import equinox as eqx
import jax

from asmpg.environments import Environment
from asmpg.methods import Method


def blank_learner(method: Method[Any], environment: Environment[Any]) -> Any:
    """A learner with shapes in the place of its arrays."""
    return eqx.filter_eval_shape(method.initialise, environment, jax.random.key(0))


def with_learned(method: Method[Any], learner: Any, learned: Any) -> Any:
    """The learner with `learned` as the part that acts."""
    return eqx.tree_at(lambda learner: getattr(learner, method.learned), learner, learned)
