"""Learning rates by kind of parameter."""

from typing import Any

import jax
import optax

from asmpg.policies import Number


def adam_by_kind(
    *,
    table: optax.ScalarOrSchedule,
    network: optax.ScalarOrSchedule,
    b2: Number = 0.999,
    eps: float = 1e-8,
    max_norm: Number | None = None,
) -> optax.GradientTransformation:
    """Adam with a rate for logits that are parameters themselves, and one for network weights.

    Gradients longer than `max_norm` are made that long. Moments of networks are one vector of all
    their weights, since a program for each takes longer to compile; tables, few and large, are not
    copied together.
    """
    adam = optax.scale_by_adam(b2=b2, eps=eps)
    steps = optax.partition(
        {
            "table": optax.chain(adam, optax.scale_by_learning_rate(table)),
            "network": optax.chain(_as_one_vector(adam), optax.scale_by_learning_rate(network)),
        },
        _kinds,
    )
    return steps if max_norm is None else optax.chain(optax.clip_by_global_norm(max_norm), steps)


def _as_one_vector(inner: optax.GradientTransformation) -> optax.GradientTransformation:
    """`optax.flatten`, of nothing as well."""
    flat = optax.flatten(inner)

    def init(params: Any) -> Any:
        return flat.init(params) if jax.tree.leaves(params) else optax.EmptyState()

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        if not jax.tree.leaves(updates):
            return updates, state
        return flat.update(updates, state, params)

    return optax.GradientTransformation(init, update)


def _kinds(parameters: Any) -> Any:
    """`"table"` for the fields named `*logits`, `"network"` for all others."""
    return jax.tree_util.tree_map_with_path(
        lambda path, _: "table" if getattr(path[-1], "name", "").endswith("logits") else "network",
        parameters,
    )
